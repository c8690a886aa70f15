"""Durations in a histogram of constant size, from which quantiles are read."""

import math
from collections.abc import Iterable

RATIO = 1.02
"""Each bucket's upper end over its lower one: a quantile is at most 1 % off."""

LEAST = 1e-6
"""Seconds: the upper end of the first bucket."""

BUCKETS = 1_800
"""Buckets at most, the last of which begins at some 90 years."""

_LOG = math.log(RATIO)


class Histogram:
    """Counts seconds by size."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self.count = 0
        self._known: dict[float, tuple[int, float | None]] = {}  # quantiles, and of how many they were

    def add(self, seconds: Iterable[float]) -> None:
        """Count each of ``seconds``."""
        for value in seconds:
            bucket = 0 if value <= LEAST else min(BUCKETS, 1 + int(math.log(value / LEAST) / _LOG))
            self._counts[bucket] = self._counts.get(bucket, 0) + 1
            self.count += 1

    def quantile(self, share: float) -> float | None:
        """Return the seconds that ``share`` of what was counted do not exceed; None for nothing."""
        count, value = self._known.get(share, (0, None))
        if count != self.count:
            value = self._quantile(share)
            self._known[share] = self.count, value
        return value

    def _quantile(self, share: float) -> float:
        rank = max(1, math.ceil(share * self.count))
        for bucket in sorted(self._counts):
            rank -= self._counts[bucket]
            if rank <= 0:
                break
        return float(LEAST * RATIO ** (bucket - 0.5)) if bucket else 0.0
