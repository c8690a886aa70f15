"""The samples of one lane over time, in bounded memory: every one for minutes, extremes behind that."""

import math
from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence

METRICS = ("rss", "traced", "heap", "create_rate", "completion_rate", "live", "lag", "cpu")
"""What is kept of each sample: bytes three times, tasks a second twice, tasks, seconds, share of a core."""

FINE = 6_000
"""Samples kept whole: ten minutes at 10 Hz."""

BLOCK = 600
"""Samples that are folded at once, so that folding costs next to nothing a sample."""

BUCKET = 100
"""Samples folded into one pair of extremes: ten seconds at 10 Hz."""

COARSE = 20_000
"""Folded points kept: 27 hours at 10 Hz."""


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


def extremes(values: Sequence[float]) -> tuple[float, float]:
    """Give the least and the greatest of ``values``; NaN for both where all are NaN."""
    known = [value for value in values if not math.isnan(value)]
    return (min(known), max(known)) if known else (math.nan, math.nan)


class Series:
    """One lane's samples; append is constant time, memory is at most about 1.9 MiB."""

    def __init__(self) -> None:
        self._fine = Columns()
        self._coarse = Columns()

    def append(self, time: float, values: Mapping[str, float]) -> None:
        """Add one sample.

        Args:
            time: seconds, later than all before.
            values: what is known, by metric; what is missing becomes NaN, a gap.
        """
        self._fine.times.append(time)
        for metric, column in self._fine.values.items():
            column.append(values.get(metric, math.nan))
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
        """Give times and values of one metric from the last one before ``start`` on; copies."""
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
        """Give the newest value of one metric, NaN before the first."""
        column = self._fine.values[metric]
        return column[-1] if column else math.nan

    def __len__(self) -> int:
        return len(self._fine) + len(self._coarse)
