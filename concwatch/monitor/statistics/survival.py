"""How long tasks take, estimated from those that have ended and from those that have not."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from math import ceil, inf
from typing import NamedTuple

from concwatch.monitor.statistics.histogram import Histogram

SURVIVAL = (
    "estimated from those timed so far; those still live or cancelled count as longer than their age"
    " (Kaplan and Meier 1958)"
)
"""How durations of tasks are known."""

ROUNDING = 1e-9
"""Relative error of sums of weights."""


class Estimate(NamedTuple):
    """An estimated duration."""

    seconds: float | None = None
    """None if no task has ended."""
    at_least: bool = False
    """Whether it is only known to be at least that long: too many tasks have not ended."""


class _Stretch(NamedTuple):
    """Ages between which no task left observation alive, with the buckets of those that ended there."""

    share: float
    """The share of tasks that live that long."""
    at_risk: float
    """The tasks that were observed to reach this age."""
    first: int
    last: int
    """The position of the first bucket, and of the first one after them."""
    ended: int


class Survival:
    """The Kaplan-Meier estimator of how long tasks take.

    Of a task that has not ended, or was cancelled, it is known that it takes longer than its age. Where only
    those count that have ended, long ones are missing: of tasks of 0.5 to 1.5 s that are observed for 8 s,
    the median would be 2 % too low. At each age, the estimator divides the tasks that end by all that have
    reached that age, whatever becomes of these later.

    E. L. Kaplan, P. Meier: Nonparametric estimation from incomplete observations, Journal of the American
    Statistical Association 53 (1958), 457-481.

    Args:
        ended: how long the tasks took that have ended; nothing may be added to it while this is in use.
        censored: the ages in seconds at which others were last seen alive, and how many each stands for. A
            negative number takes back as many as are in excess elsewhere.
    """

    def __init__(self, ended: Histogram, censored: Iterable[tuple[float, float]] = ()) -> None:
        self._ended = ended
        self._censored = tuple(censored)

    @classmethod
    def merged(cls, several: "Iterable[Survival]") -> "Survival":
        """Return the one of the tasks of all."""
        several = tuple(several)
        return cls(
            Histogram.merged(one._ended for one in several),
            [each for one in several for each in one._censored],
        )

    @cached_property
    def _sums(self) -> Sequence[int]:
        return self._ended.sums()

    @cached_property
    def _stretches(self) -> Sequence[_Stretch]:
        found = []
        firsts, sums = self._ended.firsts(), self._sums
        share, first, left = 1.0, 0, sums[-1]
        at_risk = left + sum([tasks for _, tasks in self._censored])
        for age, tasks in (*sorted(self._censored), (inf, 0.0)):
            last = bisect_right(firsts, age, first)  # a task that ends at this age was still at risk
            if last > first:
                ended = sums[last] - sums[first]
                at_risk = max(at_risk, left)
                found.append(_Stretch(share, at_risk, first, last, ended))
                share *= (at_risk - ended) / at_risk
                first, left = last, left - ended
                at_risk -= ended
            at_risk -= tasks
        return found

    def quantile(self, share: float) -> Estimate:
        """Return the duration that a ``share`` of all tasks does not exceed.

        If too few have ended, it is the longest duration so far, to within 0.5 %.
        """
        if not self._ended.count:
            return Estimate()
        sums = self._sums
        for part in self._stretches:
            needed = part.at_risk * (1 - (1 - share) / part.share) - ROUNDING * part.at_risk
            if needed <= part.ended:
                position = max(part.first, bisect_left(sums, sums[part.first] + needed) - 1)
                rank = ceil(sums[part.first] + needed - sums[position])
                return Estimate(self._ended.ranked(position, rank))
        return Estimate(self._ended.firsts()[-1], at_least=True)

    @property
    def lived_per_end(self) -> float:
        """The seconds that all tasks lived, for each that has ended: the mean by Little's law.

        It is not the mean duration unless tasks end equally often at any age, or almost all have ended.
        """
        lived = self._ended.totals()[-1] + sum([age * tasks for age, tasks in self._censored])
        return lived / self._ended.count

    def mean(self) -> Estimate:
        """Return the mean duration.

        Tasks that reach the greatest age that was observed are assumed to live as much longer, on average,
        as `lived_per_end` (B. W. Brown et al., 1974). If more than half of them reach it, the mean is only
        known to be longer than what was observed.
        """
        if not self._ended.count:
            return Estimate()
        totals = self._ended.totals()
        seconds, share = 0.0, 1.0
        for part in self._stretches:
            seconds += part.share * (totals[part.last] - totals[part.first]) / part.at_risk
            share = part.share * (part.at_risk - part.ended) / part.at_risk
        if share > ROUNDING:
            seconds += share * max([self._ended.firsts()[-1], *(age for age, _ in self._censored)])
            if share > 0.5:
                return Estimate(seconds, at_least=True)
            seconds += share * self.lived_per_end
        return Estimate(seconds)
