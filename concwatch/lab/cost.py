"""The cost of one task: memory and CPU time above those of the idle worker, divided by the tasks."""

import statistics
from collections import deque

from msgspec import Struct

from concwatch.links.messages import Tick
from concwatch.system.process import Reading

SETTLED = 0.01
"""Share of live tasks that may start or end between two ticks while a figure is measured."""

NEAR_ALL = 0.99
"""Share of the highest number of live tasks from which on a sample counts as one with all tasks live."""

NEAR_PEAK = 0.95
"""Share of the peak of live tasks below which memory kept from ended tasks falsifies the figure."""

KEPT = 101
"""Samples in the median: the last ten seconds at 10 Hz."""

LEAST_ENDED = 10
"""Tasks that must have ended before CPU time is divided by them."""


class Cost(Struct, frozen=True):
    """Bytes per task, and how the figure was measured."""

    rss: float
    traced: float | None
    """None while nothing is traced, or when tracing began among live tasks."""
    live: int
    """How many tasks were live."""
    tracing: bool
    """Whether tracing was on, which about doubles ``rss``."""
    clean: bool
    """False if memory kept from ended tasks may be included."""


class CostMeter:
    """Measures the memory of a task in one worker; ``cost`` is None until it is known.

    Bytes per task are the growth of RSS over the idle worker's divided by the live tasks: the median over the
    samples with (nearly) the most tasks live. Samples between two ticks between which many tasks started or
    ended do not count, unless there are no others.
    """

    def __init__(self) -> None:
        self.idle: Reading | None = None
        """The reading of the process before the first task."""
        self.idle_traced: int | None = None
        self.cost: Cost | None = None
        self._most = 0
        self._last_live = 0
        self._mixed = False
        self._settled = False
        self._level = 0
        self._values: deque[tuple[float, float | None]] = deque(maxlen=KEPT)

    def set_baseline(self, reading: Reading, traced: int | None) -> None:
        """Set the memory of the worker without tasks: a reading, and the bytes that the tracer counted."""
        self.idle, self.idle_traced = reading, traced

    def reset(self, used: bool) -> None:
        """Discard the cost, since the workload has changed; ``used`` tells whether tasks of another one ran.

        Memory that those tasks left behind cannot be separated from that of the new ones.
        """
        self._mixed = self._mixed or used
        self.cost, self._settled, self._level = None, False, 0

    def add(self, rss: int, tick: Tick) -> None:
        """Add a reading: RSS in bytes, and the tick just after it."""
        live = tick.live
        moved, self._last_live = abs(live - self._last_live), live
        self._most = max(self._most, live)
        settled = moved <= live * SETTLED
        if not live or self.idle is None or (self._settled and not settled):
            return
        clean = not self._mixed and live >= self._most * NEAR_PEAK
        if not clean and self.cost is not None and self.cost.clean:
            return
        if settled != self._settled or not self._level * NEAR_ALL <= live <= self._level / NEAR_ALL:
            self._values.clear()
            self._level = live
        self._settled = settled
        traced = tick.traced
        known = traced is not None and self.idle_traced is not None
        added = (traced or 0) - (self.idle_traced or 0)
        self._values.append(((rss - self.idle.rss) / live, added / live if known else None))
        found = [value for _, value in self._values if value is not None]
        self.cost = Cost(
            rss=max(0.0, statistics.median(value for value, _ in self._values)),
            traced=statistics.median(found) if found else None,
            live=live,
            tracing=traced is not None,
            clean=clean,
        )


class CpuMeter:
    """Measures the CPU seconds of one task, above those of the idle worker.

    Once tasks end, this is CPU time divided by tasks that ended, both since the moment at which as many had
    ended as are live: tasks that run across a boundary of this span even out once tasks no longer start
    together. Before that moment the span begins at the first end. Until ten tasks have ended, it is CPU time
    divided by the tasks created since the first target.
    """

    def __init__(self) -> None:
        self.per_task: float | None = None
        self._reports_cpu = False  # whether ticks carry the worker's CPU time
        self._idle = 0.0  # share of a core that the idle worker uses
        self._idle_since: tuple[float, float] | None = None  # time, CPU seconds
        # Time, CPU seconds and tasks created: at the last reading, and before the first task.
        self._last: tuple[float, float, int] | None = None
        self._first: tuple[float, float, int] | None = None
        # The same with tasks ended: at the first end, and when as many had ended since as were live.
        self._ending: tuple[float, float, int] | None = None
        self._steady: tuple[float, float, int] | None = None

    def add(self, tick: Tick, reading: Reading, has_target: bool) -> None:
        """Add a tick and a reading of the process; ``has_target`` tells whether the target is above 0."""
        # The CPU time in a tick is of the same moment as its counters.
        self._reports_cpu = self._reports_cpu or tick.cpu is not None
        if self._reports_cpu and tick.cpu is None:
            return
        used = reading.cpu_seconds if tick.cpu is None else tick.cpu
        now, ended = tick.time, tick.completed + tick.failed
        last, self._last = self._last or (now, used, tick.created), (now, used, tick.created)
        if not has_target:
            start = self._idle_since = self._idle_since or (now, used)
            if self._first is None and now > start[0]:
                self._idle = (used - start[1]) / (now - start[0])
            return
        self._first = self._first or last
        if self._ending is None and ended:
            self._ending = now, used, ended
        since, tasks = self._first, tick.created - self._first[2]
        if self._ending is not None and ended - self._ending[2] >= LEAST_ENDED:
            since, tasks = self._ending, ended - self._ending[2]
            if self._steady is None and tasks >= tick.live:
                self._steady = now, used, ended
        if self._steady is not None and ended - self._steady[2] >= max(LEAST_ENDED, tick.live):
            since, tasks = self._steady, ended - self._steady[2]
        if tasks > 0:
            self.per_task = max(0.0, used - since[1] - self._idle * (now - since[0])) / tasks

    def reset(self) -> None:
        """Discard the figure, since the workload has changed."""
        self.per_task = self._first = self._ending = self._steady = self._idle_since = None
