"""What was known until a moment of a recording: series and logs that end there."""

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from concwatch.lab.events import KEPT, Entry, Log
from concwatch.lab.series import BUCKET, FINE, METRICS, extremes


def quick_extremes(values: list[float]) -> tuple[float, float]:
    """Give the least and the greatest of ``values``; NaN for both where all are NaN.

    ``min`` and ``max`` pass over a NaN unless it comes first, so only there is one looked for: this runs
    over hours of samples.
    """
    return extremes(values) if math.isnan(values[0]) else (min(values), max(values))


class FoldedColumn:
    """One metric of one lane: the extremes of each bucket, folded when they are first asked for."""

    def __init__(self, times: "array[float]", values: "array[float]") -> None:
        known = values.tolist()
        buckets = len(values) // BUCKET
        self.times = array("d")
        self.values = array("d")
        for start in range(0, buckets * BUCKET, BUCKET):
            self.times.extend((times[start], times[start + BUCKET // 2]))
            self.values.extend(quick_extremes(known[start : start + BUCKET]))


class RecordedSeries:
    """The samples of one lane until a moment, read as a `concwatch.lab.series.Series` is.

    The newest `FINE` samples before the moment are given whole, what is older as extremes.
    """

    def __init__(
        self,
        times: "array[float]",
        columns: "Mapping[str, array[float]]",
        folded: dict[str, FoldedColumn] | None = None,
        until: float = math.inf,
    ) -> None:
        """Read ``columns`` at ``times``, in seconds.

        Args:
            times: when each sample was taken.
            columns: at least one value a sample of each of `METRICS`.
            folded: what has been folded of them so far, shared by all moments.
            until: the moment; what comes after it is left out.
        """
        self._times = times
        self._columns = columns
        self._folded = {} if folded is None else folded
        self._end = bisect_right(times, until)

    def until(self, moment: float) -> "RecordedSeries":
        """Give the same, until another moment."""
        return RecordedSeries(self._times, self._columns, self._folded, moment)

    def since(self, metric: str, start: float) -> "tuple[array[float], array[float]]":
        """Give times and values of one metric from the last one before ``start`` on; copies."""
        assert metric in METRICS
        times, values = self._times, self._columns[metric]
        begin = max(0, bisect_left(times, start, 0, self._end) - 1)
        fine = max(begin, (self._end - FINE) // BUCKET * BUCKET)
        if fine == begin:
            return times[begin : self._end], values[begin : self._end]
        if metric not in self._folded:
            self._folded[metric] = FoldedColumn(times, values)
        folded = self._folded[metric]
        first, last = begin // BUCKET * 2, fine // BUCKET * 2
        return (
            folded.times[first:last] + times[fine : self._end],
            folded.values[first:last] + values[fine : self._end],
        )

    def last(self, metric: str) -> float:
        """Give the newest value of one metric, NaN before the first."""
        return self._columns[metric][self._end - 1] if self._end else math.nan

    def __len__(self) -> int:
        return self._end


class PastLog(Log[Entry]):
    """The first entries of a log, as many as there had been at a moment."""

    def __init__(self, entries: Sequence[Entry], count: int) -> None:
        """Give the first ``count`` of ``entries``, which are numbered from 1."""
        super().__init__()
        self._all = entries
        self._count = count

    def append(self, entry: Entry) -> None:
        """Refuse: the past is written.

        Raises:
            TypeError: always.
        """
        raise TypeError("a recording cannot be added to")

    def since(self, number: int) -> Sequence[Entry]:
        """Give the entries after number ``number``, oldest first, the last `KEPT` at most."""
        return self._all[max(0, number, self._count - KEPT) : self._count]
