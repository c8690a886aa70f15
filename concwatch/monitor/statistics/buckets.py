"""How many durations were no longer than each of some fixed bounds, as Prometheus keeps histograms."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate

from msgspec import Struct

BOUNDS = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
)  # fmt: skip
"""Seconds: the upper bounds of all buckets but the last."""


class Buckets(Struct, frozen=True, gc=False):
    """Durations in seconds, counted by size. It does not change."""

    counts: tuple[int, ...] = (0,) * (len(BOUNDS) + 1)
    """Those in each bucket: longer than the bound before, and no longer than its own."""
    seconds: float = 0.0
    """Their sum."""

    def __add__(self, other: "Buckets") -> "Buckets":
        """Return the durations of both."""
        return Buckets(
            tuple([here + there for here, there in zip(self.counts, other.counts, strict=True)]),
            self.seconds + other.seconds,
        )

    def with_weighted(self, durations: Iterable[tuple[float, int]]) -> "Buckets":
        """Return the same with more durations, each with how many it stands for."""
        counts, seconds = list(self.counts), self.seconds
        for value, weight in durations:
            counts[bisect_left(BOUNDS, value)] += weight
            seconds += value * weight
        return Buckets(tuple(counts), seconds)

    def since(self, before: "Buckets") -> "Buckets":
        """Return the durations that were added since ``before``; all if it has more, as after a restart."""
        counts = tuple([now - then for now, then in zip(self.counts, before.counts, strict=True)])
        return self if min(counts) < 0 else Buckets(counts, self.seconds - before.seconds)

    @property
    def cumulative(self) -> Sequence[int]:
        """How many are no longer than each bound, and last how many there are."""
        return list(accumulate(self.counts))


EMPTY = Buckets()
"""No durations."""
