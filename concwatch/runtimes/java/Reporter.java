import java.util.function.DoubleUnaryOperator;

/** Sends ticks from a platform thread of its own, so that they flow however busy the tasks are. */
final class Reporter implements Runnable {
    private final Wire wire;
    private final Counts counts;
    private final DoubleUnaryOperator lag;
    private final Bell soon = new Bell();
    private volatile long interval = 100_000_000;

    /**
     * Makes one.
     *
     * @param lag from how late the tick itself is, how late tasks are woken
     */
    Reporter(Wire wire, Counts counts, DoubleUnaryOperator lag) {
        this.wire = wire;
        this.counts = counts;
        this.lag = lag;
    }

    void rate(double hz) {
        interval = Math.round(1e9 / hz);
        soon.ring();
    }

    void tickSoon() {
        soon.ring();
    }

    @Override
    public void run() {
        for (long due = System.nanoTime(); ; ) {
            tick(Math.max(0, System.nanoTime() - due) / 1e9);
            long now = System.nanoTime();
            due = Math.max(due + interval, now); // do not catch up
            if (soon.await(due - now)) {
                due = System.nanoTime();
            }
        }
    }

    void tick(double late) {
        // Ends are read before starts, so that none is missing; a thread may end before its start is counted.
        long replaced = counts.replaced.get();
        long completed = counts.completed.get() + replaced;
        long failed = counts.failed.get();
        long cancelled = counts.cancelled.get();
        long ended = completed + failed + cancelled;
        long begun = counts.begun.get();
        long created = Math.max(ended, counts.created.get() + replaced);
        wire.send("tick",
                "time", System.nanoTime() / 1e9,
                "created", created,
                "live", created - ended,
                "queued", Math.min(created - ended, Math.max(0, created - begun)),
                "completed", completed,
                "failed", failed,
                "cancelled", cancelled,
                "lag", lag.applyAsDouble(late),
                "gc", Heap.collectionSeconds(),
                "heap", Heap.used(),
                "durations", counts.durations.take(),
                "delays", counts.delays.take());
    }
}
