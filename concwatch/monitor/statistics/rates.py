"""Rates from cumulative counters and their timestamps."""

import math
from bisect import insort
from collections import deque
from collections.abc import Sequence

from concwatch.links.messages import Reached, Tick

LEAST_SECONDS = 1.0
"""Seconds of a mean at least: a rate of fewer would jump."""


def finite(rate: float) -> float | None:
    """Return a rate; None while it is not known."""
    return rate if math.isfinite(rate) else None


def growth_at(recent: Sequence[tuple[float, ...]], seconds: float, column: int = 1) -> float:
    """Return the growth of a counter over the last ``seconds``; NaN before the second reading.

    Where that begins between two readings, growth between them is assumed to be even.

    Args:
        recent: readings, each a time in seconds and counters; one of them is as old as ``seconds``, unless
            there are none so old.
        seconds: the window.
        column: the index of the counter in a reading.
    """
    if not recent or recent[-1][0] == recent[0][0]:
        return math.nan
    (first, low), (second, high), last = (
        (each[0], each[column]) for each in (recent[0], recent[1], recent[-1])
    )
    start = max(first, last[0] - seconds)
    before = low + (high - low) * (start - first) / (second - first) if second > first else low
    return last[1] - before


def rate_at(recent: Sequence[tuple[float, ...]], seconds: float, column: int = 1) -> float:
    """Return the growth per second of a counter over the last ``seconds``; NaN before the second reading.

    If the readings are of less time, it is the growth per second of that time, of `LEAST_SECONDS` at least.
    For the arguments, see `growth_at`.
    """
    growth = growth_at(recent, seconds, column)
    if math.isnan(growth):
        return growth
    elapsed = min(seconds, recent[-1][0] - recent[0][0])
    return growth / max(elapsed, min(seconds, LEAST_SECONDS))


class Trailing:
    """The growth per second of a counter over the last ``seconds``."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._recent: deque[tuple[float, float]] = deque()

    def add(self, time: float, count: float) -> None:
        """Add a reading of the counter at ``time`` in seconds."""
        recent = self._recent
        recent.append((time, count))
        # Keep one reading older than the window, so that the span is never shorter than the window.
        while len(recent) > 1 and recent[1][0] <= time - self._seconds:
            recent.popleft()

    def insert(self, time: float, count: int) -> None:
        """Insert a reading at an earlier time."""
        if self._recent and time > self._recent[0][0]:
            insort(self._recent, (time, count))

    @property
    def span(self) -> float:
        """Seconds from the first to the last reading kept; at most the window and one interval."""
        return self._recent[-1][0] - self._recent[0][0] if self._recent else 0.0

    @property
    def growth(self) -> float:
        """The growth of the counter over the span."""
        return self._recent[-1][1] - self._recent[0][1] if self._recent else 0

    @property
    def mean(self) -> float:
        """Growth per second over the span; NaN before the second reading."""
        return self.growth / self.span if self.span else math.nan

    @property
    def rate(self) -> float:
        """Growth per second over the window; NaN before the second reading."""
        return rate_at(self._recent, self._seconds)


class BestSecond:
    """The highest growth of a counter in any second."""

    def __init__(self) -> None:
        self._last_second = Trailing(1.0)
        self.best = 0.0

    def add(self, time: float, count: float) -> None:
        """Add a reading of the counter at ``time`` in seconds."""
        self._last_second.add(time, count)
        self.best = max(self.best, self._last_second.growth / max(1.0, self._last_second.span))


LONG = 3.5
"""Sampling intervals: after a longer silence the rate includes what the rates before it missed."""

MEAN_SECONDS = 10.0
"""Window of the mean rate: tasks that sleep ten seconds complete in bursts that far apart."""


class TickRates:
    """Tasks created and completed per second, in windows of one sampling interval on the worker's clock.

    A window ends at each tick. A worker sends a tick as soon as it has reached a target, so a burst always
    falls into one window and is drawn equally high. After a silence the window is as long as the silence.
    """

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._created = Trailing(interval)
        self._completed = Trailing(interval)
        self._created_mean, self._completed_mean = Trailing(MEAN_SECONDS), Trailing(MEAN_SECONDS)
        self._best = (math.nan, math.nan)
        self._last: Tick | None = None
        self._read_at = -math.inf  # the last call of `read` that returned a rate
        self._accounted: tuple[float, float] = (0.0, 0.0)  # the integral of all rates returned so far
        # The last tick before a silence that ended since the last call.
        self._silent_since: Tick | None = None

    @property
    def means(self) -> tuple[float, float]:
        """Tasks created and completed per second, over the last `MEAN_SECONDS` or since the first tick."""
        return self._created_mean.mean, self._completed_mean.mean

    def add(self, tick: Tick, reached: Reached | None = None) -> None:
        """Add a tick, and the report of a target received just before it."""
        if reached is not None and reached.created:
            # The tasks were created within these seconds, however late the previous ticks were.
            self._created.insert(tick.time - reached.seconds, tick.created - reached.created)
        if reached is not None and reached.created and reached.seconds <= self._interval:
            self._silent_since = None  # a burst is drawn as high as any other
        self._last = tick
        found = []
        for counter, count, best in zip(
            (self._created, self._completed), (tick.created, tick.completed), self._best, strict=True
        ):
            counter.add(tick.time, count)
            found.append(counter.rate if math.isnan(best) else max(best, counter.rate))
        self._best = (found[0], found[1])
        self._created_mean.add(tick.time, tick.created)
        self._completed_mean.add(tick.time, tick.completed)

    def read(self, now: float) -> tuple[float, float]:
        """Return tasks created and completed per second, the highest since the last call; ``now`` in seconds.

        NaN if no tick was received since then: the next tick gives the rate of all the time since the last.
        """
        found, before, last, span = self._best, self._silent_since, self._last, now - self._read_at
        if last is None or math.isnan(found[0]):
            self._silent_since = last
            return found
        counts = (float(last.created), float(last.completed))
        if before is not None and last.time > before.time:
            since = float(before.created), float(before.completed)
            seconds = last.time - before.time
            if span > LONG * self._interval:  # so that the rates add up to the counters
                since, seconds = self._accounted, span
            found = max(0.0, counts[0] - since[0]) / seconds, max(0.0, counts[1] - since[1]) / seconds
        known = math.isfinite(span) and not math.isnan(found[0])
        self._accounted = (
            (self._accounted[0] + found[0] * span, self._accounted[1] + found[1] * span) if known else counts
        )
        self._best, self._silent_since, self._read_at = (math.nan, math.nan), None, now
        return found
