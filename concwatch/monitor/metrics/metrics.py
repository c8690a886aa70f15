"""The table of metrics. Each is one row: a `Metric` in the annotation of its field, or in `DERIVED`.

Those of watched programs are rows of the same kind, in `group_status` and `process_status`, which a lab does not load.

A field of `Sample` is sampled about ten times a second and becomes a column of recordings; a field of
`LaneStatus` rarely changes; a row of `DERIVED` is computed from both. Charts, series, the cost table, ``run``,
``--json``, ``--expect``, experiments, recordings, exports, comparisons and the help are made from the rows.

Units are bytes, seconds, tasks and tasks a second; shares are between 0 and 1; None means unknown.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct, structs

from concwatch.links.messages import Anatomy, BurstDone, Failure, TracedLines
from concwatch.monitor.metrics.fit import Fit
from concwatch.monitor.metrics.metric import (
    ALL,
    ANY,
    AS_OF,
    AT_END,
    AT_LEAST,
    BOTH,
    BURST,
    DERIVED,
    DISTURBED,
    DOWN,
    ESTIMATED,
    EXACT,
    HELD,
    MAX,
    MEAN,
    NEITHER,
    NONE,
    PEAK,
    READING,
    SAMPLED,
    SUM,
    TICK,
    UP,
    Caveat,
    CostColumn,
    Metric,
    MetricChart,
    MetricSource,
    fields_from,
    marks_of,
    rows_of,
)
from concwatch.monitor.metrics.settings import slider_end
from concwatch.monitor.metrics.state import State
from concwatch.monitor.metrics.target import Target
from concwatch.monitor.metrics.unit import BYTES, COUNT, RATE, RATIO, SECONDS, SHARE, SWITCHES
from concwatch.monitor.statistics.survival import SURVIVAL
from concwatch.monitor.verdicts.ongoing import OngoingStatus
from concwatch.monitor.verdicts.throttling import THROTTLED

if TYPE_CHECKING:  # what only watched programs need is not loaded for a lab
    from concwatch.links.agent_messages import AgentErrorKind, AgentTick
    from concwatch.monitor.metrics.group_status import GroupFigures
    from concwatch.monitor.metrics.process_status import ProcessFacts, ProcessStatus
    from concwatch.monitor.metrics.resource_status import ResourceStatus
    from concwatch.monitor.statistics.buckets import Buckets
    from concwatch.monitor.verdicts.blocks import BlockedPlace
    from concwatch.monitor.verdicts.holders import GrowingContainer
    from concwatch.monitor.verdicts.rss_parts import RssParts

Count = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
"""A 64-bit integer, so that other programs can read recordings."""

Time = Annotated[float, Meta(ge=-1e10, le=1e10)]
"""Seconds, at most three centuries: anything larger is a damaged file."""

BUSY = 0.10
"""Share of the cores used by others above which a time or rate is marked."""

# Caveats.


def _disturbed(others: float | None, throttled: float | None) -> bool:
    return (others or 0.0) > BUSY or (throttled or 0.0) > THROTTLED


def _traced_cost(lane: "LaneSnapshot") -> bool:
    """Return whether the cost of a task was measured while traced, as in old recordings of traced lanes."""
    known = lane.status.traced_cost
    return lane.status.tracing if known is None else known


TRACED = Caveat(
    "traced",
    DISTURBED,
    "about twice the memory, a third of the speed",
    "traced",
    lambda lane: lane.status.tracing,
    "t turns tracing off",
)
TRACED_COST = structs.replace(TRACED, holds=_traced_cost)
KEPT = Caveat(
    "earlier tasks",
    DISTURBED,
    "tasks that have ended may have left some behind",
    "memory of earlier tasks",
    lambda lane: lane.status.peak_live > 0 and lane.sample.rss_per_task is not None and not lane.status.clean,
    "switch the lane off and on",
)
CROWDED = Caveat(
    "others busy",
    DISTURBED,
    "these, or other lanes, used more than a tenth of the cores, or a CPU quota throttled it",
    "other programs were busy",
    lambda lane: _disturbed(lane.sample.others, lane.sample.throttled_share),
)
CROWDED_GROWTH = structs.replace(
    CROWDED, holds=lambda lane: _disturbed(lane.status.create_others, lane.status.create_throttled)
)
MOVES = Caveat(
    "changing", DISTURBED, "memory is still changing", "not settled yet", lambda lane: lane.status.rss_moves
)
CPU_SO_FAR = Caveat(
    "so far",
    DISTURBED,
    "too few tasks have lived their whole life yet",
    "so far",
    lambda lane: lane.status.cpu_so_far,
)
P50_SO_FAR = structs.replace(CPU_SO_FAR, holds=lambda lane: lane.status.durations_so_far)
P99_SO_FAR = structs.replace(
    CPU_SO_FAR, holds=lambda lane: lane.status.durations_so_far or lane.status.duration_p99_so_far
)
OBJECTS_ESTIMATED = Caveat(
    "kernel objects estimated",
    ESTIMATED,
    "the worker has no control group of its own",
    "kernel objects estimated",
    lambda lane: lane.status.objects_known == "estimated",
)
FORECAST = Caveat(
    "forecast",
    ESTIMATED,
    "the cost of a task has not been measured here",
    "forecast",
    lambda lane: lane.status.fits_forecast,
)
CAVEATS = (FORECAST, OBJECTS_ESTIMATED, MOVES, CPU_SO_FAR, CROWDED, KEPT, TRACED)
"""All of them; those of one name have the same meaning."""

MEMORY, SPEED, NOW = (TRACED, KEPT), (TRACED, CROWDED_GROWTH), (TRACED, CROWDED)


# Computed values.


def _over(this: float | None, that: float | None) -> float | None:
    return this - that if this is not None and that is not None else None


def _share(this: float | None, of: float | None) -> float | None:
    return this / of if this is not None and of else None


def _gc_share(lane: "LaneSnapshot") -> float | None:
    return _share(lane.sample.gc, max(0.0, lane.sample.time - lane.status.born))


def _traced_added(lane: "LaneSnapshot") -> float | None:
    burst = lane.status.burst
    return burst.traced if burst else _over(lane.sample.traced, lane.status.idle_traced)


def _traced_per_task(lane: "LaneSnapshot") -> float | None:
    burst = lane.status.burst
    return _share(burst.traced, burst.tasks) if burst else lane.sample.traced_per_task


def _allocation_per_task(lane: "LaneSnapshot") -> float | None:
    return _share(lane.engine.resolution, lane.sample.measured_live)


def memory_per_task(lane: "LaneSnapshot") -> float | None:
    """Return the bytes of RSS and kernel memory of a task; None unless both are known."""
    rss, kernel = lane.sample.rss_per_task, lane.sample.kernel_per_task
    return None if rss is None or kernel is None else rss + kernel


def known_cost(lane: "LaneSnapshot") -> float | None:
    """Return the bytes of a task; None if they are less than what its runtime requests at once.

    RSS alone where the kernel's part is unknown, as in old recordings and on systems other than Linux.
    """
    whole, resolution = memory_per_task(lane), _allocation_per_task(lane)
    cost = lane.sample.rss_per_task if whole is None else whole
    return None if cost is not None and resolution is not None and resolution > cost else cost


# The table. A field that is no metric may have a `Combine` alone.
# fmt: off


class Sample(Struct, array_like=True, frozen=True, gc=False):
    """One sample of a lane. The order of the fields is that of a recording's columns: a new one is the last."""

    lane: Count
    """The lane's number."""
    time: Time
    """When the sample was taken, in seconds."""
    rss: Annotated[Count | None, Metric(
        "RSS", BYTES, "Resident memory of the process.", READING, SUM, AS_OF, (TRACED,), UP, 26,
        chart=MetricChart("RSS", "drag a slider, or press + for 10,000", 1, 1), openmetrics="resident_memory",
    )]
    created_per_second: Annotated[float | None, Metric(
        "created/s now", RATE, "Tasks created per second in the last sampling interval.", DERIVED, SUM, EXACT, NOW, 0, 12,
        chart=MetricChart("created / s", "tasks created per second", 4, 3, mean="created_mean"), backfilled=True,
    )]
    """Counted in windows of one sampling interval that end at ticks; if there were several since the last
    sample, the highest counts."""
    completed_per_second: Annotated[float | None, Metric(
        "ended/s now", RATE, "Tasks that ended by themselves per second in the last sampling interval.", DERIVED, SUM, EXACT, NOW, 0, 13,
        chart=MetricChart("ended / s", "tasks per second that ended", 5, 4, "ended / s", mean="completed_mean"), backfilled=True,
    )]
    """Counted like ``created_per_second``."""
    live: Annotated[Count | None, Metric(
        "live", COUNT, "Tasks created and not yet ended.", TICK, SUM, EXACT, (), 0, 38,
        chart=MetricChart("live tasks", "created and not yet ended", 6, 2, "live"), column=CostColumn(1, 9, 1), openmetrics="tasks",
    )]
    lag: Annotated[float | None, Metric(
        "lag", SECONDS, "How late a sleeper wakes now, at worst.", DERIVED, MAX, SAMPLED, NOW, 0, 20,
        chart=MetricChart("wake-up lag", "how late a sleeper is woken", 7, short_title="lag", fallbacks=("completed_per_second",)), column=CostColumn(11, 7, 10), decimals=6, openmetrics="event_loop_lag",
    )]
    """The longest delay since the tick before; or how much the next tick is overdue, if that is more."""
    cpu: Annotated[float | None, Metric(
        "CPU", SHARE, "Share of one core used in the last second.", DERIVED, SUM, AS_OF, (), 0, 24,
        chart=MetricChart("CPU", "CPU time per second, of one core", 8), column=CostColumn(13, 6, 12), decimals=4,
    )]
    threads: Annotated[Count | None, Metric(
        "threads", COUNT, "Threads of the process.", READING, SUM, AS_OF, (), 0, 45, chart=MetricChart("threads"), openmetrics="threads",
    )]
    virtual: Annotated[Count | None, Metric("address space", BYTES, "Address space of the process.", READING, SUM, AS_OF)]
    tick_time: Annotated[float | None, Metric(
        "tick time", SECONDS, "When the worker read its counters, on its own clock.", decimals=4,
    )]
    """Not combined: the clocks of two hosts differ."""
    created: Annotated[Count | None, Metric("created", COUNT, "Tasks created.", TICK, SUM, AT_END, (), 0, 41, openmetrics="tasks_created")]
    completed: Annotated[Count | None, Metric("ended", COUNT, "Tasks that ended by themselves.", TICK, SUM, AT_END, (), 0, 42, openmetrics="tasks_ended")]
    failed: Annotated[Count | None, Metric(
        "failed", COUNT, "Tasks that ended with an error.", TICK, SUM, AT_END, (), 0, 43, run=1, openmetrics="tasks_failed",
    )]
    cancelled: Annotated[Count | None, Metric("cancelled", COUNT, "Tasks that were cancelled.", TICK, SUM, AT_END, (), 0, 44)]
    queued: Annotated[Count | None, Metric("queued", COUNT, "Live tasks waiting for a thread.", TICK, SUM, EXACT, (), 0, 40, openmetrics="executor_queue_length")]
    gc: Annotated[float | None, Metric(
        "in GC", SECONDS, "Time spent in garbage collection since the worker started.", TICK, SUM, AT_END, (TRACED,), UP, 22,
        "gc_seconds", run=13, compared=True, actions=BOTH, decimals=6, openmetrics="gc",
    )]
    """None if the runtime does not report it."""
    completed_mean: Annotated[float | None, Metric(
        "ended/s", RATE, "Tasks that ended by themselves per second, over the last ten seconds; those of a watched process, over five.", DERIVED, SUM, EXACT, NOW, DOWN, 14,
        column=CostColumn(8, 8, 6), compared=True,
    )]
    stalled: Annotated[float, Metric(
        "stalled", SECONDS, "How long the worker has been silent or overdue.", DERIVED, MAX, EXACT, (), 0, 46, openmetrics="stalled",
    )]
    rss_per_task: Annotated[float | None, Metric(
        "RSS/task", BYTES, "RSS above that of the idle worker, divided by the live tasks: the median of the samples with the most live tasks.",
        DERIVED, MEAN, SAMPLED, (TRACED_COST, KEPT, MOVES), UP, 2, resolution=_allocation_per_task, column=CostColumn(3, 8, 5, "= RSS", False), run=4, compared=True,
    )] = None
    measured_live: Annotated[Count | None, Metric(
        "live when measured", COUNT, "Live tasks when the bytes per task were measured.", DERIVED, SUM,
    )] = None
    cpu_seconds: Annotated[float | None, Metric(
        "CPU time", SECONDS, "CPU time that the process has used; with more than 1,000 threads the interval between readings is 0.1 ms per thread, and values are extrapolated in between.", READING, SUM, AT_END, decimals=4, openmetrics="cpu",
    )] = None
    cpu_per_task: Annotated[float | None, Metric(
        "CPU/task", SECONDS, "CPU time of a task above that of the idle worker: from its creation to its end, while the number of live tasks is steady; until tasks have ended, for its creation only. Unknown if the worker is not idle without tasks.",
        DERIVED, MEAN, SAMPLED, (TRACED, CPU_SO_FAR), UP, 8, column=CostColumn(9, 7, 7), run=7, compared=True,
    )] = None
    switches: Annotated[Count | None, Metric("switches", COUNT, "Context switches of the process so far.", TICK, SUM)] = None
    switches_per_second: Annotated[float | None, Metric(
        "switches/s", SWITCHES, "Context switches of the process per second.", DERIVED, SUM, EXACT, (), 0, 25,
        chart=MetricChart("context switches / s", "how often the system switches to another thread", 9, short_title="switches"),
    )] = None
    """Over the last second."""
    others: Annotated[float | None, Metric(
        "others", SHARE, "Share of all cores that other programs and lanes used in the last second.", DERIVED, MAX, AS_OF, decimals=4,
    )] = None
    duration: Annotated[float | None, Metric(
        "duration", SECONDS, "The median duration of the tasks timed last.", DERIVED, MAX, SAMPLED,
        chart=MetricChart("task duration", "the median duration of the tasks that have just ended", 10, short_title="duration"),
    )] = None
    """To 3 significant digits; None if no task is live or none was timed."""
    # Fields that are rarely known come last: a recording omits trailing nulls.
    traced: Annotated[Count | None, Metric(
        "traced", BYTES, "Memory traced by tracemalloc.", TICK, SUM, EXACT, (), UP, 30, "traced_bytes", needs_tracing=True,
        chart=MetricChart("tracemalloc", "traced memory: t turns it on or off", 2, 5, "traced", alternative="heap", combined_title="traced · heap"), openmetrics="traced_memory",
    )] = None
    tracer: Annotated[Count | None, Metric(
        "tracer", BYTES, "Memory that tracemalloc itself uses.", TICK, SUM, EXACT, (), UP, 32, needs_tracing=True,
    )] = None
    traced_per_task: Annotated[float | None, Metric(
        "traced/task", BYTES, "Memory traced by tracemalloc above that of the idle worker, divided by the live tasks; computed like RSS/task.",
        DERIVED, MEAN, SAMPLED, (KEPT,), UP, 7, of=_traced_per_task, column=CostColumn(5, 8, 9), run=6, compared=True, actions=BOTH, needs_tracing=True,
    )] = None
    heap: Annotated[Count | None, Metric(
        "heap", BYTES, "Memory of live objects, as counted by the runtime itself.", TICK, SUM, EXACT, (), UP, 33,
        chart=MetricChart("runtime heap", text_position=6, short_title="heap"),
    )] = None
    busy: Annotated[float | None, Metric(
        "loop busy", SHARE, "Share of the time of its event loops in which a task of a watched process ran, in the last two seconds.",
        DERIVED, MAX, SAMPLED, (), 0, 0, chart=MetricChart("loop busy", "share of the event loop's time in which tasks ran"), decimals=4, openmetrics="event_loop_busy",
    )] = None
    pss: Annotated[Count | None, Metric(
        "PSS", BYTES, "Memory of a watched process, with each page divided by the number of processes that share it (PSS), if the system reports it; read every five seconds, or every second while RSS changes.",
        READING, SUM, AS_OF, openmetrics="proportional_memory",
    )] = None
    kernel: Annotated[Count | None, Metric(
        "kernel memory", BYTES, "What the kernel holds for the process besides its RSS: stacks of threads, page tables, slab objects and socket buffers. Control groups are charged for it.",
        READING, SUM, AS_OF, (OBJECTS_ESTIMATED,), UP, 28, chart=MetricChart("kernel memory", "thread stacks, page tables, sockets", 12, short_title="kernel"), openmetrics="kernel_memory",
    )] = None
    kernel_stack_per_task: Annotated[float | None, Metric(
        "kernel stack/task", BYTES, "Kernel stacks of a task's threads: the size of one is the machine's KernelStack divided by its threads.",
        DERIVED, MEAN, EXACT, (KEPT,), UP, 4, "kernel_stack", compared=True,
    )] = None
    page_tables_per_task: Annotated[float | None, Metric(
        "page tables/task", BYTES, "Page tables for a task's memory: VmPTE of the process.", DERIVED, MEAN, EXACT, (KEPT,), UP, 5, "page_tables", compared=True,
    )] = None
    kernel_objects_per_task: Annotated[float | None, Metric(
        "kernel objects/task", BYTES, "Slab memory and socket buffers of a task: counted in a control group of the worker's own, or else estimated from threads and open files.",
        DERIVED, MEAN, SAMPLED, (KEPT, OBJECTS_ESTIMATED), UP, 6, "kernel_objects", compared=True,
    )] = None
    throttled: Annotated[float | None, Metric(
        "throttled", SECONDS, "Time for which the tightest CPU quota of its control groups throttled that group since the process was started, or found; added up over the cores.",
        READING, MAX, AT_END, (), UP, 51, run=18, actions=BOTH, decimals=4, openmetrics="cpu_throttled",
    )] = None
    """That of the lane with the most: lanes of one host have the same quota."""
    throttled_share: Annotated[float | None, Metric(
        "throttled share", SHARE, "Share of the last second for which a CPU quota throttled it, added up over the cores.", DERIVED, MAX, AS_OF, decimals=4,
    )] = None
    created_mean: Annotated[float | None, Metric(
        "mean created/s", RATE, "Tasks created per second, over the same time as ended/s.", DERIVED, SUM,
    )] = None

    @property
    def kernel_per_task(self) -> float | None:
        """What the kernel holds for a task; None if a part of it is unknown."""
        parts = (self.kernel_stack_per_task, self.page_tables_per_task, self.kernel_objects_per_task)
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None

    @property
    def memory(self) -> int | None:
        """RSS and kernel memory of the process, the latter as far as it is known."""
        return None if self.rss is None else self.rss + (self.kernel or 0)

    @property
    def retained(self) -> int | None:
        """RSS in bytes after all tasks have ended; None while tasks are live or none has been created."""
        return self.rss if self.live == 0 and self.created else None


