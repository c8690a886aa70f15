import java.util.Map;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadFactory;
import java.util.function.Consumer;

/** Holds a target and applies commands, all on one thread. */
final class Worker {
    private static final long SLICE = 10_000_000; // the longest that growing or shrinking may delay commands
    private static final int BATCH = 256; // tasks created between two checks of the clock
    private static final long SHORT = 1_000_000; // nanoseconds between two checks for what rings no bell
    private static final long LONG = 3_600_000_000_000L;

    static final String DEFAULT = """
            {"type":"workload","spec":"sleep:10","word":"sleep","seconds":10}""";

    private final Wire wire;
    private final Counts counts;
    private final Reporter reporter;
    private final Goal goal;
    private final Tasks tasks;
    private final Bell bell = new Bell();
    private final Queue<Command> commands = new ConcurrentLinkedQueue<>();
    private final Map<String, Consumer<Command>> known = new TreeMap<>();
    private final FileLimit fileLimit;
    private Burst burst; // null while no burst runs
    private boolean idle;
    private boolean failureReported; // of this workload

    Worker(Wire wire, ThreadFactory factory, int crowd, Counts counts, Reporter reporter) {
        this.wire = wire;
        this.counts = counts;
        this.reporter = reporter;
        goal = new Goal(counts);
        fileLimit = new FileLimit(counts, goal);
        tasks = new Tasks(factory, crowd, counts, goal, bell, fileLimit);
        tasks.use(Workload.of(Command.of(DEFAULT, System.nanoTime()), goal::target));

        known.put("target", this::setTarget);
        known.put("refill", command -> goal.refill(command.flag("on")));
        known.put("workload", this::replace);
        known.put("halt", this::halt);
        known.put("rate", command -> reporter.rate(command.number("hz", 0.1, 100)));
        known.put("trim", command -> trim());
        known.put("burst", this::burst);
    }

    /** Queues a command; may be called from any thread. */
    void take(Command command) {
        commands.add(command);
        bell.ring();
    }

    /** Waits while there is nothing to do, applies commands, and creates or cancels tasks for one slice of time. */
    void turn() {
        if (idle) {
            boolean soon = goal.wanted() != 0 || goal.pending() || tasks.anyEnding() || fileLimit.pending();
            bell.await(soon ? SHORT : LONG);
        }
        for (Command command = commands.poll(); command != null; command = commands.poll()) {
            apply(command);
        }
        reportFailure();
        fileLimit.look(wire);
        idle = adjust();
        if (goal.reportReached(wire)) {
            reporter.tickSoon();
        }
        if (burst != null && counts.live() == 0) {
            endBurst();
        }
    }

    /** Reports the first failure of a workload; the counter has their number. */
    private void reportFailure() {
        Throwable failure = tasks.takeFailure();
        if (failure != null && !failureReported && !goal.replacing()) {
            failureReported = true;
            wire.refuse(null, "a task failed: " + failure);
        }
    }

    /** Whether a target is still to be met. */
    boolean changing() {
        return goal.pending();
    }

    /** Creates or cancels tasks; returns whether nothing more can be done now. */
    private boolean adjust() {
        long until = System.nanoTime() + SLICE;
        tasks.forget(); // first: it changes which tasks are counted as live
        if (!tasks.anyEnding()) {
            goal.settled();
        }
        long wanted = goal.wanted();
        if (wanted <= 0) {
            return tasks.cancel(-wanted, until);
        }
        long room = tasks.room();
        for (; wanted > 0 && room > 0 && System.nanoTime() < until; room = tasks.room()) {
            if (Heap.full()) {
                stopGrowing("heap", Heap.most(), "the heap is full after a collection");
                break;
            }
            long some = Math.min(Math.min(wanted, BATCH), room);
            long created = create(some, true);
            goal.created(created);
            wanted = created < some ? 0 : wanted - created;
        }
        return room == 0 || goal.wanted() == 0;
    }

    /** Creates so many, or as many as the system allows; returns how many. */
    private long create(long count, boolean sampled) {
        long before = counts.created.get();
        try {
            tasks.start(count, sampled);
        } catch (OutOfMemoryError refused) { // no more threads; a full heap exits the JVM instead
            stopGrowing("unknown", null, refused.getMessage());
        }
        return counts.created.get() - before;
    }

    private void stopGrowing(String wall, Long value, String detail) {
        long wanted = goal.target();
        goal.settle();
        wire.send("limit",
                "standing", counts.live(), "wanted", wanted, "wall", wall, "value", value, "detail", detail);
    }

    private void apply(Command command) {
        try {
            Consumer<Command> act = known.get(command.type());
            if (act == null) {
                throw new IllegalArgumentException("unknown command %s; expected one of %s, stop"
                        .formatted(Json.written(command.type()), String.join(", ", known.keySet())));
            }
            act.accept(command);
            if (!command.type().equals("target")) {
                wire.send("applied", "command", command.type(), "seconds", command.secondsSince());
            }
        } catch (IllegalArgumentException refused) {
            wire.refuse(command.type(), refused.getMessage());
        }
    }

    /** Runs a collection, after which G1 returns memory. */
    private void trim() {
        tasks.trim();
        System.gc();
    }

    private void setTarget(Command command) {
        goal.setTarget(command.whole("tasks", Command.MOST_TASKS), command.arrived(), tasks.anyEnding());
    }

    private void replace(Command command) {
        tasks.use(Workload.of(command, goal::target));
        goal.replace();
        failureReported = false;
    }

    private void halt(Command command) {
        String wall = command.word("wall");
        stopGrowing(wall, command.whole("value", Long.MAX_VALUE), "");
    }

    /** Creates all tasks without a pause, as a plain program would; they end by themselves. */
    private void burst(Command command) {
        if (counts.live() > 0 || goal.target() > 0) {
            throw new IllegalArgumentException(
                    counts.live() + " tasks are live; a burst needs none, and a target of 0");
        }
        burst = Burst.of(command);
        goal.pause(burst.tasks());
        burst.created(create(burst.tasks(), false));
    }

    private void endBurst() {
        burst.report(wire);
        burst = null;
        goal.resume();
        reporter.tickSoon();
    }
}
