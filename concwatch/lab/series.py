"""The samples of one lane over time, in bounded memory: every one for minutes, extremes behind that."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from math import inf, isnan, nan
from statistics import median

from concwatch.lab.snapshot import Sample

RATES = ("created_per_second", "completed_per_second")
"""What is known only when the next tick comes, and then of all the time since the last one."""

METRICS = (
    "rss", "traced", "heap", *RATES, "live", "lag", "cpu", "switches_per_second", "duration", "retained",
    "threads",
)  # fmt: skip
"""What is kept of each sample: bytes (3), tasks a second (2), tasks, seconds, share of a core, switches,
seconds, bytes, threads."""

FINE = 6_000
"""Samples kept whole: ten minutes at 10 Hz."""

BLOCK = 600
"""Samples that are folded at once, so that folding costs next to nothing a sample."""

BUCKET = 100
"""Samples folded into one pair of extremes: ten seconds at 10 Hz."""

COARSE = 18_000
"""Folded points kept: 25 hours at 10 Hz."""


class Columns:
    """Times and one value of each metric at each; plain arrays of 8 bytes a number."""

    def __init__(self) -> None:
        self.times = array("d")
        self.values = {metric: array("d") for metric in METRICS}

    def __len__(self) -> int:
        return len(self.times)

    def drop(self, count: int) -> None:
        """Forget the oldest ``count``."""
        del self.times[:count]
        for column in self.values.values():
            del column[:count]


def fill_back(rates: "array[float]", rss: "array[float]", at: int) -> None:
    """Set in the samples since the last tick before number ``at`` the rate that came with that one, in place.

    Args:
        rates: a rate for each sample, NaN where no tick had come since the one before.
        rss: bytes at each sample, NaN where there was no process: further back the rate does not reach.
        at: the number of a sample, from 0.
    """
    while at > 0 and not isnan(rates[at]) and isnan(rates[at - 1]) and not isnan(rss[at - 1]):
        rates[at - 1] = rates[at]
        at -= 1


def extremes(values: Sequence[float]) -> tuple[float, float]:
    """Return the least and the greatest of ``values``; NaN for both where all are NaN.

    ``min`` and ``max`` pass over a NaN unless it comes first, so only there is one looked for: this runs
    over hours of samples.
    """
    if values and not isnan(values[0]):
        return min(values), max(values)
    known = [value for value in values if not isnan(value)]
    return (min(known), max(known)) if known else (nan, nan)


class Series:
    """One lane's samples; append is constant time, memory is at most about 2.5 MiB."""

    band: "tuple[Series, Series] | None" = None
    """The least and the most at the same times, where the samples stand for several lanes."""

    def __init__(self) -> None:
        self._fine = Columns()
        self._coarse = Columns()

    @property
    def began(self) -> float:
        """The time of the oldest sample, infinite before the first."""
        return next((part.times[0] for part in (self._coarse, self._fine) if part.times), inf)

    def append(self, sample: Sample) -> None:
        """Add one sample, later than all before; what is not known becomes NaN, a gap."""
        self._add(sample.time, [getattr(sample, metric) for metric in METRICS])

    def _add(self, time: float, values: Iterable[float | None]) -> None:
        self._fine.times.append(time)
        for column, value in zip(self._fine.values.values(), values, strict=True):
            column.append(nan if value is None else value)
        for metric in RATES:
            fill_back(self._fine.values[metric], self._fine.values["rss"], len(self._fine) - 1)
        if len(self._fine) >= FINE + BLOCK:
            self._fold()

    def _fold(self) -> None:
        fine, coarse = self._fine, self._coarse
        for start in range(0, BLOCK, BUCKET):
            end = start + BUCKET
            coarse.times.append(fine.times[start])
            coarse.times.append(fine.times[start + BUCKET // 2])
            for metric in METRICS:
                coarse.values[metric].extend(extremes(fine.values[metric][start:end]))
        fine.drop(BLOCK)
        if len(coarse) > COARSE:
            coarse.drop(len(coarse) - COARSE + BLOCK)

    def since(self, metric: str, start: float) -> "tuple[array[float], array[float]]":
        """Return times and values of one metric from the last one before ``start`` on; copies."""
        times, values = array("d"), array("d")
        # The newer part first: where it reaches back far enough nothing of the older one is wanted.
        for part in (self._fine, self._coarse):
            first = bisect_left(part.times, start)
            begin = max(0, first - 1)
            times, values = part.times[begin:] + times, part.values[metric][begin:] + values
            if first:
                break
        return times, values

    def last(self, metric: str) -> float:
        """Return the newest value of one metric, NaN before the first."""
        column = self._fine.values[metric]
        return column[-1] if column else nan

    def __len__(self) -> int:
        return len(self._fine) + len(self._coarse)


class Spread(Series):
    """The median of several lanes over time, and between which values all of them lie."""

    def __init__(self) -> None:
        super().__init__()
        self._least, self._most = Series(), Series()
        self.band = self._least, self._most

    def take(self, samples: Sequence[Sample], time: float) -> None:
        """Add the samples of all lanes at one time, later than all before."""
        known = [
            [value for sample in samples if (value := getattr(sample, metric)) is not None]
            for metric in METRICS
        ]
        for series, choose in ((self._least, min), (self, median), (self._most, max)):
            series._add(time, [choose(found) if found else None for found in known])
