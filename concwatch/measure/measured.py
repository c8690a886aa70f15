"""Statistics of the values of one metric: median, range, spread, confidence interval."""

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from concwatch.measure.result import Result
from concwatch.monitor.statistics.student import T95, student_t


@dataclass(frozen=True)
class Measured:
    """One or more values of a metric."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Iterable[float | None]) -> "Measured | None":
        """Return the values that are known and finite; None if there are none."""
        known = tuple(value for value in values if value is not None and math.isfinite(value))
        return cls(known) if known else None

    @classmethod
    def of_runs(cls, runs: Iterable[Result], metric: str) -> "Measured | None":
        """Return the values of a metric in the runs that have it; None if none has."""
        return cls.of(run.metrics.get(metric) for run in runs)

    @property
    def median(self) -> float:
        """The median."""
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        """The lowest value."""
        return min(self.values)

    @property
    def high(self) -> float:
        """The highest value."""
        return max(self.values)

    @property
    def count(self) -> int:
        """The number of values: runs, targets reached, or samples."""
        return len(self.values)

    @property
    def spread(self) -> float | None:
        """Highest minus lowest value as a share of the median; None for fewer than two values."""
        return (self.high - self.low) / abs(self.median) if len(self.values) > 1 and self.median else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval of the mean, by Student's t; None for fewer than two values."""
        if self.count < 2:
            return None
        mean, t = statistics.fmean(self.values), student_t(T95, self.count - 1)
        half = t * statistics.stdev(self.values) / self.count**0.5
        return mean - half, mean + half
