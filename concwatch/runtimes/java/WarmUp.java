import java.io.OutputStream;
import java.util.List;
import java.util.concurrent.ThreadFactory;

/**
 * Runs a small worker before the real one is ready, so that what it loads and compiles counts as idle memory. Frames of
 * interpreted code are three times as large as compiled ones, and a sleeping virtual thread keeps them.
 */
final class WarmUp {
    private static final int ROUNDS = 10;
    private static final long LONGEST = 600_000_000;
    private static final List<String> SLEEPS = List.of( // with and without a time of its own for each task
            "{\"type\":\"workload\",\"word\":\"churn\",\"spec\":\"churn:1/s\",\"rate\":1}", Worker.DEFAULT);

    private WarmUp() {}

    static void run(ThreadFactory factory, int crowd, int tasks) {
        long end = System.nanoTime() + LONGEST;
        Wire wire = new Wire(OutputStream.nullOutputStream());
        Counts counts = new Counts();
        Reporter reporter = new Reporter(wire, counts, late -> late);
        Worker worker = new Worker(wire, factory, crowd, counts, reporter);
        for (int round = 0; round < ROUNDS && System.nanoTime() < end; round++) {
            worker.take(Command.of(SLEEPS.get(round % SLEEPS.size()), System.nanoTime()));
            hold(worker, tasks);
            reporter.tick(0);
            hold(worker, 0);
        }
        System.gc();
    }

    /** Sets a target and runs the worker until it is met or the system refuses. */
    private static void hold(Worker worker, int tasks) {
        worker.take(Command.of("{\"type\":\"target\",\"tasks\":" + tasks + "}", System.nanoTime()));
        do {
            worker.turn();
        } while (worker.changing());
    }
}
