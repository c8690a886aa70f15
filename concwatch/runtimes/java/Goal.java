/** The target, and how many tasks are still missing. Only the controller changes it. */
final class Goal {
    private final Counts counts;
    private volatile long target; // tasks read it
    private volatile boolean refill = true;
    private long left; // without refill: tasks of the target still to be created
    private long due; // the value of "created" at which the target is met, once all have begun
    private long begin; // of all that have been created, how many must have begun then; 0 before
    private long createdBefore;
    private long cancelledBefore;
    private boolean pending;
    private long arrived;
    private volatile boolean paused;
    private boolean unsettled; // tasks being cancelled still count as live
    private volatile boolean replacing; // live tasks are cancelled first: the workload has changed

    Goal(Counts counts) {
        this.counts = counts;
    }

    long target() {
        return target;
    }

    /** Sets a target; while tasks are {@code ending}, how many are missing is not known yet. */
    void setTarget(long tasks, long arrived, boolean ending) {
        target = tasks;
        createdBefore = counts.allCreated();
        cancelledBefore = counts.cancelled.get();
        pending = true;
        this.arrived = arrived;
        unsettled = ending && !replacing;
        recompute(replacing ? 0 : counts.live());
    }

    /** Records that no task is ending any more. */
    void settled() {
        if (unsettled) {
            unsettled = false;
            recompute(counts.live());
        }
    }

    private void recompute(long live) {
        left = Math.max(0, target - live);
        due = counts.created.get() + left;
        begin = 0;
    }

    void refill(boolean on) {
        refill = on;
        left = 0;
    }

    /** Cancels every live task and creates as many again. */
    void replace() {
        long live = counts.live();
        // Tasks that an earlier change is still cancelling are already among those left to create.
        long again = replacing ? 0 : Math.min(live, target - left);
        replacing = live > 0;
        left += again;
        due += again;
        begin = 0;
    }

    /** Lowers the target to what is live, to stop growth. */
    void settle() {
        target = Math.min(target, counts.live());
        left = 0;
        pending = false;
        unsettled = false;
    }

    /** Stops creating and cancelling tasks: a burst manages its own. */
    void pause(long tasks) {
        target = tasks;
        paused = true;
    }

    /** Holds a target again: 0, unless another one has been set meanwhile. */
    void resume() {
        target = pending ? target : 0;
        paused = false;
    }

    /** Whether a task that completes may start the next one: may be called from any thread. */
    boolean refilling() {
        return refill && !paused && !replacing && counts.live() <= target;
    }

    /** How many tasks to create or, if negative, to cancel. */
    long wanted() {
        if (paused) {
            return 0;
        }
        long live = counts.live();
        if (replacing) {
            replacing = live > 0;
            if (replacing) {
                return -live;
            }
        }
        return live > target || refill ? target - live : Math.min(left, target - live);
    }

    /** Whether all live tasks are of the previous workload, and are being cancelled. */
    boolean replacing() {
        return replacing;
    }

    void created(long some) {
        left = Math.max(0, left - some);
    }

    /** Whether a target has not been reported as met. */
    boolean pending() {
        return pending;
    }

    /** Reports once that the target has been met: all have begun and none is in excess. */
    boolean reportReached(Wire wire) {
        if (!pending || paused || unsettled || counts.created.get() < due || counts.live() > target) {
            return false;
        }
        begin = begin == 0 ? counts.allCreated() : begin;
        if (counts.begun.get() < begin) {
            return false;
        }
        pending = false;
        wire.send("reached",
                "target", target,
                "live", counts.live(),
                "created", counts.allCreated() - createdBefore,
                "cancelled", counts.cancelled.get() - cancelledBefore,
                "seconds", (System.nanoTime() - arrived) / 1e9);
        return true;
    }
}
