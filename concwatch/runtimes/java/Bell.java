import java.util.concurrent.locks.LockSupport;

/** Wakes one thread. Ringing again before the thread has woken costs a single read. */
final class Bell {
    private volatile boolean rung;
    private volatile Thread sleeper;

    void ring() {
        if (!rung) {
            rung = true;
            LockSupport.unpark(sleeper);
        }
    }

    /** Waits until it is rung, at most so many nanoseconds; returns whether it was. */
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
