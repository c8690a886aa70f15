"""The values of one figure, taken together: median, range, spread, interval."""

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from concwatch.measure.result import Result

_T = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
"""Student's t for a 95 % interval, by the number of values less two; of more values the last is a little
wide.
"""


@dataclass(frozen=True)
class Measured:
    """One value or more."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Iterable[float | None]) -> "Measured | None":
        """Take some values, of which those that are not known or not finite are left out; None for none."""
        known = tuple(value for value in values if value is not None and math.isfinite(value))
        return cls(known) if known else None

    @classmethod
    def of_runs(cls, runs: Iterable[Result], figure: str) -> "Measured | None":
        """Take a figure of each run that has it; None for none."""
        return cls.of(run.figures.get(figure) for run in runs)

    @property
    def median(self) -> float:
        """Return the median."""
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        """Return the lowest value."""
        return min(self.values)

    @property
    def high(self) -> float:
        """Return the highest value."""
        return max(self.values)

    @property
    def count(self) -> int:
        """Return how many values there are: runs, targets reached, or samples."""
        return len(self.values)

    @property
    def spread(self) -> float | None:
        """Return the distance from lowest to highest as a share of the median; None for fewer than two."""
        return (self.high - self.low) / abs(self.median) if self.count > 1 and self.median else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the 95 % interval of the mean, by Student's t; None for fewer than two values."""
        if self.count < 2:
            return None
        mean, t = statistics.fmean(self.values), _T[min(self.count, len(_T) + 1) - 2]
        half = t * statistics.stdev(self.values) / self.count**0.5
        return mean - half, mean + half
