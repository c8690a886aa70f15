"""What was known at a moment of a recording: the line that held, and series and logs that end there."""

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from concwatch.lab.events import KEPT, Entry, Log
from concwatch.lab.series import METRICS, extremes
from concwatch.recordings.format import Line

STEPS = (1, 10, 100)
"""Samples that one pair of extremes stands for, from one level to the next."""

FINEST = 3_000
"""Samples, or groups of them, that one level returns at most: several for each column of a chart's dots."""

Points = tuple["array[float]", "array[float]"]
"""Times and values."""


class RecordedSeries:
    """The samples of one lane until a moment, read as a `concwatch.lab.series.Series` is.

    Over a long time they are given as extremes, finer than any chart that shows so much can draw.
    """

    band: None = None
    """Recordings hold each lane by itself."""

    def __init__(
        self,
        times: "array[float]",
        columns: "Mapping[str, array[float]]",
        levels: dict[tuple[str, int], Points] | None = None,
        until: float = math.inf,
    ) -> None:
        """Read ``columns``, a value of each of `METRICS` at each of ``times`` (seconds), ``until`` a moment.

        ``levels``, by metric and step, is what has been folded of them so far, shared by all moments.
        """
        self._times = times
        self._columns = columns
        self._levels = {} if levels is None else levels
        self._end = bisect_right(times, until)

    def until(self, moment: float) -> "RecordedSeries":
        """Return the same, until another moment."""
        return RecordedSeries(self._times, self._columns, self._levels, moment)

    def since(self, metric: str, start: float) -> Points:
        """Return times and values of one metric from the last one before ``start`` on; copies."""
        assert metric in METRICS
        times, values = self._times, self._columns[metric]
        begin = max(0, bisect_left(times, start, 0, self._end) - 1)
        step = next((step for step in STEPS if self._end - begin <= FINEST * step), STEPS[-1])
        if step == 1:
            return times[begin : self._end], values[begin : self._end]
        folded_times, folded = self._level(metric, step)
        rest = (self._end - 1) // step * step  # from here on whole: what a lane has now is read off the end
        inner, end = slice(begin // step * 2, rest // step * 2), slice(rest, self._end)
        return folded_times[inner] + times[end], folded[inner] + values[end]

    def _level(self, metric: str, step: int) -> Points:
        """Return the extremes of a metric for each ``step`` samples, folded when they are first asked for."""
        if (metric, step) not in self._levels:
            known, times, values = self._columns[metric].tolist(), array("d"), array("d")
            for start in range(0, len(known) // step * step, step):
                times.extend((self._times[start], self._times[start + step // 2]))
                values.extend(extremes(known[start : start + step]))
            self._levels[metric, step] = times, values
        return self._levels[metric, step]

    def fold(self, metric: str) -> None:
        """Fold a metric ahead, so that the first look at hours of it need not wait."""
        for step in STEPS[1:]:
            self._level(metric, step)

    def value(self, metric: str, index: int) -> float:
        """Return one metric of sample number ``index``, from 0; NaN for what is not known."""
        return self._columns[metric][index]

    def last(self, metric: str) -> float:
        """Return the newest value of one metric, NaN before the first."""
        return self._columns[metric][self._end - 1] if self._end else math.nan

    def __len__(self) -> int:
        return self._end


class HistoryLog(Log[Entry]):
    """The first entries of a log, as many as there had been at a moment."""

    def __init__(self, entries: Sequence[Entry], count: int) -> None:
        """Hold the first ``count`` of ``entries``, which are numbered from 1."""
        super().__init__()
        self._all = entries
        self._count = count

    def since(self, number: int) -> Sequence[Entry]:
        """Return the entries after number ``number``, oldest first, the last `KEPT` at most."""
        return self._all[max(0, number, self._count - KEPT) : self._count]


L = TypeVar("L", bound=Line)


class Timeline(Generic[L]):
    """Lines of one type in the order of their times; those of the same time stay as they came."""

    def __init__(self, lines: Iterable[L]) -> None:
        self.entries = sorted(lines, key=lambda line: line.time)
        self._times = [line.time for line in self.entries]

    def count(self, at: float) -> int:
        """Return how many there had been at ``at``, in seconds."""
        return bisect_right(self._times, at)

    def at(self, at: float) -> L | None:
        """Return the newest at ``at``, in seconds; None before the first."""
        count = self.count(at)
        return self.entries[count - 1] if count else None
