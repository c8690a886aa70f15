"""The table of all figures: name, unit, meaning, what makes each uncertain, and how it is computed.

The cost table, ``run``, ``--json``, ``--expect``, experiments, comparisons and the help use this one table. A
figure is a function of one snapshot of a lane. What needs several ticks is accumulated by the lane
(`concwatch.lab.worker_stats`) and included in each snapshot.
"""

from collections.abc import Callable, Iterator

from msgspec import Struct

from concwatch.lab.snapshot import LaneSnapshot
from concwatch.lab.unit import BYTES, COUNT, RATE, RATIO, SECONDS, SHARE, Unit

BUSY = 0.10
"""Share of the cores used by others above which a time or rate is marked."""

COARSE = 0.05
"""Share of a figure above which its grain is shown, with ±."""

UP, DOWN = 1, -1


class Doubt(Struct, frozen=True):
    """Something that makes a figure uncertain."""

    mark: str
    note: str
    """What the mark means."""
    brief: str
    """The same in a few words, for the screen."""
    holds: Callable[[LaneSnapshot], bool]


def _busy(share: float | None) -> bool:
    return share is not None and share > BUSY


TRACED = Doubt(
    "ᵗ",
    "taken while traced: about twice the memory, a third of the speed",
    "traced",
    lambda lane: lane.status.tracing,
)
KEPT = Doubt(
    "≈",
    "may include memory that earlier tasks left behind",
    "memory of earlier tasks",
    lambda lane: lane.status.peak_live > 0 and lane.sample.rss_per_task is not None and not lane.status.clean,
)
CROWDED_GROWTH = Doubt(
    "*",
    "other programs or lanes used more than a tenth of the cores meanwhile",
    "cores shared with others",
    lambda lane: _busy(lane.status.create_others),
)
CROWDED = Doubt(
    CROWDED_GROWTH.mark, CROWDED_GROWTH.note, CROWDED_GROWTH.brief, lambda lane: _busy(lane.sample.others)
)
MOVES = Doubt(
    "~",
    "still changes",
    "still changes",
    lambda lane: lane.status.rss_moves,
)
CPU_SO_FAR = Doubt(
    "°",
    "so far, until tasks have lived whole lives",
    "so far",
    lambda lane: lane.status.cpu_so_far,
)
DURATION_SO_FAR = Doubt(
    CPU_SO_FAR.mark, CPU_SO_FAR.note, CPU_SO_FAR.brief, lambda lane: lane.status.durations_so_far
)
# Limits other than memory do not depend on tracing.
FITS_TRACED = Doubt(
    TRACED.mark,
    TRACED.note,
    TRACED.brief,
    lambda lane: lane.status.tracing and "memory" in lane.status.fits_wall,
)
DOUBTS = (TRACED, KEPT, CROWDED, MOVES, CPU_SO_FAR)
"""One for each mark."""


class Figure(Struct, frozen=True):
    """One row of the table."""

    name: str
    """Its name in JSON, expectations, experiments and exports."""
    title: str
    """Its name in tables."""
    unit: Unit
    meaning: str
    """One sentence."""
    of: Callable[[LaneSnapshot], float | None]
    doubts: tuple[Doubt, ...] = ()
    worse: int = 0
    """`UP` if more is worse, `DOWN` if less is, else 0."""
    at_end: bool = False
    """Whether a measurement reads it after the tasks have ended, not while they are held."""
    burst: bool = False
    """Whether only a burst has it."""

    def grain(self, lane: LaneSnapshot) -> float | None:
        """Return its uncertainty in its own unit if that is more than `COARSE` of it, else None."""
        live, value = lane.sample.measured_live, self.of(lane)
        if self.name != "rss_per_task" or not live or value is None:
            return None
        grain = lane.engine.grain / live
        return grain if grain > COARSE * value else None

    def marks(self, lane: LaneSnapshot) -> str:
        """Return the marks of the doubts that hold."""
        known = bool(self.of(lane))
        return "".join(doubt.mark for doubt in self.doubts if known and doubt.holds(lane))

    def text(self, lane: LaneSnapshot) -> str:
        """Return it as text, with its grain as ± a percentage; unknown if the grain is larger than the value."""
        value, grain = self.of(lane), self.grain(lane)
        if value is None or grain is None:
            return self.unit.text(value)
        return self.unit.text(None) if value < grain else f"{self.unit.text(value)} ±{grain / value:.0%}"


def _over(this: float | None, that: float | None) -> float | None:
    return this - that if this is not None and that is not None else None


def _share(this: float | None, of: float | None) -> float | None:
    return this / of if this is not None and of else None


