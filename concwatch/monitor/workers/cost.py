"""The cost of one task: memory and CPU time above those of the idle worker, per task."""

from bisect import bisect_left, insort
from collections import deque
from operator import itemgetter

from msgspec import Struct

from concwatch.links.messages import Tick
from concwatch.system.process import Reading

SETTLED = 0.01
"""The most tasks that may start or end between two ticks of a settled sample, as a share of the live ones."""

NEAR_ALL = 0.99
"""Share of the number of live tasks within which two samples count as having the same number."""

NEAR_PEAK = 0.95
"""Share of the peak of live tasks below which memory retained from ended tasks distorts the figure."""

MEANINGFUL = 0.05
"""Share of the peak of live tasks below which retained memory makes the figure meaningless."""

MOVING = 0.05
"""Share by which the medians of the earlier and the later samples may differ in a stable figure."""

KEPT = 101
"""Samples in the median: those of the last ten seconds at 10 Hz."""

LEAST_ENDED = 10
"""Tasks that must have ended before CPU time is divided by them."""

STEADY = 0.02
"""How much a constant number of live tasks may vary: a share of them, or of those that ended meanwhile."""

EVEN, EVEN_SECONDS = 0.2, 3.0
"""Share by which the numbers of ended tasks in two halves of an interval may differ, and its least length."""

LATE_START = 1.3
"""The most CPU time of the first half, in terms of the second; more includes the creation of tasks."""

MOST_ENDS = 64
"""Readings kept to find the middle of the interval; beyond, every other one is dropped."""

KERNEL_PARTS = ("kernel_stack", "page_tables", "kernel_objects")
"""The parts of kernel memory, by their names in a reading."""

MOST_IDLE, IDLE_SECONDS = 0.05, 0.3
"""Share of a core above which a worker without tasks is not idle, and the seconds needed to measure it."""


class Cost(Struct, frozen=True):
    """Bytes per task, and how the figures were measured."""

    rss: float
    kernel_stack: float | None
    page_tables: float | None
    kernel_objects: float | None
    """What the kernel holds for a task, by what it is; None if unknown."""
    traced: float | None
    """None without tracing, or if tracing was switched on while tasks were live."""
    live: int
    """How many tasks were live."""
    tracing: bool
    """Whether tracing was on, which about doubles ``rss``."""
    clean: bool
    """False if memory retained from ended tasks may be included."""
    moves: bool = False
    """Whether ``rss`` still changes."""

    @property
    def kernel(self) -> float | None:
        """What the kernel holds for a task; None if a part is unknown."""
        parts = [getattr(self, part) for part in KERNEL_PARTS]
        return None if None in parts else sum(parts)

    @property
    def memory(self) -> float:
        """RSS and kernel memory of a task, as far as that is known."""
        return self.rss + (self.kernel or 0.0)


class RecentMedian:
    """The median of the last `KEPT` values, which are kept sorted because sorting would take longest."""

    def __init__(self) -> None:
        self._values: deque[float] = deque()
        self._ordered: list[float] = []

    def clear(self) -> None:
        """Forget all values."""
        self._values.clear()
        self._ordered.clear()

    def add(self, value: float) -> None:
        """Add a value."""
        if len(self._values) == KEPT:
            del self._ordered[bisect_left(self._ordered, self._values.popleft())]
        self._values.append(value)
        insort(self._ordered, value)

    @property
    def median(self) -> float | None:
        """The median; None without values."""
        import statistics  # imported here and below, because the first frame does not need it

        return statistics.median(self._ordered) if self._ordered else None

    @property
    def moves(self) -> bool:
        """Whether the medians of the earlier and the later half of the values differ."""
        values = list(self._values)
        half = len(values) // 2
        if not half:
            return False
        import statistics

        earlier, later = statistics.median(values[:half]), statistics.median(values[-half:])
        return abs(later - earlier) > MOVING * abs(earlier)


class CostMeter:
    """Measures the memory per task in one worker; ``cost`` is None until it is known.

    Bytes per task are RSS and each part of kernel memory above those of the idle worker, divided by the
    number of live tasks: the median over samples with (nearly) the same number of live tasks. Samples during
    which many tasks started or ended are used only if there are no others.
    """

    def __init__(self) -> None:
        self.idle: Reading | None = None
        """The reading of the process before the first task."""
        self.idle_traced: int | None = None
        self.taken = 0
        """Bytes of RSS that are no task's: the worker has taken them since then to look at its tasks."""
        self.cost: Cost | None = None
        self._most = 0
        self._last_live = 0
        self._mixed = False
        self._settled = False
        self._level = 0
        self._rss, self._traced = RecentMedian(), RecentMedian()
        self._kernel = {part: RecentMedian() for part in KERNEL_PARTS}

    def set_baseline(self, reading: Reading, traced: int | None) -> None:
        """Set the memory of the idle worker: a reading of the process, and the traced bytes."""
        self.idle, self.idle_traced = reading, traced

    def reset(self, used: bool) -> None:
        """Discard the cost, because the workload has changed; ``used`` tells whether the old one had tasks.

        Memory retained from those tasks cannot be told apart from that of the new ones.
        """
        self._mixed = self._mixed or used
        self.cost, self._settled, self._level = None, False, 0

    def add(self, reading: Reading, tick: Tick) -> None:
        """Add a reading of the process, and the tick just after it."""
        live = tick.live
        moved, self._last_live = abs(live - self._last_live), live
        self._most = max(self._most, live)
        settled = moved <= live * SETTLED
        if not live or self.idle is None or (self._settled and not settled):
            return
        clean = not self._mixed and live >= self._most * NEAR_PEAK
        if not clean and (live < self._most * MEANINGFUL or (self.cost is not None and self.cost.clean)):
            return
        if settled != self._settled or not self._level * NEAR_ALL <= live <= self._level / NEAR_ALL:
            for values in (self._rss, self._traced, *self._kernel.values()):
                values.clear()
            self._level = live
        self._settled = settled
        traced = tick.traced
        self._rss.add((reading.rss - self.idle.rss - self.taken) / live)
        for part, values in self._kernel.items():
            now, before = getattr(reading, part), getattr(self.idle, part)
            if now is not None and before is not None:
                values.add(max(0, now - before) / live)
        if traced is not None and self.idle_traced is not None:
            self._traced.add((traced - self.idle_traced) / live)
        self.cost = Cost(
            rss=max(0.0, self._rss.median or 0.0),
            **{part: values.median for part, values in self._kernel.items()},
            traced=self._traced.median,
            live=live,
            tracing=traced is not None,
            clean=clean,
            moves=not settled or self._rss.moves,
        )


