"""Rates from cumulative counters and their own timestamps."""

import math
from collections import deque

from concwatch.lab.messages import Tick


def rate(before: int, after: int, seconds: float) -> float:
    """Give the growth a second; NaN where no time has passed."""
    return (after - before) / seconds if seconds > 0 else math.nan


class BestSecond:
    """The most that a counter grew in any second."""

    def __init__(self) -> None:
        self._recent: deque[tuple[float, int]] = deque()
        self.best = 0.0

    def add(self, time: float, count: int) -> None:
        """Take one reading of the counter, at ``time`` in seconds."""
        recent = self._recent
        recent.append((time, count))
        # Keep the newest reading that is a second old, so that the span is never shorter than one.
        while len(recent) > 1 and recent[1][0] <= time - 1:
            recent.popleft()
        began, first = recent[0]
        if time > began:
            self.best = max(self.best, (count - first) / max(1.0, time - began))


class TickRates:
    """Tasks created and completed a second, between one tick and the next."""

    def __init__(self) -> None:
        self._last: Tick | None = None
        self.created = math.nan
        self.completed = math.nan

    def add(self, tick: Tick) -> None:
        """Take the next tick."""
        if self._last is not None and tick.time > self._last.time:
            seconds = tick.time - self._last.time
            self.created = rate(self._last.created, tick.created, seconds)
            self.completed = rate(self._last.completed, tick.completed, seconds)
        self._last = tick
