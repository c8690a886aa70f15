import java.util.concurrent.locks.LockSupport;

/** Wakes one thread. Ringing it costs a single read while that thread has not yet looked. */
final class Bell {
    private volatile boolean rung;
    private volatile Thread sleeper;

    void ring() {
        if (!rung) {
            rung = true;
            LockSupport.unpark(sleeper);
        }
    }

    /** Waits until it is rung, so many nanoseconds at most; says whether it was. */
    boolean await(long nanos) {
        sleeper = Thread.currentThread();
        long end = System.nanoTime() + nanos;
        for (long rest = nanos; !rung && rest > 0; rest = end - System.nanoTime()) {
            LockSupport.parkNanos(rest);
        }
        boolean was = rung;
        rung = false;
        return was;
    }
}