def _gc_share(lane: LaneSnapshot) -> float | None:
    return _share(lane.sample.gc, max(0.0, lane.sample.time - lane.status.born))


def _traced_added(lane: LaneSnapshot) -> float | None:
    burst = lane.status.burst
    return burst.traced if burst else _over(lane.sample.traced, lane.status.idle_traced)


def _traced_per_task(lane: LaneSnapshot) -> float | None:
    burst = lane.status.burst
    return _share(burst.traced, burst.tasks) if burst else lane.sample.traced_per_task


def _retained(lane: LaneSnapshot) -> float | None:
    return lane.sample.rss if lane.status.peak_live and lane.sample.live == 0 else None


MEMORY, SPEED, NOW = (TRACED, KEPT), (TRACED, CROWDED_GROWTH), (TRACED, CROWDED)
TIMES = (*NOW, DURATION_SO_FAR)

FIGURES: tuple[Figure, ...] = (
    Figure("rss_per_task", "RSS/task", BYTES, "RSS above that of the idle worker, divided by the live tasks: the median of the samples with the most live tasks.",
           lambda lane: lane.sample.rss_per_task, (*MEMORY, MOVES), UP),
    Figure("traced_per_task", "traced/task", BYTES, "Memory traced by tracemalloc above that of the idle worker, divided by the live tasks; computed like RSS/task.",
           _traced_per_task, (KEPT,), UP),
    Figure("cpu_per_task", "CPU/task", SECONDS, "CPU time above that of the idle worker: of a whole life, while the number of live tasks stands; until lives are known, of creating a task. Unknown if the worker is not idle without tasks.",
           lambda lane: lane.sample.cpu_per_task, (TRACED, CPU_SO_FAR), UP),
    Figure("ratio", "× cheapest", RATIO, "RSS/task divided by that of the cheapest lane.",
           lambda lane: _share(lane.sample.rss_per_task, lane.cheapest), MEMORY, UP),
    Figure("create_rate", "created/s", RATE, "Tasks created a second, from setting the last target until it was reached.",
           lambda lane: lane.status.create_rate, SPEED, DOWN),
    Figure("create_seconds", "created in", SECONDS, "Time from setting the last target until it was reached.",
           lambda lane: lane.status.create_seconds, SPEED, UP),
    Figure("created_per_second", "created/s now", RATE, "Tasks created a second in the last sampling interval.",
           lambda lane: lane.sample.created_per_second, NOW),
    Figure("completed_per_second", "ended/s now", RATE, "Tasks that ended by themselves a second in the last sampling interval.",
           lambda lane: lane.sample.completed_per_second, NOW),
    Figure("completed_mean", "ended/s", RATE, "Tasks that ended by themselves a second, over the last ten seconds.",
           lambda lane: lane.sample.completed_mean, NOW, DOWN),
    Figure("completion_rate", "best second", RATE, "The most tasks that ended by themselves in any one second.",
           lambda lane: lane.status.completion_rate, NOW, DOWN, True),
    Figure("duration_p50", "task p50", SECONDS, "Half of the tasks timed so far took no longer than this from start to end.",
           lambda lane: lane.status.duration_p50, TIMES, UP),
    Figure("duration_p99", "task p99", SECONDS, "99 % of the tasks timed so far took no longer than this from start to end.",
           lambda lane: lane.status.duration_p99, TIMES, UP),
    Figure("start_delay_p99", "delay p99", SECONDS, "99 % of the tasks timed so far started within this time after they were created.",
           lambda lane: lane.status.start_delay_p99, NOW, UP),
    Figure("wake_lag_p99", "lag p99", SECONDS, "In 99 % of the ticks with live tasks, a sleeper woke no later than this.",
           lambda lane: lane.status.wake_lag_p99, NOW, UP),
    Figure("lag", "lag", SECONDS, "How late a sleeper wakes now, at worst.",
           lambda lane: lane.sample.lag, NOW),
    Figure("longest_stall", "longest stall", SECONDS, "How late a sleeper woke at worst while tasks were live.",
           lambda lane: lane.status.longest_stall, NOW, UP),
    Figure("gc_seconds", "in GC", SECONDS, "Time spent in garbage collection since the worker started.",
           lambda lane: lane.sample.gc, (TRACED,), UP, True),
    Figure("gc_share", "GC share", SHARE, "Share of the worker's life spent in garbage collection.",
           _gc_share, (TRACED,), UP),
    Figure("cpu", "CPU", SHARE, "Share of one core used in the last second.",
           lambda lane: lane.sample.cpu),
    Figure("switches_per_second", "switches/s", COUNT, "Context switches of the process a second.",
           lambda lane: lane.sample.switches_per_second),
    Figure("rss", "RSS", BYTES, "Resident memory of the process.",
           lambda lane: lane.sample.rss, (TRACED,), UP),
    Figure("rss_added", "RSS added", BYTES, "RSS above that of the idle worker.",
           lambda lane: _over(lane.sample.rss, lane.status.idle_rss), MEMORY, UP),
    Figure("virtual_added", "address space added", BYTES, "Address space above that of the idle worker.",
           lambda lane: _over(lane.sample.virtual, lane.status.idle_virtual), (TRACED,), UP),
    Figure("traced_bytes", "traced", BYTES, "Memory traced by tracemalloc.",
           lambda lane: lane.sample.traced, (), UP),
    Figure("traced_added", "traced added", BYTES, "Memory traced by tracemalloc above that of the idle worker, for all tasks together.",
           _traced_added, (), UP),
    Figure("tracer", "tracer", BYTES, "Memory that tracemalloc itself uses.",
           lambda lane: lane.sample.tracer, (), UP),
    Figure("heap", "heap", BYTES, "Memory of live objects, as counted by the runtime itself.",
           lambda lane: lane.sample.heap, (), UP),
    Figure("idle_rss", "idle RSS", BYTES, "RSS of the worker before its first task.",
           lambda lane: lane.status.idle_rss, (TRACED,), UP),
    Figure("peak_rss", "peak RSS", BYTES, "The highest RSS that the process ever had.",
           lambda lane: lane.status.peak_rss, (TRACED,), UP, True),
    Figure("retained_rss", "retained RSS", BYTES, "RSS after all tasks have ended.",
           _retained, (TRACED,), UP, True),
    Figure("stop_seconds", "stopped in", SECONDS, "Time from the order to end all tasks until the last one ended.",
           lambda lane: lane.status.stop_seconds, NOW, UP, True),
    Figure("live", "live", COUNT, "Tasks created and not yet ended.",
           lambda lane: lane.sample.live),
    Figure("peak_live", "peak live", COUNT, "The most tasks live at once.",
           lambda lane: lane.status.peak_live, at_end=True),
    Figure("queued", "queued", COUNT, "Live tasks waiting for a thread.",
           lambda lane: lane.sample.queued),
    Figure("created", "created", COUNT, "Tasks created.",
           lambda lane: lane.sample.created, at_end=True),
    Figure("completed", "ended", COUNT, "Tasks that ended by themselves.",
           lambda lane: lane.sample.completed, at_end=True),
    Figure("failed", "failed", COUNT, "Tasks that ended with an error.",
           lambda lane: lane.sample.failed, at_end=True),
    Figure("cancelled", "cancelled", COUNT, "Tasks that were cancelled.",
           lambda lane: lane.sample.cancelled, at_end=True),
    Figure("threads", "threads", COUNT, "Threads of the process.",
           lambda lane: lane.sample.threads),
    Figure("stalled", "stalled", SECONDS, "How long the worker has been silent or overdue.",
           lambda lane: lane.sample.stalled),
    Figure("fits", "fits", COUNT, "Tasks that would fit into the memory budget and limits if nothing else ran.",
           lambda lane: lane.status.fits, (FITS_TRACED,)),
    Figure("burst_seconds", "burst", SECONDS, "Time from the creation of a burst's first task until its last one ended.",
           lambda lane: lane.status.burst.seconds if lane.status.burst else None, (TRACED, CROWDED), UP, burst=True),
    Figure("create_rate_cpu", "created/CPU s", RATE, "Tasks of a burst created, but not started, a second of CPU time.",
           lambda lane: _share(lane.status.burst.tasks, lane.status.burst.create_cpu) if lane.status.burst else None, (TRACED,), DOWN, burst=True),
    Figure("finish_rate_cpu", "finished/CPU s", RATE, "Tasks of a burst created and ended a second of CPU time.",
           lambda lane: _share(lane.status.burst.tasks, lane.status.burst.cpu) if lane.status.burst else None, (TRACED,), DOWN, burst=True),
)  # fmt: skip

BY_NAME = {figure.name: figure for figure in FIGURES}


def figures(burst: bool = False) -> Iterator[Figure]:
    """Return the figures of a measurement; with ``burst``, those that only a burst has too."""
    return (figure for figure in FIGURES if burst or not figure.burst)


def figure_values(held: LaneSnapshot, last: LaneSnapshot, burst: bool = False) -> dict[str, float | None]:
    """Return the values of all figures by name.

    Args:
        held: the lane while its tasks were held.
        last: the lane after they had ended.
        burst: whether to include the figures that only a burst has.
    """
    return {figure.name: figure.of(last if figure.at_end else held) for figure in figures(burst)}
