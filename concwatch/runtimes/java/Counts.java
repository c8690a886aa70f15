import java.util.concurrent.atomic.AtomicLong;

/** The counters of a worker; every task counts its own start and end. */
final class Counts {
    final AtomicLong created = new AtomicLong(); // by the controller
    final AtomicLong replaced = new AtomicLong(); // completed, and another one created instead
    final AtomicLong begun = new AtomicLong();
    final AtomicLong completed = new AtomicLong(); // not replaced at once
    final AtomicLong failed = new AtomicLong();
    final AtomicLong cancelled = new AtomicLong();
    final Timings durations = new Timings(); // of the tasks that are timed
    final Timings delays = new Timings();

    /** Tasks created and not yet ended. */
    long live() {
        long ended = completed.get() + failed.get() + cancelled.get(); // first: never negative
        return created.get() - ended;
    }

    long allCreated() {
        return created.get() + replaced.get();
    }

    /** Tasks created that have not begun. */
    long waiting() {
        long already = begun.get(); // first: never negative, but for a task that begins before it is counted
        return Math.max(0, allCreated() - already);
    }
}
