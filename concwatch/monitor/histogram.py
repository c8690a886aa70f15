"""A histogram of durations of bounded size, which returns quantiles."""

import math
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable

RATIO = 1.005
"""Ratio of the bounds of a bucket: the error of a quantile is at most 0.5 %."""

LEAST = 1e-6
"""Seconds: the upper bound of the first bucket."""

_LOG, _OFFSET = 1 / math.log(RATIO), 1 - math.log(LEAST) / math.log(RATIO)


class Histogram:
    """Counts durations in seconds by size; adding one and reading a quantile takes constant time."""

    def __init__(self) -> None:
        self.count = 0
        self._counts: Counter[int] = Counter()
        self._order: list[int] = []  # the buckets that are not empty, ascending
        self._firsts: dict[int, float] = {}  # bucket → the first duration in it
        # Share → the bucket of its quantile at the last read, and how many durations are in higher ones.
        self._last: dict[float, tuple[int, int]] = {}

    def add(self, seconds: Iterable[float]) -> None:
        """Add durations."""
        values, log = list(seconds), math.log
        if not values:
            return
        buckets = [0 if value <= LEAST else int(log(value) * _LOG + _OFFSET) for value in values]
        for bucket in set(buckets).difference(self._firsts):
            insort(self._order, bucket)
            self._firsts[bucket] = values[buckets.index(bucket)]
        self._counts.update(buckets)
        self.count += len(buckets)
        for share, (last, above) in self._last.items():
            self._last[share] = last, above + sum(map(last.__lt__, buckets))

    def with_weighted(self, seconds: Iterable[tuple[float, int]]) -> "Histogram":
        """Return another one that has more durations, each with how many it stands for."""
        found = Histogram()
        found.count, found._order = self.count, self._order.copy()
        found._counts, found._firsts, found._last = (
            self._counts.copy(),
            self._firsts.copy(),
            self._last.copy(),
        )
        for value, weight in seconds:
            found._add(0 if value <= LEAST else int(math.log(value) * _LOG + _OFFSET), value, weight)
        return found

    def _add(self, bucket: int, first: float, weight: int) -> None:
        if bucket not in self._firsts:
            insort(self._order, bucket)
            self._firsts[bucket] = first
        self._counts[bucket] += weight
        self.count += weight
        for share, (last, above) in self._last.items():
            self._last[share] = last, above + weight * (bucket > last)

    @classmethod
    def merged(cls, histograms: "Iterable[Histogram]") -> "Histogram":
        """Return one with the durations of several."""
        found = cls()
        for one in histograms:
            for bucket, count in one._counts.items():
                found._add(bucket, one._firsts[bucket], count)
        return found

    def quantile(self, share: float) -> float | None:
        """Return the duration that a ``share`` of all does not exceed; None if there are none.

        It is the first one of its bucket: equal durations are returned as they are.
        """
        if not self.count:
            return None
        bucket, above = self._last.get(share, (self._order[-1], 0))
        allowed = self.count - max(1, math.ceil(share * self.count))  # how many are larger
        at = bisect_left(self._order, bucket)
        while above > allowed:
            at += 1
            above -= self._counts[self._order[at]]
        while above + (here := self._counts[self._order[at]]) <= allowed:
            above += here
            at -= 1
        bucket = self._order[at]
        self._last[share] = bucket, above
        return self._firsts[bucket] if bucket else 0.0
