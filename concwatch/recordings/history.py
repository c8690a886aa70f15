"""Views of a recording up to a moment: series, logs, and the line that is valid then."""

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from concwatch.monitor.metrics.series import CHARTED, extremes
from concwatch.monitor.verdicts.events import KEPT, Entry, Log
from concwatch.recordings.format import Line

STEPS = (1, 10, 100)
"""Samples per pair of extremes, for each level of detail."""

MAX_STEPS = 3_000
"""Most samples, or pairs of extremes, of one series: several for each column of a chart's dots."""

Points = tuple["array[float]", "array[float]"]
"""Times and values."""


class RecordedSeries:
    """The samples of one lane up to a moment, as `concwatch.monitor.metrics.series.Series` has them.

    A long series is reduced to its extremes, which are still finer than a chart can draw.
    """

    band: None = None
    """Recorded lanes are never merged into a band."""
    began = 0.0
    """Times are in seconds since the beginning of the recording."""

    def __init__(
        self,
        times: "array[float]",
        columns: "Mapping[str, array[float]]",
        levels: dict[tuple[str, int], Points] | None = None,
        until: float = math.inf,
    ) -> None:
        """View the samples up to ``until``; ``levels``, the extremes so far, are shared by all views."""
        self._times = times
        self._columns = columns
        self._levels = {} if levels is None else levels
        self._end = bisect_right(times, until)

    def until(self, moment: float) -> "RecordedSeries":
        """Return the view up to another moment."""
        return RecordedSeries(self._times, self._columns, self._levels, moment)

    def since(self, metric: str, start: float) -> Points:
        """Return copies of the times and values of a metric from the last sample before ``start`` on."""
        assert metric in CHARTED
        times, values = self._times, self._columns[metric]
        begin = max(0, bisect_left(times, start, 0, self._end) - 1)
        step = next((step for step in STEPS if self._end - begin <= MAX_STEPS * step), STEPS[-1])
        if step == 1:
            return times[begin : self._end], values[begin : self._end]
        extreme_times, extreme_values = self._level(metric, step)
        rest = (self._end - 1) // step * step  # the last samples stay whole: charts show the newest value
        inner, end = slice(begin // step * 2, rest // step * 2), slice(rest, self._end)
        return extreme_times[inner] + times[end], extreme_values[inner] + values[end]

    def _level(self, metric: str, step: int) -> Points:
        """Return the extremes of every ``step`` samples of a metric, computed on first use."""
        if (metric, step) not in self._levels:
            known, times, values = self._columns[metric].tolist(), array("d"), array("d")
            for start in range(0, len(known) // step * step, step):
                times.extend((self._times[start], self._times[start + step // 2]))
                values.extend(extremes(known[start : start + step]))
            self._levels[metric, step] = times, values
        return self._levels[metric, step]

    def precompute(self, metric: str) -> None:
        """Compute the extremes of a metric, so that its first long chart need not wait."""
        for step in STEPS[1:]:
            self._level(metric, step)

    def value(self, metric: str, index: int) -> float:
        """Return one metric of sample ``index`` (0-based), or NaN."""
        return self._columns[metric][index]

    def last(self, metric: str) -> float:
        """Return the newest value of one metric, or NaN."""
        return self._columns[metric][self._end - 1] if self._end else math.nan

    def __len__(self) -> int:
        return self._end


class HistoryLog(Log[Entry]):
    """A log as it was at a moment: the first ``count`` of its entries."""

    def __init__(self, entries: Sequence[Entry], count: int) -> None:
        super().__init__()
        self._all = entries
        self._count = count

    def since(self, number: int) -> Sequence[Entry]:
        """Return the entries after number ``number`` (1-based), oldest first, at most the last `KEPT`."""
        return self._all[max(0, number, self._count - KEPT) : self._count]


L = TypeVar("L", bound=Line)


class Timeline(Generic[L]):
    """Lines of one type, sorted by time; lines of the same time keep their order."""

    def __init__(self, lines: Iterable[L]) -> None:
        self.entries = sorted(lines, key=lambda line: line.time)
        self._times = [line.time for line in self.entries]

    def count(self, at: float) -> int:
        """Return the number of lines up to ``at`` seconds."""
        return bisect_right(self._times, at)

    def at(self, at: float) -> L | None:
        """Return the last line up to ``at`` seconds, or None."""
        count = self.count(at)
        return self.entries[count - 1] if count else None
