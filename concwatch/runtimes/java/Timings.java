import java.util.ArrayList;
import java.util.List;

/** Durations recorded since the last tick, in seconds. */
final class Timings {
    private static final int MOST = 10_000;

    private List<Double> all = new ArrayList<>();

    synchronized void add(long nanos) {
        if (all.size() < MOST) {
            all.add(Math.round(nanos / 1e3) / 1e6);
        }
    }

    synchronized List<Double> take() {
        List<Double> taken = all;
        all = new ArrayList<>();
        return taken;
    }
}
