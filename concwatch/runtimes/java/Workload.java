import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.DoubleUnaryOperator;
import java.util.function.LongSupplier;
import java.util.concurrent.locks.LockSupport;

/**
 * What one task does. When it is cancelled it throws {@link InterruptedException}, or {@link
 * java.nio.channels.ClosedByInterruptException} if it waits for a connection.
 */
@FunctionalInterface
interface Workload {
    List<String> WORDS = List.of("sleep", "churn", "ticks", "hold", "payload", "spin", "nop", "http", "connect");

    ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    int LONGEST_ARRAY = Integer.MAX_VALUE - 8;
    double LONGEST = 1_000_000;
    double SHORTEST_MEAN = 0.001;
    double MOST_A_SECOND = 1_000_000;
    double GOLDEN = 0.6180339887498949;
    long TURN = 1_000_000;
    long AWAY = 50_000;

    void run() throws InterruptedException, IOException;

    /**
     * Whether every task sleeps first. If one that does not started the next one, these two would keep their processor
     * to themselves.
     */
    default boolean sleeps() {
        return false;
    }

    /** Bytes that a task allocates once it has begun. */
    default int size() {
        return 0;
    }

    /**
     * Parses what each task does.
     *
     * @param target how many tasks are held, whenever a task asks
     */
    static Workload of(Command command, LongSupplier target) {
        String spec = command.word("spec");
        return switch (String.valueOf(command.fields().get("word"))) {
            case "sleep" -> {
                if (command.fields().containsKey("to")) {
                    double least = command.number("seconds", 0, LONGEST);
                    double span = command.number("to", 0, LONGEST) - least;
                    yield drawn(at -> least + at * span);
                }
                Duration length = seconds(command, "seconds");
                yield length.isZero() ? () -> Thread.sleep(length) : (Sleeping) () -> Thread.sleep(length);
            }
            case "churn" -> {
                double rate = command.numberAbove("rate", 0, MOST_A_SECOND);
                yield drawn(at -> exponential(at, Math.max(1, target.getAsLong()) / rate));
            }
            case "ticks" -> {
                Duration length = seconds(command, "seconds");
                long count = command.whole("count", 1_000_000);
                yield () -> ticks(count, length);
            }
            case "hold" -> Workload::hold;
            case "payload" -> new Payload((int) command.whole("size", LONGEST_ARRAY));
            case "spin" -> {
                long total = seconds(command, "seconds").toNanos();
                yield () -> spin(total);
            }
            case "nop" -> () -> {};
            case "http" -> Fetch.of(command);
            case "connect" -> Connect.of(command,
                    command.fields().containsKey("seconds") ? seconds(command, "seconds") : null);
            default -> throw new IllegalArgumentException(
                    "unknown workload %s; expected one of %s".formatted(Json.written(spec), String.join(", ", WORDS)));
        };
    }

    private static Duration seconds(Command command, String key) {
        return duration(command.number(key, 0, LONGEST));
    }

    private static Duration duration(double seconds) {
        return Duration.ofNanos(Math.round(seconds * 1e9));
    }

    /** Lets each task sleep the seconds that {@code draw} returns for a number of its own, evenly spread from 0 to 1. */
    private static Workload drawn(DoubleUnaryOperator draw) {
        AtomicLong count = new AtomicLong();
        return (Sleeping) () -> Thread.sleep(duration(draw.applyAsDouble(count.incrementAndGet() * GOLDEN % 1)));
    }

    /** What sleeps first. */
    interface Sleeping extends Workload {
        @Override
        default boolean sleeps() {
            return true;
        }
    }

    private static double exponential(double at, double mean) {
        return Math.min(LONGEST, -Math.max(SHORTEST_MEAN, mean) * Math.log1p(-at));
    }

    private static void ticks(long count, Duration length) throws InterruptedException {
        for (long i = 0; i < count; i++) {
            Thread.sleep(length);
        }
    }

    private static void hold() throws InterruptedException {
        while (!Thread.interrupted()) {
            LockSupport.park();
        }
        throw new InterruptedException();
    }

    /** Holds touched memory. */
    record Payload(int size) implements Workload {
        @Override
        public void run() throws InterruptedException {
            byte[] held = new byte[size]; // the JVM writes zeros
            try {
                hold();
            } finally {
                Reference.reachabilityFence(held);
            }
        }
    }

    /** Uses so many nanoseconds of CPU time, and yields after each turn. */
    private static void spin(long total) throws InterruptedException {
        for (long used = 0; used < total; Thread.yield()) {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            used += turn(Math.min(TURN, total - used));
        }
    }

    /**
     * Runs for a turn and returns how long. Of a virtual thread the JVM cannot measure the CPU time: it is the time that
     * passes, without the gaps in which the thread beneath evidently did not run.
     */
    private static long turn(long length) {
        boolean measured = !Thread.currentThread().isVirtual();
        long used = 0;
        for (long last = measured ? THREADS.getCurrentThreadCpuTime() : System.nanoTime(); used < length; ) {
            long now = measured ? THREADS.getCurrentThreadCpuTime() : System.nanoTime();
            used += measured || now - last < AWAY ? now - last : 0;
            last = now;
        }
        return used;
    }
}