class LaneStatus(
    Struct, frozen=True, rename={"limit": "wall", "limit_text": "wall_text", "fits_limit": "fits_wall"}
):
    """What rarely changes about a lane. The defaults are those of a lane that never had a worker."""

    state: State = State.OFF
    reason: str = ""
    """Why it failed."""
    failures: tuple[Failure, ...] = ()
    """The failed tasks of the workload, by kind."""
    target: Annotated[Count, SUM] = 0
    """Live tasks that it should hold."""
    asked: Annotated[Count, SUM] = 0
    """Live tasks that were requested last."""
    limit: str = ""
    """The limit that keeps it below that."""
    limit_text: str = ""
    """The same with its value."""
    create_rate: Annotated[float | None, Metric(
        "created/s", RATE, "Tasks created per second, from setting the last target until it was reached.", DERIVED, SUM, EXACT, SPEED, DOWN, 10,
        column=CostColumn(7, 8, 3), run=8, compared=True,
    )] = None
    create_seconds: Annotated[float | None, Metric(
        "created in", SECONDS, "Time from setting the last target until it was reached.", DERIVED, MAX, EXACT, SPEED, UP, 11,
    )] = None
    create_others: Annotated[float | None, Metric(
        "others meanwhile", SHARE, "Share of all cores that other programs and lanes used while the last target was created.", DERIVED, MAX,
    )] = None
    create_throttled: Annotated[float | None, Metric(
        "throttled meanwhile", SHARE, "Share of the time in which the last target was created for which a CPU quota throttled it.", DERIVED, MAX,
    )] = None
    stop_seconds: Annotated[float | None, Metric(
        "stopped in", SECONDS, "Time from the command to stop all tasks until the last one ended.", DERIVED, MAX, AT_END, NOW, UP, 37,
        run=17, compared=True, actions=NEITHER,
    )] = None
    completion_rate: Annotated[float | None, Metric(
        "best second", RATE, "The most tasks that ended by themselves in any one second.", DERIVED, SUM, PEAK, NOW, DOWN, 15,
        run=9, compared=True,
    )] = None
    longest_stall: Annotated[float | None, Metric(
        "longest stall", SECONDS, "How late a sleeper woke at worst while tasks were live.", DERIVED, MAX, AT_LEAST, NOW, UP, 21, actions=BOTH,
    )] = None
    wake_lag_p99: Annotated[float | None, Metric(
        "lag p99", SECONDS, "In 99 % of the ticks with live tasks, a sleeper woke no later than this.", DERIVED, MAX, SAMPLED, NOW, UP, 19,
        run=12, compared=True,
    )] = None
    start_delay_p99: Annotated[float | None, Metric(
        "delay p99", SECONDS, "99 % of the tasks timed so far started within this time after they were created.", DERIVED, MAX, SAMPLED, NOW, UP, 18,
        compared=True,
    )] = None
    duration_p50: Annotated[float | None, Metric(
        "task p50", SECONDS, f"Half of the tasks take no longer than this from start to end, {SURVIVAL}.", DERIVED, MAX, SAMPLED, (*NOW, P50_SO_FAR), UP, 16,
        run=10, compared=True, actions=HELD,
    )] = None
    duration_p99: Annotated[float | None, Metric(
        "task p99", SECONDS, f"99 % of the tasks take no longer than this from start to end, {SURVIVAL}.", DERIVED, MAX, SAMPLED, (*NOW, P99_SO_FAR), UP, 17,
        column=CostColumn(10, 7, 8), run=11, compared=True, actions=HELD,
    )] = None
    peak_live: Annotated[Count, Metric("peak live", COUNT, "The most tasks live at once.", DERIVED, SUM, PEAK, (), 0, 39, run=2)] = 0
    peak_rss: Annotated[Count | None, Metric(
        "peak RSS", BYTES, "The highest RSS that the process ever had.", DERIVED, SUM, PEAK, (TRACED,), UP, 35, run=15, compared=True, actions=BOTH,
    )] = None
    idle_rss: Annotated[Count | None, Metric(
        "idle RSS", BYTES, "RSS of the worker before its first task.", DERIVED, SUM, AS_OF, (TRACED,), UP, 34, run=14, compared=True,
    )] = None
    idle_kernel: Annotated[Count | None, Metric("idle kernel memory", BYTES, "Kernel memory of the worker before its first task.", DERIVED, SUM, AS_OF)] = None
    idle_virtual: Annotated[Count | None, Metric("idle address space", BYTES, "Address space before the first task.", DERIVED, SUM, AS_OF)] = None
    idle_traced: Annotated[Count | None, Metric("idle traced", BYTES, "Traced memory before the first task.", DERIVED, SUM)] = None
    runtime: str | None = None
    """The runtime of the worker, with its version; None before it is ready."""
    pid: Count | None = None
    flags: tuple[str, ...] = ()
    """Other conditions that influence its metrics."""
    can: tuple[str, ...] = ()
    """The optional commands that its worker understands."""
    born: Annotated[Time, MAX] = 0.0
    """When its worker was started; samples until then are another worker's."""
    tracing: Annotated[bool, ANY] = False
    """Whether it is traced."""
    traced_cost: Annotated[bool | None, ANY] = None
    """Whether bytes per task are those of a traced worker: they could not be measured without tracing."""
    objects_known: Annotated[str, MAX] = ""
    """How kernel objects are known: in a ``control group`` of the worker's own, ``estimated``, or not at all."""
    cpu_quota: Annotated[float | None, MAX] = None
    """The cores that its tightest control group allows; None for no quota."""
    clean: Annotated[bool, ALL] = False
    """Whether bytes per task include no memory that earlier tasks left."""
    rss_moves: Annotated[bool, ANY] = False
    """Whether bytes per task still change."""
    cpu_so_far: Annotated[bool, ANY] = False
    """Whether ``cpu_per_task`` is that of creating a task, since no whole lives are known."""
    durations_so_far: Annotated[bool, ANY] = False
    """Whether too few tasks have ended to know ``duration_p50``, which is the longest duration so far; in
    recordings of earlier versions, whether not all tasks had ended once."""
    bytes_per_task: float = 1.0
    """The forecast memory of one more task."""
    fits: Annotated[Count, Metric(
        "fits", COUNT, "Tasks that would fit into the memory budget and limits if nothing else ran.", DERIVED, SUM, AS_OF, (FORECAST,), 0, 47,
    )] = 0
    fits_limit: str = ""
    """The limit that they would reach."""
    fits_forecast: Annotated[bool, ANY] = False
    """Whether that is a forecast, since what a task takes has not been measured."""
    most_held: Annotated[Count | None, SUM] = None
    """Tasks of the workload that can be live at once if each that ends is replaced."""
    missing: str | None = None
    """Why the engine cannot run there."""
    burst: BurstDone | None = None
    """The result of the last burst."""
    duration_p99_so_far: Annotated[bool, ANY] = False
    """The same for ``duration_p99``."""
    ongoing: tuple[OngoingStatus, ...] = ()
    """What lasts in a watched process, such as a block of its event loop."""


