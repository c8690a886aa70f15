"""The throughput of a step, from the tasks that had ended at each tick, and how far off it may be.

Tasks that started together end together, in waves, so the tasks that end within a fixed time depend on where
in a wave that time begins. What is measured instead is how long it takes until as many tasks have ended as
run at once, or a multiple of that: each live task has then ended once, wherever in a wave the time begins.
Its mean over many beginnings is steadier still, as in a frequency counter that averages over overlapping
times (E. Rubiola, Rev. Sci. Instrum. 76, 054703, 2005).
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise

LAG = 0.75
"""The share of the generations that ended over which time is taken; the rest is where that time may begin."""

PARTS, FEWEST_PARTS, BEGINNINGS = 6, 3, 4
"""Into how many parts a step is divided to see how its throughput varies, how many these are at least, and
how many overlapping parts are taken for each."""

LEAST_PART = 1.25
"""The least generations of a part."""

WIDTH = 2.8
"""Half the interval in standard deviations, which are estimated from few parts. In simulations of steps of
three seconds it covers the truth in nine of ten: tasks that end at random, in waves, or one after another."""

TICKS = 1 / 24
"""The variance of a time in squared ticks, since tasks may end at any time within one. Of waves that come
about as often as ticks, half of the deviation is left in the mean."""


class _Ended:
    """When each task had ended, by interpolation between ticks."""

    def __init__(self, counts: Sequence[tuple[float, int]]) -> None:
        self.times = [time for time, _ in counts]
        self.counts = [count for _, count in counts]
        areas = ((m - n) * (before + after) / 2 for (before, n), (after, m) in pairwise(counts))
        self._sums = [*accumulate(areas, initial=0.0)]

    @property
    def total(self) -> int:
        """The tasks that ended."""
        return self.counts[-1] - self.counts[0]

    @property
    def tick(self) -> float:
        """Seconds between two ticks."""
        return (self.times[-1] - self.times[0]) / max(1, len(self.times) - 1)

    def mean_time(self, number: float, tasks: float) -> float:
        """Return the mean time at which so many tasks ended, the first of them after ``number`` others."""
        begun, before = self._place(number)
        if not tasks:
            return before
        return (self._place(number + tasks)[0] - begun) / tasks

    def _place(self, number: float) -> tuple[float, float]:
        """Return the integral of the time over the first ``number`` tasks, and when the last one ended."""
        place = number + self.counts[0]
        at = min(max(1, bisect_left(self.counts, place)), len(self.counts) - 1)
        fewer, more = self.counts[at - 1 : at + 1]
        before, after = self.times[at - 1 : at + 1]
        ended = place - fewer
        time = before + (after - before) * ended / max(1, more - fewer)
        return self._sums[at - 1] + ended * (before + time) / 2, time


class _Span:
    """How a number of ended tasks is used: whole generations, and the tasks after which they may begin."""

    def __init__(self, ended: float, tasks: int) -> None:
        self.lag = tasks * max(1, int(LAG * (ended // tasks)))
        self.beginnings = max(0.0, ended - self.lag)

    def seconds(self, ended: _Ended, number: float) -> float:
        """Return the mean time in which `lag` tasks ended, beginning at ``number``."""
        after = ended.mean_time(number + self.lag, self.beginnings)
        return after - ended.mean_time(number, self.beginnings)

    @property
    def length(self) -> float:
        """The tasks to which the variance of `seconds` is proportional if tasks end at random."""
        return self.lag - self.beginnings / 3


def throughput(counts: Sequence[tuple[float, int]], tasks: int) -> tuple[float, float] | None:
    """Return the tasks that ended per second, and half the 95 % interval; None if too few have ended.

    Args:
        counts: the time of each tick, in seconds, and the tasks that had ended by then.
        tasks: how many run at once.
    """
    first = next((at for at, (before, now) in enumerate(pairwise(counts), 1) if now[1] > before[1]), None)
    if first is None:
        return None
    ended = _Ended(counts[first:])
    if ended.total < tasks:
        return None
    whole = _Span(ended.total, tasks)
    rate = whole.lag / whole.seconds(ended, 0)
    part = max(
        ended.total / PARTS,
        min(ended.total / FEWEST_PARTS, 2 * LEAST_PART * tasks),
        LEAST_PART * tasks,
    )
    if ended.total < part * LEAST_PART:
        return rate, 2 * rate / math.sqrt(tasks)  # as if they ended at random
    variance = _variance(ended, tasks, rate, part, whole.length) + TICKS * ended.tick**2
    return rate, WIDTH * math.sqrt(variance) * rate**2 / whole.lag


def _variance(ended: _Ended, tasks: int, rate: float, part: float, length: float) -> float:
    """Return the variance of the time that was measured, from that of parts of it and of halves of these.

    It grows with the length if tasks end at random, but not if they end in waves.
    """
    far, longer = _part_variance(ended, tasks, rate, part)
    growth = 1.0
    if part / 2 >= LEAST_PART * tasks:
        near, shorter = _part_variance(ended, tasks, rate, part / 2)
        growth = math.log(far / near) / math.log(longer / shorter) if far and near else 0.0
    grown: float = (length / longer) ** max(0.0, min(1.0, growth))
    return far * grown


def _part_variance(ended: _Ended, tasks: int, rate: float, part: float) -> tuple[float, float]:
    """Return the variance of the time measured within a part, and the length of that time in tasks."""
    span, room = _Span(part, tasks), ended.total - part
    count = max(BEGINNINGS, int(BEGINNINGS * ended.total / part))
    found = [span.seconds(ended, room * number / count) - span.lag / rate for number in range(count + 1)]
    # The rate is that of the same tasks.
    return sum(each**2 for each in found) / len(found) / (1 - part / ended.total), span.length
