/** A token bucket that limits how many tasks are timed. */
final class TokenBucket {
    private static final double PER_NANOSECOND = 1_000 / 1e9;
    private static final double MOST = 50;

    private double tokens = MOST;
    private long filled = System.nanoTime();

    /** Removes up to so many tokens; returns how many were removed. */
    long take(long wanted) {
        long now = System.nanoTime();
        tokens = Math.min(MOST, tokens + (now - filled) * PER_NANOSECOND);
        filled = now;
        long taken = Math.min(wanted, (long) tokens);
        tokens -= taken;
        return taken;
    }
}