DERIVED_METRICS = (
    Metric("memory/task", BYTES, "What a task costs the machine, above the idle worker: RSS and kernel memory, divided by the live tasks.",
           DERIVED, MEAN, SAMPLED, (TRACED_COST, KEPT, OBJECTS_ESTIMATED, MOVES), UP, 1, "memory_per_task", of=memory_per_task, resolution=_allocation_per_task,
           column=CostColumn(2, 12), run=3, compared=True),
    Metric("kernel/task", BYTES, "What the kernel holds for a task: stacks, page tables, slab objects and socket buffers, above the idle worker.",
           DERIVED, MEAN, SAMPLED, (KEPT, OBJECTS_ESTIMATED), UP, 3, "kernel_per_task", of=lambda lane: lane.sample.kernel_per_task, column=CostColumn(4, 8, 4, "+ kernel", False), run=5, compared=True),
    Metric("× cheapest", RATIO, "Memory/task divided by that of the cheapest lane.", DERIVED, NONE, SAMPLED, (TRACED_COST, KEPT), UP, 9, "ratio",
           of=lambda lane: _share(known_cost(lane), lane.cheapest), column=CostColumn(6, 7, 2, marked=False), actions=NEITHER),
    Metric("GC share", SHARE, "Share of the time since the worker started that was spent in garbage collection.", DERIVED, NONE, EXACT, (TRACED,), UP, 23, "gc_share",
           of=_gc_share, column=CostColumn(12, 6, 11)),
    Metric("RSS added", BYTES, "RSS above that of the idle worker.", DERIVED, NONE, AS_OF, MEMORY, UP, 27, "rss_added",
           of=lambda lane: _over(lane.sample.rss, lane.status.idle_rss)),
    Metric("address space added", BYTES, "Address space above that of the idle worker.", DERIVED, NONE, AS_OF, (TRACED,), UP, 29, "virtual_added",
           of=lambda lane: _over(lane.sample.virtual, lane.status.idle_virtual)),
    Metric("traced added", BYTES, "Memory traced by tracemalloc above that of the idle worker, for all tasks together.", DERIVED, NONE, EXACT, (), UP, 31, "traced_added",
           of=_traced_added, actions=BOTH, needs_tracing=True),
    Metric("retained RSS", BYTES, "RSS after all tasks have ended.", DERIVED, SUM, AT_END, (TRACED,), UP, 36, "retained_rss", "retained",
           of=lambda lane: lane.sample.retained, run=16, compared=True, actions=NEITHER,
           chart=MetricChart("retained", "memory that remains after all tasks have ended", 11, fallbacks=("threads",))),
    Metric("burst", SECONDS, "Time from the creation of a burst's first task until its last one ended.", DERIVED, NONE, EXACT, (TRACED, CROWDED), UP, 48, "burst_seconds",
           of=lambda lane: lane.status.burst.seconds if lane.status.burst else None, actions=BURST),
    Metric("created/CPU s", RATE, "Tasks of a burst created, but not started, per second of CPU time.", DERIVED, NONE, EXACT, (TRACED,), DOWN, 49, "create_rate_cpu",
           of=lambda lane: _share(lane.status.burst.tasks, lane.status.burst.create_cpu) if lane.status.burst else None, actions=BURST),
    Metric("ended/CPU s", RATE, "Tasks of a burst created and ended per second of CPU time.", DERIVED, NONE, EXACT, (TRACED,), DOWN, 50, "finish_rate_cpu",
           of=lambda lane: _share(lane.status.burst.tasks, lane.status.burst.cpu) if lane.status.burst else None, actions=BURST),
)
"""The metrics that are computed from the fields of one snapshot."""

