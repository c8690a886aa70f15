import java.util.concurrent.atomic.AtomicLong;

/** What a worker has done so far. Only the controller creates; every task counts its own begin and end. */
final class Counts {
    final AtomicLong created = new AtomicLong();
    final AtomicLong begun = new AtomicLong();
    final AtomicLong completed = new AtomicLong();
    final AtomicLong failed = new AtomicLong();
    final AtomicLong cancelled = new AtomicLong();
    final Timings durations = new Timings(); // of the tasks that are timed
    final Timings delays = new Timings();

    /** Tasks created and not yet ended. */
    long live() {
        long ended = completed.get() + failed.get() + cancelled.get(); // before created: never below zero
        return created.get() - ended;
    }
}
