/** A task of the engine's own that sleeps repeatedly and measures how late it is woken. */
final class Metronome {
    private static final long BEAT = 50_000_000;

    private volatile long due = System.nanoTime();
    private long worst;

    void start() {
        Thread.startVirtualThread(() -> {
            try {
                while (true) {
                    due = System.nanoTime() + BEAT;
                    Thread.sleep(BEAT / 1_000_000);
                    note(System.nanoTime() - due);
                }
            } catch (InterruptedException never) {
                throw new AssertionError(never);
            }
        });
    }

    private synchronized void note(long late) {
        worst = Math.max(worst, late);
    }

    /** The worst delay in seconds since the last call, including one overdue now. */
    synchronized double worst() {
        long late = Math.max(worst, System.nanoTime() - due);
        worst = 0;
        return Math.max(0, late) / 1e9;
    }
}