# fmt: on


class EngineFacts(Struct, frozen=True, rename={"resolution": "grain"}):
    """What never changes about a lane."""

    name: str
    task: str = ""
    """What a task is there."""
    queues: bool = False
    """Whether tasks wait for a thread."""
    threads: bool = False
    """Whether each task uses a thread of the system."""
    resolution: Count = 0
    """Bytes that its runtime requests from the system at once: the resolution of its memory."""
    host: str = ""
    """The remote host it runs on; empty for this host."""


class LaneSnapshot(Struct, frozen=True):
    """One lane in a snapshot."""

    engine: EngineFacts
    status: LaneStatus
    sample: Sample
    cheapest: float | None = None
    """The fewest bytes per task of all lanes at that moment."""
    groups: "tuple[GroupFigures, ...]" = ()
    """The tasks of a watched process by function; what is derived of them is computed when it is read."""
    tick: "AgentTick | None" = None
    """The last report of the agent of a watched process."""
    process: "ProcessStatus | None" = None
    """The figures of a whole watched process."""
    facts: "ProcessFacts | None" = None
    """What a watched process is, if it is live."""
    resources: "tuple[ResourceStatus, ...]" = ()
    """What a watched process holds besides its tasks."""
    blocks: "tuple[BlockedPlace, ...]" = ()
    """What has blocked the event loops of a watched process, or of a function of the user in a lane, the most
    blocked place first."""
    lags: "Buckets | None" = None
    """How late the event loops of a watched process were, in each tick; not in recordings."""
    containers: "tuple[GrowingContainer, ...]" = ()
    """The containers of a watched process that grow with its memory; not in recordings."""
    agent_errors: "tuple[AgentErrorKind, ...]" = ()
    """The first kinds of errors of the agent of a watched process; not in recordings."""
    memory: "RssParts | None" = None
    """What RSS of a watched process is made of, as its agent has answered last; not in recordings."""
    lines: TracedLines | None = None
    """The lines of a watched process that hold traced memory; None until its agent has answered."""
    combines: tuple[str, ...] = ()
    """The names of the lanes that it combines; empty for one lane."""
    target: Target = Target()
    """Its target and what has become of it, if it is live."""
    refused: str = ""
    """Why its worker refused the last burst."""
    anatomy: Anatomy | None = None
    """What a task consists of, as its worker has answered last."""
    anatomy_refused: str = ""
    """Why its worker did not say so."""
    idle_heap: Count | None = None
    """Live objects in bytes by the runtime's own count before its first task, if it is live."""
    idle: bool = False
    """Whether there is no process, if it is live."""
    wanted: bool = False
    """Whether there is a worker, or one will start once the last has ended, if it is live."""
    present: bool = True
    """Whether its host has not left the cluster."""
    machine_name: str = ""
    """The first of the hosts that are the machine on which it runs, if it is live."""
    machine_cores: Count = 0
    """The number of cores of that machine, if it is live."""
    recorded_end: Count = 0
    """The largest target on its slider during the whole recording; 0 if it is live."""

    @property
    def name(self) -> str:
        """The name of its engine."""
        return self.engine.name

    @property
    def idle_memory(self) -> int | None:
        """RSS and kernel memory of the worker before its first task, the latter as far as it is known."""
        idle = self.status.idle_rss
        return None if idle is None else idle + (self.status.idle_kernel or 0)

    @property
    def own_name(self) -> str:
        """The name of its engine, without its host or the number of hosts."""
        return self.name.split(" ")[0]

    @property
    def names(self) -> tuple[str, ...]:
        """Its names in events and marks."""
        return self.combines or (self.name,)

    @property
    def slider_end(self) -> int:
        """The largest target on its slider."""
        fits = self.status.fits if self.engine.threads and self.status.fits_limit else None
        return self.recorded_end or slider_end(fits)

    @property
    def on(self) -> bool:
        """Whether there is a worker that is not stopping."""
        return self.status.state.on

    @property
    def live(self) -> int:
        """Tasks created and not yet ended."""
        return self.sample.live or 0

    @property
    def failed(self) -> int:
        """Tasks that ended with an error."""
        return self.sample.failed or 0

    @property
    def fit(self) -> Fit:
        """How many tasks would fit if nothing else ran, and the first limit."""
        return Fit(self.status.fits, self.status.fits_limit, self.status.fits_forecast)