class CpuMeter:
    """Measures the CPU seconds per task, above those of the idle worker.

    At first, this is the cost of creating a task: CPU time divided by the tasks created since the first
    target. While the number of live tasks is constant, it is the cost of a whole lifetime: CPU time divided
    by the tasks that have ended since then, each of which was replaced. This is known once as many tasks have
    ended as are live, or once as many have ended in the second half of that time as in the first, without
    using less CPU time; earlier, the work of unfinished tasks would be included. While the number changes
    again, the last figure is kept.

    A worker that is busy without tasks has no figure, because the CPU time of tasks cannot be told apart.
    """

    def __init__(self) -> None:
        self.per_task: float | None = None
        self._reports_cpu = False  # whether ticks carry the worker's CPU time
        self._idle = 0.0  # share of a core that the idle worker uses
        self._idle_since: tuple[float, float] | None = None  # time, CPU seconds
        # Time, CPU seconds and tasks created: at the last reading, and before the first task.
        self._last: tuple[float, float, int] | None = None
        self._first: tuple[float, float, int] | None = None
        self.life_known = False
        """Whether the figure is that of a whole lifetime, not of creating a task."""
        self._level = 0  # the number of live tasks since the first of `_ends`
        self._ends: list[
            tuple[float, float, int]
        ] = []  # time, CPU seconds and tasks ended, while it is constant
        # The same when as many had ended as are live; by then, tasks that started together are out of step.
        self._renewed: tuple[float, float, int] | None = None

    def add(self, tick: Tick, reading: Reading, has_target: bool) -> None:
        """Add a tick and a reading of the process; ``has_target`` tells whether the target is above 0."""
        # Prefer the CPU time in a tick, which is of the same moment as its counters.
        self._reports_cpu = self._reports_cpu or tick.cpu is not None
        if self._reports_cpu and tick.cpu is None:
            return
        used = reading.cpu_seconds if tick.cpu is None else tick.cpu
        now, ended = tick.time, tick.completed + tick.failed
        last, self._last = self._last or (now, used, tick.created), (now, used, tick.created)
        if not has_target:
            start = self._idle_since = self._idle_since or (now, used)
            if self._first is None and now >= start[0] + IDLE_SECONDS:
                self._idle = (used - start[1]) / (now - start[0])
            return
        self._first = self._first or last
        if self._idle > MOST_IDLE:
            return
        tasks = tick.created - self._first[2]
        if not self.life_known and tasks > 0:
            self.per_task = self._above_idle(self._first, now, used) / tasks
        self._add_ended(now, used, ended, tick.live)

    def _above_idle(self, since: tuple[float, float, int], now: float, used: float) -> float:
        return max(0.0, used - since[1] - self._idle * (now - since[0]))

    def _add_ended(self, now: float, used: float, ended: int, live: int) -> None:
        """Measure a whole lifetime, if the number of live tasks is constant."""
        ends = self._ends
        more = ended - ends[0][2] if ends else 0
        if not ends or abs(live - self._level) > max(STEADY * live, STEADY * more, LEAST_ENDED / 2):
            self._level, self._renewed, more = live, None, 0
            ends.clear()
        ends.append((now, used, ended))
        if len(ends) > MOST_ENDS:
            del ends[1::2]
        middle = bisect_left(ends, (ends[0][0] + now) / 2, key=itemgetter(0))
        half = ends[middle][2] - ends[0][2]
        even = now - ends[0][0] >= EVEN_SECONDS and abs(more - 2 * half) <= EVEN * more
        if more < LEAST_ENDED or not (more >= live or even):
            return
        if more < live and ends[middle][1] - ends[0][1] > LATE_START * (used - ends[middle][1]):
            del ends[:middle]  # threads that were created a while ago have only just started
            return
        since = ends[0]
        if more >= live and self._renewed is None:
            self._renewed = now, used, ended
        if self._renewed is not None and ended - self._renewed[2] >= max(LEAST_ENDED, live):
            since = self._renewed
        self.per_task, self.life_known = self._above_idle(since, now, used) / (ended - since[2]), True

    def reset(self) -> None:
        """Discard the figure, because the workload has changed."""
        self.per_task = self._first = self._idle_since = None
        self.life_known = False
        self._ends.clear()
