"""What one task costs: memory over the lane's own idle baseline, a task."""

from msgspec import Struct

LEAST_LIVE = 100
"""Below this the grain of memory pages and arenas says more than the tasks do."""

SETTLED = 0.01
"""Share of live tasks that may come or go between two ticks while a figure is taken."""

NEAR_PEAK = 0.95
"""Share of the most tasks ever live below which memory kept from earlier tasks spoils the figure."""


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
    """Follows one worker from its start and gives the cost of a task whenever it can be told."""

    def __init__(self) -> None:
        self.idle_rss: int | None = None
        """Bytes of RSS before the first task."""
        self.cost: Cost | None = None
        self._idle_traced: int | None = None
        self._most = 0
        self._last_live = 0
        self._mixed = False

    def baseline(self, rss: int, traced: int | None) -> None:
        """Take what the worker weighs with no task yet: RSS, and what the tracer knows (None untraced)."""
        self.idle_rss, self._idle_traced = rss, traced

    def changed(self, used: bool) -> None:
        """Note that what tasks do has changed, in a worker that has been ``used`` for others before.

        What was known does not hold for what comes, and what those others left behind cannot be told apart.
        """
        self._mixed = self._mixed or used
        self.cost = None

    def tracing_changed(self, used: bool) -> None:
        """Note that tracing went on or off, in a worker that has been ``used`` before."""
        self.changed(used)
        self._idle_traced = None

    def add(self, rss: int, live: int, traced: int | None) -> None:
        """Take one look: RSS in bytes, and live tasks and traced bytes (None untraced) just after it."""
        if live == 0 and self._idle_traced is None:
            self._idle_traced = traced
        moved, self._last_live = abs(live - self._last_live), live
        self._most = max(self._most, live)
        if live < LEAST_LIVE or self.idle_rss is None or moved > live * SETTLED:
            return
        clean = not self._mixed and live >= self._most * NEAR_PEAK
        if not clean and self.cost is not None and self.cost.clean:
            return
        idle = self._idle_traced
        self.cost = Cost(
            rss=max(0.0, (rss - self.idle_rss) / live),
            traced=(traced - idle) / live if traced is not None and idle is not None else None,
            live=live,
            tracing=traced is not None,
            clean=clean,
        )
