import com.sun.management.UnixOperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.channels.SocketChannel;

/**
 * Lowers the target while tasks fail because they cannot open a file, and reports that once it is over.
 *
 * <p>Other limits prevent a task from being created. This one is hit by tasks that already run, by many at once, and each
 * that fails would be replaced by one that fails as well.
 */
final class FileLimit {
    private static final long QUIET = 250_000_000; // nanoseconds without a failure after which it is over

    private final Counts counts;
    private final Goal goal;
    private volatile Throwable hit; // the last failure since the last look
    private String detail; // of the last one that lowered the target; null if there is nothing to report
    private long last;
    private long wanted;
    private long standing;

    FileLimit(Counts counts, Goal goal) {
        this.counts = counts;
        this.goal = goal;
    }

    /**
     * Records a failure of a task if no file can be opened now, and returns whether that is so. What the failure says
     * depends on the locale. May be called from any thread.
     */
    boolean record(Throwable failure) {
        try (SocketChannel probe = SocketChannel.open()) {
            return false;
        } catch (IOException limit) {
            hit = failure;
            return true;
        }
    }

    /** Whether there is something to report later. */
    boolean pending() {
        return detail != null;
    }

    /** Lowers the target to what is live if it was hit, and reports it if that was a while ago. */
    void look(Wire wire) {
        Throwable now = hit;
        if (now != null) {
            hit = null;
            last = System.nanoTime();
            settle(String.valueOf(now.getMessage()));
        } else if (detail != null && System.nanoTime() - last > QUIET) {
            if (goal.target() == standing) { // otherwise another one has been set since
                wire.send("limit",
                        "standing", standing, "wanted", wanted, "wall", "ulimit -n", "value", most(), "detail", detail);
            }
            detail = null;
        }
    }

    private void settle(String message) {
        if (goal.replacing() || counts.live() > goal.target()) {
            return; // those in excess are being cancelled anyway
        }
        if (detail == null || goal.target() != standing) {
            wanted = goal.target();
        }
        detail = message;
        goal.settle();
        standing = goal.target();
    }

    /** The limit of this process, which the JVM raises as far as it may; null where the system has none. */
    private static Long most() {
        return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean system
                ? system.getMaxFileDescriptorCount() : null;
    }
}
