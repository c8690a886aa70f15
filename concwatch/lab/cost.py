"""What one task costs: memory over the lane's own idle baseline, and CPU over an idle worker's, a task."""

import statistics
from collections import deque

from msgspec import Struct

from concwatch.links.messages import Tick
from concwatch.system.process import Reading

SETTLED = 0.01
"""Share of live tasks that may come or go between two ticks while a figure is taken."""

NEAR_ALL = 0.99
"""Share of the most tasks live from which on a sample counts as taken with all of them live."""

NEAR_PEAK = 0.95
"""Share of the most tasks ever live below which memory kept from earlier tasks spoils the figure."""

KEPT = 101
"""Samples that the median is taken of: the last ten seconds at 10 Hz."""

LEAST_ENDED = 10
"""Tasks that must have ended before CPU time is divided by them."""


class Cost(Struct, frozen=True):
    """Bytes a task, and how the figure was taken."""

    rss: float
    traced: float | None
    """None while nothing is traced, or when tracing began among live tasks."""
    live: int
    """How many tasks were live when it was taken."""
    tracing: bool
    """Whether tracing was on, which makes ``rss`` about twice what it would be."""
    clean: bool
    """False when memory that earlier tasks left behind may be counted in."""


class CostMeter:
    """Follows one worker from its start; ``cost`` is what a task takes, as soon as that is known.

    Bytes a task are the median, over the samples with (nearly) the most tasks live, of the growth of RSS over
    the idle worker's, divided by the live tasks. Samples between two ticks that many tasks came or went
    between do not count, as long as there is any other.
    """

    def __init__(self) -> None:
        self.idle: Reading | None = None
        """The process before the first task."""
        self.idle_traced: int | None = None
        self.cost: Cost | None = None
        self._most = 0
        self._last_live = 0
        self._mixed = False
        self._settled = False
        self._level = 0
        self._values: deque[tuple[float, float | None]] = deque(maxlen=KEPT)

    def baseline(self, reading: Reading, traced: int | None) -> None:
        """Take what the worker weighs with no task yet: its process, and what the tracer knows."""
        self.idle, self.idle_traced = reading, traced

    def changed(self, used: bool) -> None:
        """Note that what tasks do has changed, in a worker that has been ``used`` for others before.

        What was known does not hold for what comes, and what those others left behind cannot be told apart.
        """
        self._mixed = self._mixed or used
        self.cost, self._settled, self._level = None, False, 0

    def add(self, rss: int, tick: Tick) -> None:
        """Take one look: RSS in bytes, and the tick just after it."""
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
    """Measures the seconds of CPU that one task takes, over what the idle worker takes.

    Once tasks end that is CPU time by tasks that ended, both since a moment at which as many had ended as are
    live: what has begun takes part of its time before such a span and part of it in it, which evens out once
    tasks no longer begin together. Before that it is since the first end, and before ten have ended CPU time
    by tasks created since the first was asked for.
    """

    def __init__(self) -> None:
        self.per_task: float | None = None
        self._reports_cpu = False  # whether the worker itself knows what it has used
        self._idle = 0.0  # share of a core that the idle worker takes
        self._idle_since: tuple[float, float] | None = None  # time, CPU seconds
        # Time, CPU seconds and tasks created: at the last look, and before the first task.
        self._last: tuple[float, float, int] | None = None
        self._first: tuple[float, float, int] | None = None
        # The same with tasks ended: at the first end, and when as many had ended since as were live.
        self._ending: tuple[float, float, int] | None = None
        self._steady: tuple[float, float, int] | None = None

    def add(self, tick: Tick, reading: Reading, asked: bool) -> None:
        """Take one look at the worker; whether tasks are ``asked`` for now."""
        # What the worker says is of the very moment of its counters.
        self._reports_cpu = self._reports_cpu or tick.cpu is not None
        if self._reports_cpu and tick.cpu is None:
            return
        used = reading.cpu_seconds if tick.cpu is None else tick.cpu
        now, ended = tick.time, tick.completed + tick.failed
        last, self._last = self._last or (now, used, tick.created), (now, used, tick.created)
        if not asked:
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

    def changed(self) -> None:
        """Note that tasks do something else from now on."""
        self.per_task = self._first = self._ending = self._steady = self._idle_since = None
