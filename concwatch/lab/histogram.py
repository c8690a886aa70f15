"""A histogram of durations of bounded size, which returns quantiles."""

import math
from bisect import insort
from collections.abc import Iterable

RATIO = 1.005
"""Ratio of the bounds of a bucket: the error of a quantile is at most 0.5 %."""

LEAST = 1e-6
"""Seconds: the upper bound of the first bucket."""

BUCKETS = 7_200
"""The number of buckets; the last one begins at about 125 years."""

_LOG = math.log(RATIO)


class Histogram:
    """Counts durations in seconds by size."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._order: list[int] = []  # the buckets that are not empty, ascending
        self._sums: dict[int, float] = {}
        self.count = 0
        self._known: dict[float, tuple[int, float | None]] = {}  # share → count and quantile at that count

    def add(self, seconds: Iterable[float]) -> None:
        """Add durations."""
        for value in seconds:
            bucket = 0 if value <= LEAST else min(BUCKETS, 1 + int(math.log(value / LEAST) / _LOG))
            if bucket not in self._counts:
                insort(self._order, bucket)
            self._counts[bucket] = self._counts.get(bucket, 0) + 1
            self._sums[bucket] = self._sums.get(bucket, 0.0) + value
            self.count += 1

    def quantile(self, share: float) -> float | None:
        """Return the duration that a ``share`` of all does not exceed; None if there are none.

        It is the mean of its bucket: equal durations are returned as they are.
        """
        count, value = self._known.get(share, (0, None))
        if count != self.count:
            value = self._quantile(share)
            self._known[share] = self.count, value
        return value

    def _quantile(self, share: float) -> float:
        above = self.count - max(1, math.ceil(share * self.count))  # how many are larger
        for bucket in reversed(self._order):  # mostly, a high quantile is wanted
            above -= self._counts[bucket]
            if above < 0:
                break
        return self._sums[bucket] / self._counts[bucket] if bucket else 0.0
