import java.util.concurrent.atomic.AtomicLong;

/** A token bucket that limits how many tasks are timed, from any thread. */
final class TokenBucket {
    private static final long EACH = 1_000_000; // nanoseconds in which a token is added
    private static final long MOST = 50;

    private final AtomicLong empty = new AtomicLong(System.nanoTime() - MOST * EACH); // when it was, had it filled since

    /** Removes up to so many tokens; returns how many were removed. */
    long take(long wanted) {
        long now = System.nanoTime();
        long before = empty.get();
        long since = Math.max(before, now - MOST * EACH);
        long taken = Math.min(wanted, (now - since) / EACH);
        return taken > 0 && empty.compareAndSet(before, since + taken * EACH) ? taken : 0;
    }
}
