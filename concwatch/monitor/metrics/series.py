"""The samples of one lane over time, in bounded memory: recent ones whole, older ones as extremes."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from math import inf, isnan, nan
from typing import NamedTuple, Protocol

from concwatch.monitor.metrics.metrics import METRICS, Sample

CHARTED = tuple(
    dict.fromkeys(field for row in METRICS if row.chart for field in (row.field, row.chart.mean) if field)
)
"""The fields of a sample that are kept: those of the metrics with a chart, and the means shown there."""

BACKFILLED = tuple(row.field for row in METRICS if row.chart and row.backfilled)
"""Those that only the next tick determines, for all the time since the last one."""

FINE = 6_000
"""Samples kept whole: ten minutes at 10 Hz."""

BLOCK = 600
"""Samples folded at once, so that folding costs little per sample."""

BUCKET = 100
"""Samples folded into one pair of extremes: ten seconds at 10 Hz."""

COARSE = 18_000
"""Folded points kept: 25 hours at 10 Hz."""


class Samples(Protocol):
    """The samples of a lane, live or recorded, for those who read them."""

    @property
    def band(self) -> "Band | None":
        """What belongs to them if they are the median of several lanes."""
        ...

    @property
    def began(self) -> float:
        """The time of the first sample, infinite before there is one."""
        ...

    def since(self, metric: str, start: float) -> "tuple[array[float], array[float]]":
        """Return the times and values of a metric since ``start``, and the last one before it."""
        ...


class Band(NamedTuple):
    """The minimum, the maximum and the sum of several lanes, at the times of their median."""

    least: Samples
    most: Samples
    total: Samples


class Columns:
    """Times, and one value of each metric at each time; arrays of 8 bytes a number."""

    def __init__(self) -> None:
        self.times = array("d")
        self.values = {metric: array("d") for metric in CHARTED}

    def __len__(self) -> int:
        return len(self.times)

    def drop(self, count: int) -> None:
        """Delete the oldest ``count`` entries."""
        del self.times[:count]
        for column in self.values.values():
            del column[:count]


def fill_back(rates: "array[float]", rss: "array[float]", at: int) -> None:
    """Copy the rate at index ``at`` back into the samples since the last tick, in place.

    Args:
        rates: the rate of each sample, NaN if no tick was received since the sample before.
        rss: bytes of each sample, NaN without a process: the rate is not copied beyond that.
        at: the index of a sample.
    """
    while at > 0 and not isnan(rates[at]) and isnan(rates[at - 1]) and not isnan(rss[at - 1]):
        rates[at - 1] = rates[at]
        at -= 1


def extremes(values: Sequence[float]) -> tuple[float, float]:
    """Return the minimum and the maximum of ``values``; NaN for both if all are NaN.

    ``min`` and ``max`` skip a NaN unless it comes first, so only the first value is checked: this runs over
    hours of samples.
    """
    if values and not isnan(values[0]):
        return min(values), max(values)
    known = [value for value in values if not isnan(value)]
    return (min(known), max(known)) if known else (nan, nan)


class Series:
    """The samples of one lane; `append` takes constant time, memory is at most about 2.5 MiB."""

    band: Band | None = None
    """The minimum and the maximum at the same times, if the samples are those of several lanes."""

    def __init__(self) -> None:
        self._fine = Columns()
        self._coarse = Columns()

    @property
    def began(self) -> float:
        """The time of the oldest sample, infinite before the first."""
        return next((part.times[0] for part in (self._coarse, self._fine) if part.times), inf)

    def append(self, sample: Sample) -> None:
        """Add a sample, later than all before; None becomes NaN, a gap."""
        self._add(sample.time, [getattr(sample, metric) for metric in CHARTED])

    def _add(self, time: float, values: Iterable[float | None]) -> None:
        self._fine.times.append(time)
        for column, value in zip(self._fine.values.values(), values, strict=True):
            column.append(nan if value is None else value)
        for metric in BACKFILLED:
            fill_back(self._fine.values[metric], self._fine.values["rss"], len(self._fine) - 1)
        if len(self._fine) >= FINE + BLOCK:
            self._fold()

    def _fold(self) -> None:
        fine, coarse = self._fine, self._coarse
        for start in range(0, BLOCK, BUCKET):
            end = start + BUCKET
            coarse.times.append(fine.times[start])
            coarse.times.append(fine.times[start + BUCKET // 2])
            for metric in CHARTED:
                coarse.values[metric].extend(extremes(fine.values[metric][start:end]))
        fine.drop(BLOCK)
        if len(coarse) > COARSE:
            coarse.drop(len(coarse) - COARSE + BLOCK)

    def since(self, metric: str, start: float) -> "tuple[array[float], array[float]]":
        """Return copies of the times and values of one metric, from the last sample before ``start`` on."""
        times, values = array("d"), array("d")
        # Newer part first: if it reaches back to the start, the older part is not needed.
        for part in (self._fine, self._coarse):
            first = bisect_left(part.times, start)
            begin = max(0, first - 1)
            times, values = part.times[begin:] + times, part.values[metric][begin:] + values
            if first:
                break
        return times, values

    def last(self, metric: str) -> float:
        """Return the newest value of one metric, NaN if there is none."""
        column = self._fine.values[metric]
        return column[-1] if column else nan

    def __len__(self) -> int:
        return len(self._fine) + len(self._coarse)


class Spread(Series):
    """The median, minimum and maximum of several lanes over time."""

    def __init__(self, total: Samples) -> None:
        """Create the series of lanes whose sum is ``total``."""
        super().__init__()
        self._least, self._most = Series(), Series()
        self.band = Band(self._least, self._most, total)

    def add(self, samples: Sequence[Sample], time: float) -> None:
        """Add the samples of all lanes at one time, later than all before."""
        from statistics import median  # not needed for the first frame

        known = [
            [value for sample in samples if (value := getattr(sample, metric)) is not None]
            for metric in CHARTED
        ]
        for series, choose in ((self._least, min), (self, median), (self._most, max)):
            series._add(time, [choose(found) if found else None for found in known])