# What is made from the rows.


SAMPLED_METRICS = tuple(rows_of(Sample, "sample"))
"""The metrics with a field of a sample, in the order of a recording's columns."""

METRICS = (*SAMPLED_METRICS, *rows_of(LaneStatus, "status"), *DERIVED_METRICS)
"""All metrics."""

LISTED = tuple(sorted((row for row in METRICS if row.listed), key=lambda row: row.listed))
"""Those with a name of their own in JSON, in the order of ``concwatch metrics``."""

BY_NAME = {row.name: row for row in LISTED}

EXPORTED = tuple(row for row in METRICS if row.openmetrics)
"""Those of a watched process that Prometheus and logs get."""

RUN_METRICS = tuple(sorted((row for row in METRICS if row.run), key=lambda row: row.run))
"""Those in the table of ``run``, from the left."""


def explained(caveats: Iterable[Caveat]) -> list[Caveat]:
    """Return the distinct caveats among ``caveats``, in the order of `CAVEATS`."""
    found = {caveat.name for caveat in caveats}
    return [caveat for caveat in CAVEATS if caveat.name in found]


def mark_notes(caveats: Iterable[Caveat]) -> list[str]:
    """Return what the marks of ``caveats`` stand for, one text a mark: ``* so far, other programs were busy``."""
    found = explained(caveats)
    return [
        f"{mark} {', '.join(caveat.brief for caveat in found if caveat.mark == mark)}"
        for mark in marks_of(found)
    ]


