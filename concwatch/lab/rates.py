"""Rates from cumulative counters and their own timestamps."""

import math
from bisect import insort
from collections import deque

from concwatch.links.messages import Reached, Tick


class Trailing:
    """The growth a second of a counter over the last ``seconds``."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._recent: deque[tuple[float, float]] = deque()

    def add(self, time: float, count: float) -> None:
        """Take one reading of the counter, at ``time`` in seconds."""
        recent = self._recent
        recent.append((time, count))
        # Keep the newest reading that is old enough, so that the span is never shorter than asked for.
        while len(recent) > 1 and recent[1][0] <= time - self._seconds:
            recent.popleft()

    def learn(self, time: float, count: int) -> None:
        """Take a reading that lies between those taken before."""
        if self._recent and time > self._recent[0][0]:
            insort(self._recent, (time, count))

    @property
    def span(self) -> float:
        """Seconds from the first to the last reading kept; at most the window and one interval."""
        return self._recent[-1][0] - self._recent[0][0] if self._recent else 0.0

    @property
    def growth(self) -> float:
        """How much the counter grew over that span."""
        return self._recent[-1][1] - self._recent[0][1] if self._recent else 0

    @property
    def rate(self) -> float:
        """Growth a second over the window: what grew before it began is taken as spread evenly.

        NaN before the second reading.
        """
        recent = self._recent
        if not self.span:
            return math.nan
        (first, low), (second, high), last = recent[0], recent[1], recent[-1]
        start = max(first, last[0] - self._seconds)
        before = low + (high - low) * (start - first) / (second - first) if second > first else low
        return (last[1] - before) / max(self._seconds, last[0] - start)


class BestSecond:
    """The most that a counter grew in any second."""

    def __init__(self) -> None:
        self._last_second = Trailing(1.0)
        self.best = 0.0

    def add(self, time: float, count: float) -> None:
        """Take one reading of the counter, at ``time`` in seconds."""
        self._last_second.add(time, count)
        self.best = max(self.best, self._last_second.growth / max(1.0, self._last_second.span))


LONG = 3.5
"""Sampling intervals: of a longer silence the rate makes up for what those before it had left out."""

MEAN_SECONDS = 10.0
"""Window of the mean rate: tasks that sleep ten seconds complete in bursts that far apart."""


class TickRates:
    """Tasks created and completed a second, in windows of one sampling interval on the worker's own clock.

    A window ends at each tick. A worker sends one as soon as a target has been met, so a burst lies within
    one window whatever moment it falls on, and is drawn as high each time. Behind a silence the window is as
    long as the silence was.
    """

    def __init__(self, interval: float) -> None:
        """Count in windows of ``interval`` seconds."""
        self._interval = interval
        self._created = Trailing(interval)
        self._completed = Trailing(interval)
        self._mean = Trailing(MEAN_SECONDS)
        self._best = (math.nan, math.nan)
        self._last: Tick | None = None
        self._taken = -math.inf  # when the last call was that had a rate
        self._accounted: tuple[float, float] = (0.0, 0.0)  # what all rates so far add up to over time
        self._silent_since: Tick | None = (
            None  # the last tick before a silence that ended since the last call
        )

    @property
    def mean_completed(self) -> float:
        """Over the last `MEAN_SECONDS`, or as long as there have been ticks; NaN before the second one."""
        return self._mean.growth / self._mean.span if self._mean.span else math.nan

    def add(self, tick: Tick, reached: Reached | None = None) -> None:
        """Take the next tick, and what was ``reached`` just before it: when its tasks were created."""
        if reached is not None and reached.created:
            # However late the ticks before were, what grew since then grew within these seconds.
            self._created.learn(tick.time - reached.seconds, tick.created - reached.created)
        if reached is not None and reached.created and reached.seconds <= self._interval:
            self._silent_since = None  # a burst, which is to be as high as any other
        self._last = tick
        found = []
        for counter, count, best in zip(
            (self._created, self._completed), (tick.created, tick.completed), self._best, strict=True
        ):
            counter.add(tick.time, count)
            found.append(counter.rate if math.isnan(best) else max(best, counter.rate))
        self._best = (found[0], found[1])
        self._mean.add(tick.time, tick.completed)

    def take(self, now: float) -> tuple[float, float]:
        """Return tasks created and completed a second, the highest since the last call; ``now`` in seconds.

        NaN where no tick has come since then: how fast it goes is known only when the next one comes, and
        then for all the time since the last one.
        """
        found, before, last, span = self._best, self._silent_since, self._last, now - self._taken
        if last is None or math.isnan(found[0]):
            self._silent_since = last
            return found
        counts = (float(last.created), float(last.completed))
        if before is not None and last.time > before.time:
            since = float(before.created), float(before.completed)
            seconds = last.time - before.time
            if span > LONG * self._interval:  # so that the rates add up to what there was
                since, seconds = self._accounted, span
            found = max(0.0, counts[0] - since[0]) / seconds, max(0.0, counts[1] - since[1]) / seconds
        known = math.isfinite(span) and not math.isnan(found[0])
        self._accounted = (
            (self._accounted[0] + found[0] * span, self._accounted[1] + found[1] * span) if known else counts
        )
        self._best, self._silent_since, self._taken = (math.nan, math.nan), None, now
        return found
