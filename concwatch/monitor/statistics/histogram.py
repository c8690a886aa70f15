"""A histogram of durations of bounded size, which returns quantiles."""

import math
from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate

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
        self._totals: defaultdict[int, float] = defaultdict(float)  # bucket → the sum of its durations
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
        totals = self._totals
        for bucket, value in zip(buckets, values, strict=True):
            totals[bucket] += value
        self._counts.update(buckets)
        self.count += len(buckets)
        for share, (last, above) in self._last.items():
            self._last[share] = last, above + sum(map(last.__lt__, buckets))

    def with_weighted(self, seconds: Iterable[tuple[float, int]]) -> "Histogram":
        """Return another one that has more durations, each with how many it stands for."""
        found = Histogram()
        found.count, found._order = self.count, self._order.copy()
        found._counts, found._last = self._counts.copy(), self._last.copy()
        found._firsts, found._totals = self._firsts.copy(), self._totals.copy()
        for value, weight in seconds:
            bucket = 0 if value <= LEAST else int(math.log(value) * _LOG + _OFFSET)
            found._add(bucket, value, value * weight, weight)
        return found

    def _add(self, bucket: int, first: float, total: float, weight: int) -> None:
        if bucket not in self._firsts:
            insort(self._order, bucket)
            self._firsts[bucket] = first
        self._totals[bucket] += total
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
                found._add(bucket, one._firsts[bucket], one._totals[bucket], count)
        return found

    def quantile(self, share: float) -> float | None:
        """Return the duration that a ``share`` of all does not exceed; None if there are none.

        It is the first one of its bucket: equal durations are returned as they are, and it seldom changes.
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

    # For an estimate that gives durations different weights. A bucket is meant by its position.

    def firsts(self) -> Sequence[float]:
        """Return the first duration that was added to each bucket; they ascend."""
        return list(map(self._firsts.__getitem__, self._order))

    def sums(self) -> Sequence[int]:
        """Return how many durations the first 0, 1, … buckets have."""
        return list(accumulate(map(self._counts.__getitem__, self._order), initial=0))

    def totals(self) -> Sequence[float]:
        """Return the sum of the durations in the first 0, 1, … buckets, in seconds."""
        return list(accumulate(map(self._totals.__getitem__, self._order), initial=0.0))

    def ranked(self, position: int, rank: float) -> float:
        """Return the duration of this rank, from 1, in a bucket; accurate to a quarter per cent.

        Those in it are assumed to be spread about their mean, as far as the first one is from it.
        """
        bucket = self._order[position]
        count = self._counts[bucket]
        mean = self._totals[bucket] / count
        share = min(1.0, max(0.0, (rank - 1) / (count - 1))) if count > 1 else 0.5
        return round(mean + abs(mean - self._firsts[bucket]) * (2 * share - 1), 9)
