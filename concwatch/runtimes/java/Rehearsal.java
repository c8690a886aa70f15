import java.io.OutputStream;
import java.util.concurrent.ThreadFactory;

/**
 * The life of a worker in small, before it is ready: what it loads and compiles belongs to the idle runtime. Frames of
 * interpreted code are also three times those of compiled code, and a sleeping virtual thread keeps the ones it has.
 */
final class Rehearsal {
    private static final int ROUNDS = 10;
    private static final long LONGEST = 600_000_000;

    private Rehearsal() {}

    static void run(ThreadFactory factory, int tasks) {
        long end = System.nanoTime() + LONGEST;
        Wire wire = new Wire(OutputStream.nullOutputStream());
        Counts counts = new Counts();
        Reporter reporter = new Reporter(wire, counts, late -> late);
        Worker worker = new Worker(wire, factory, counts, reporter);
        for (int round = 0; round < ROUNDS && System.nanoTime() < end; round++) {
            hold(worker, tasks);
            reporter.tick(0);
            hold(worker, 0);
        }
        System.gc();
    }

    /** Gives the worker a target, until it is reached or the system refuses. */
    private static void hold(Worker worker, int tasks) {
        worker.take(Command.of("{\"type\":\"target\",\"tasks\":" + tasks + "}", System.nanoTime()));
        do {
            worker.turn();
        } while (worker.changing());
    }
}