def uncertain_figures(lane: LaneSnapshot) -> list[tuple[Caveat, list[Metric]]]:
    """Return what makes metrics in the cost table uncertain, each caveat with its metrics."""
    shown = [row for row in METRICS if row.column or row.name == "fits"]
    known = [(row, {caveat.name for caveat in row.uncertain(lane)}) for row in shown]
    return [
        (caveat, rows)
        for caveat in CAVEATS
        if (rows := [row for row, names in known if caveat.name in names])
    ]


def cost_metric(lanes: Iterable[LaneSnapshot]) -> Metric:
    """Return the metric of what a task costs: memory/task, or RSS/task if no lane's kernel memory is known."""
    whole, rss = BY_NAME["memory_per_task"], BY_NAME["rss_per_task"]
    found = [metric for lane in lanes for metric in (whole, rss) if metric.value(lane) is not None]
    return rss if found and whole not in found else whole


COLUMNS = Sample.__struct_fields__
"""The columns of a recording."""


def blank_sample(lane: int, time: float, **known: float | None) -> Sample:
    """Return a sample whose fields are None except for the given ones."""
    values: dict[str, Any] = {**dict.fromkeys(COLUMNS), "stalled": 0.0, **known}
    return Sample(**{**values, "lane": lane, "time": time})


def copied(source: MetricSource, report: object) -> dict[str, Any]:
    """Return the fields of a sample that come from a tick or a reading; None for those that it lacks."""
    return {name: getattr(report, name, None) for name in fields_from(Sample, source)}


def measured_metrics(burst: bool = False) -> Iterator[Metric]:
    """Return the metrics of a measurement; with ``burst``, those that only a burst has too."""
    return (row for row in LISTED if burst or not row.burst_only)


def measured_values(held: LaneSnapshot, last: LaneSnapshot, burst: bool = False) -> dict[str, float | None]:
    """Return the values of all metrics by name.

    Args:
        held: the lane while its tasks were held.
        last: the lane after they had ended.
        burst: whether to include the metrics that only a burst has.
    """
    return {row.name: row.value(last if row.at_end else held) for row in measured_metrics(burst)}
