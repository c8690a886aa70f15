import java.util.concurrent.atomic.AtomicLong;

/** The counters of a worker. Only the controller creates tasks; every task counts its own start and end. */
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
        long ended = completed.get() + failed.get() + cancelled.get(); // first: never negative
        return created.get() - ended;
    }
}
