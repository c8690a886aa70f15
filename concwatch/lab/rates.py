"""Rates from cumulative counters and their own timestamps."""

import math
from collections import deque

from concwatch.lab.messages import Tick


def rate(before: int, after: int, seconds: float) -> float:
    """Give the growth a second; NaN where no time has passed."""
    return (after - before) / seconds if seconds > 0 else math.nan


class Trailing:
    """The growth a second of a counter over the last ``seconds``."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._recent: deque[tuple[float, int]] = deque()

    def add(self, time: float, count: int) -> None:
        """Take one reading of the counter, at ``time`` in seconds."""
        recent = self._recent
        recent.append((time, count))
        # Keep the newest reading that is old enough, so that the span is never shorter than asked for.
        while len(recent) > 1 and recent[1][0] <= time - self._seconds:
            recent.popleft()

    @property
    def span(self) -> float:
        """Seconds from the first to the last reading kept; at most the window and one interval."""
        return self._recent[-1][0] - self._recent[0][0] if self._recent else 0.0

    @property
    def growth(self) -> int:
        """How much the counter grew over that span."""
        return self._recent[-1][1] - self._recent[0][1] if self._recent else 0


class BestSecond:
    """The most that a counter grew in any second."""

    def __init__(self) -> None:
        self._last_second = Trailing(1.0)
        self.best = 0.0

    def add(self, time: float, count: int) -> None:
        """Take one reading of the counter, at ``time`` in seconds."""
        self._last_second.add(time, count)
        self.best = max(self.best, self._last_second.growth / max(1.0, self._last_second.span))


MEAN_SECONDS = 10.0
"""Window of the mean rate: tasks that sleep ten seconds complete in bursts that far apart."""


class TickRates:
    """Tasks created and completed a second."""

    def __init__(self) -> None:
        self._last: Tick | None = None
        self._completed = Trailing(MEAN_SECONDS)
        self.created = math.nan
        """Between the last two ticks."""
        self.completed = math.nan
        """Between the last two ticks."""

    @property
    def mean_completed(self) -> float:
        """Over the last `MEAN_SECONDS`, or as long as there have been ticks; NaN before the second one."""
        return self._completed.growth / self._completed.span if self._completed.span else math.nan

    def add(self, tick: Tick) -> None:
        """Take the next tick."""
        if self._last is not None and tick.time > self._last.time:
            seconds = tick.time - self._last.time
            self.created = rate(self._last.created, tick.created, seconds)
            self.completed = rate(self._last.completed, tick.completed, seconds)
        self._last = tick
        self._completed.add(tick.time, tick.completed)
