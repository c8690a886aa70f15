import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Queue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The tasks' threads. The controller starts and interrupts them; a task that completes counts its own end, and starts the
 * one that replaces it, which costs less than waking the controller for it.
 */
final class Tasks {
    private static final int QUEUE = 4096;
    private static final int SLACK = 1000;

    private final Counts counts;
    private final Goal goal;
    private final Bell bell;
    private final FileLimit fileLimit;
    private final ThreadFactory factory;
    private final int crowd;
    private final TokenBucket timing = new TokenBucket();
    private final ArrayList<Thread> running = new ArrayList<>();
    private final ArrayList<Thread> successors = new ArrayList<>(); // started by tasks, and not yet in "running"
    private volatile long gathered; // of those started by tasks, how many are in "running"
    private Queue<Thread> ending = new ArrayDeque<>(); // interrupted, perhaps not ended yet
    private volatile Runnable task;
    private volatile Workload workload;
    private volatile Throwable failure; // the last one, until it is taken
    private long queue; // tasks that may be created before they have begun

    /** @param crowd how many may wait to begin before tasks leave it to the controller to replace them */
    Tasks(ThreadFactory factory, int crowd, Counts counts, Goal goal, Bell bell, FileLimit fileLimit) {
        this.factory = factory;
        this.crowd = crowd;
        this.counts = counts;
        this.goal = goal;
        this.bell = bell;
        this.fileLimit = fileLimit;
    }

    void use(Workload workload) {
        task = taskOf(workload);
        this.workload = workload;
        queue = Math.clamp(Heap.most() / 20 / Math.max(1, workload.size()), 1, QUEUE);
    }

    /** How many may be created now. Few may not have begun: their memory is not allocated yet. */
    long room() {
        return Math.max(0, queue - counts.waiting());
    }

    /**
     * Starts so many, and counts each.
     *
     * @param sampled whether the first few are timed
     * @throws OutOfMemoryError the system refuses another thread
     */
    void start(long count, boolean sampled) {
        long timed = sampled ? timing.take(count) : 0;
        for (long i = 0; i < count; i++) {
            running.add(started(i < timed));
            counts.created.incrementAndGet();
        }
    }

    private Thread started(boolean timed) {
        Thread thread = factory.newThread(timed ? taskOf(new Timed(workload)) : task);
        thread.start();
        return thread;
    }

    /** Starts another task instead of this one, which has completed; returns whether it did. */
    private boolean replace() {
        if (!workload.sleeps() || !goal.refilling() || counts.waiting() > crowd) {
            return false;
        }
        long some = counts.live() / 8 + SLACK;
        long unknown = counts.replaced.get() - gathered;
        if (unknown > 2 * some) {
            return false;
        }
        try {
            Thread next = started(timing.take(1) > 0);
            synchronized (successors) {
                successors.add(next);
            }
        } catch (OutOfMemoryError refused) {
            return false; // the controller will be refused too, and report it
        }
        counts.replaced.incrementAndGet();
        if (unknown > some) {
            bell.ring();
        }
        return true;
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
        public void run() throws InterruptedException, IOException {
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
        } catch (InterruptedException | ClosedByInterruptException cancelled) {
            end(counts.cancelled);
            return;
        } catch (Throwable broken) {
            if (!fileLimit.record(broken)) {
                failure = broken;
            }
            end(counts.failed);
            return;
        }
        if (!replace()) {
            end(counts.completed);
        }
    }

    private void end(AtomicLong count) {
        count.incrementAndGet();
        bell.ring();
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

    /** Returns what a task has failed with since the last call, other than the limit on open files, or null. */
    Throwable takeFailure() {
        Throwable last = failure;
        failure = null;
        return last;
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
        synchronized (successors) {
            running.addAll(successors);
            gathered += successors.size();
            successors.clear();
        }
        long live = counts.live();
        if (running.size() > live + live / 4 + SLACK) {
            running.removeIf(thread -> !thread.isAlive());
        }
    }
}
