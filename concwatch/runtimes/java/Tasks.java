import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Queue;
import java.util.concurrent.ThreadFactory;

/** The tasks' threads. Only the controller starts and interrupts them; every task counts its own end. */
final class Tasks {
    private static final int QUEUE = 4096;
    private static final int SLACK = 1000;

    private final Counts counts;
    private final Bell bell;
    private final ThreadFactory factory;
    private final ArrayList<Thread> running = new ArrayList<>();
    private Queue<Thread> ending = new ArrayDeque<>(); // interrupted, perhaps not ended yet
    private Runnable task;
    private Workload workload;
    private long queue; // tasks that may be created before they have begun

    Tasks(ThreadFactory factory, Counts counts, Bell bell) {
        this.factory = factory;
        this.counts = counts;
        this.bell = bell;
    }

    void use(Workload workload) {
        task = taskOf(workload);
        this.workload = workload;
        queue = Math.clamp(Heap.most() / 20 / Math.max(1, workload.size()), 1, QUEUE);
    }

    /** How many may be created now. Few may not have begun: their memory is not allocated yet. */
    long room() {
        long waiting = Math.max(0, counts.created.get() - counts.begun.get());
        return Math.max(0, queue - waiting);
    }

    /**
     * Starts one.
     *
     * @throws OutOfMemoryError the system refuses another thread
     */
    void start(boolean timed) {
        Thread thread = factory.newThread(timed ? taskOf(new Timed(workload)) : task);
        thread.start();
        counts.created.incrementAndGet();
        running.add(thread);
    }

    private Runnable taskOf(Workload workload) {
        return () -> run(workload);
    }

    /** Runs a workload, and records its delay and, if it completes, its duration. */
    private final class Timed implements Workload { // a lambda would cost 0.4 MB of idle memory
        private final Workload workload;
        private final long created = System.nanoTime();

        Timed(Workload workload) {
            this.workload = workload;
        }

        @Override
        public void run() throws InterruptedException {
            long began = System.nanoTime();
            counts.delays.add(began - created);
            workload.run();
            counts.durations.add(System.nanoTime() - began);
        }
    }

    private void run(Workload workload) {
        counts.begun.incrementAndGet();
        try {
            workload.run();
            counts.completed.incrementAndGet();
        } catch (InterruptedException cancelled) {
            counts.cancelled.incrementAndGet();
        } catch (Throwable broken) {
            counts.failed.incrementAndGet();
            throw broken;
        } finally {
            bell.ring();
        }
    }

    /** Interrupts so many, minus those already ending; returns whether it finished in time. */
    boolean cancel(long count, long until) {
        while (ending.size() < count && !running.isEmpty()) {
            Thread newest = running.removeLast();
            if (newest.isAlive()) {
                newest.interrupt();
                ending.add(newest);
            }
            if (System.nanoTime() > until) {
                return false;
            }
        }
        return true;
    }

    boolean anyEnding() {
        return !ending.isEmpty();
    }

    /** Frees memory that is no longer needed. */
    void trim() {
        forget();
        running.trimToSize();
        ending = new ArrayDeque<>(ending);
    }

    /** Drops threads that have ended; those that ended by themselves once they are a fifth of all. */
    void forget() {
        while (!ending.isEmpty() && !ending.element().isAlive()) {
            ending.remove();
        }
        long live = counts.live();
        if (running.size() > live + live / 4 + SLACK) {
            running.removeIf(thread -> !thread.isAlive());
        }
    }
}
