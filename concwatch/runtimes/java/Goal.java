/** The target, and what is still wanted to meet it. Only the controller touches it. */
final class Goal {
    private final Counts counts;
    private long target;
    private boolean refill = true;
    private long left; // without refill: how many of the burst are still to be created
    private long due; // "created" at which all that was asked for has been created
    private long createdBefore;
    private long cancelledBefore;
    private boolean asked;
    private long arrived;
    private boolean paused;
    private boolean unsettled; // tasks that were told to end before still count as live
    private boolean replacing; // all that lives ends first: what a task does has changed

    Goal(Counts counts) {
        this.counts = counts;
    }

    long target() {
        return target;
    }

    /** Asks for so many; while tasks are {@code ending} that live no more, what is left to do is not yet known. */
    void ask(long tasks, long arrived, boolean ending) {
        target = tasks;
        createdBefore = counts.created.get();
        cancelledBefore = counts.cancelled.get();
        asked = true;
        this.arrived = arrived;
        unsettled = ending && !replacing;
        reckon(replacing ? 0 : counts.live());
    }

    /** Takes note that none is ending any more. */
    void settled() {
        if (unsettled) {
            unsettled = false;
            reckon(counts.live());
        }
    }

    private void reckon(long live) {
        left = Math.max(0, target - live);
        due = counts.created.get() + left;
    }

    void refill(boolean on) {
        refill = on;
        left = 0;
    }

    /** Has every live task ended first, and as many created again. */
    void replace() {
        long live = counts.live();
        // While an earlier change still ends them, they are among what is left to be created already.
        long again = replacing ? 0 : Math.min(live, target - left);
        replacing = live > 0;
        left += again;
        due += again;
    }

    /** Takes what is live as the target: growth is to stop. */
    void settle() {
        target = Math.min(target, counts.live());
        left = 0;
        asked = false;
        unsettled = false;
    }

    /** Wants nothing from now on: a burst creates its own tasks and lets them end. */
    void pause(long tasks) {
        target = tasks;
        paused = true;
    }

    /** Holds a target again: 0, unless another was asked for meanwhile. */
    void resume() {
        target = asked ? target : 0;
        paused = false;
    }

    /** How many tasks to create now or, below zero, to cancel. */
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

    void created(long some) {
        left = Math.max(0, left - some);
    }

    /** Whether a target waits for its report. */
    boolean asked() {
        return asked;
    }

    /** Reports that the target has been met, once: all have begun and none is too many. */
    boolean tellReached(Wire wire) {
        if (!asked || paused || unsettled || counts.created.get() < due || counts.begun.get() < due || counts.live() > target) {
            return false;
        }
        asked = false;
        wire.send("reached",
                "target", target,
                "live", counts.live(),
                "created", counts.created.get() - createdBefore,
                "cancelled", counts.cancelled.get() - cancelledBefore,
                "seconds", (System.nanoTime() - arrived) / 1e9);
        return true;
    }
}
