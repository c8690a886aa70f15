"""Reduction of series to what the columns of a chart can show: the cost of drawing follows the columns."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from msgspec import Struct

from concwatch.charts.ticks import column_grid

MOST_KEPT = 2000
"""Columns in a memo from which on old ones are dropped."""

Point = tuple[int, float]
"""A column of dots and the value in it; NaN is a gap."""


class Drawn(Struct, frozen=True):
    """A drawn series."""

    scale: object
    """What its dots depend on besides the points."""
    first: int
    """The number of the leftmost column."""
    settled: int
    """How many columns from there on will not change any more."""
    dots: tuple[int, ...]


class Memo(Struct):
    """The extremes of the columns of one series that will not change any more.

    Those are the columns that have ended, unless they have a gap with no value after it: a later report may
    still fill that.
    """

    width: float = 0.0
    """The width of a column; another one makes all others invalid."""
    columns: dict[int, tuple[float, ...]] = {}
    """By the number of the column, counted from x value 0."""
    first: int = 0
    """The number of the leftmost column of the last decimation."""
    done: int = 0
    """How many columns from there on were known."""
    points: list[Point] = []
    """The points of those columns."""
    drawn: Drawn | None = None
    """The last drawing."""

    def known(self, width: float, first: int, most: int) -> list[Point]:
        """Return the points of the first ``most`` columns from number ``first`` on, up to an unknown one.

        Drop what is not needed for columns of that ``width``.
        """
        if width != self.width:
            self.width, self.columns, self.drawn = width, {}, None
        elif len(self.columns) > MOST_KEPT:
            self.columns = {number: found for number, found in self.columns.items() if number >= first}
        if first != self.first or not self.columns:
            self.first, self.done, self.points = first, 0, []
        if self.columns.get(first + self.done) is not None:
            found = [*map(self.columns.get, range(first + self.done, first + most))]
            count = found.index(None) if None in found else len(found)
            known = enumerate(found[:count], self.done)
            self.points += [(column, value) for column, kept in known for value in kept or ()]
            self.done += count
        return self.points


def decimate(
    times: Sequence[float],
    values: Sequence[float],
    start: float,
    end: float,
    columns: int,
    memo: Memo | None = None,
    together: int = 1,
) -> list[Point]:
    """Reduce a series to the lowest and the highest value of each column, in the order of time.

    A sample never moves to another column as the window moves (see `column_grid`), so the picture scrolls by
    whole columns, ``together`` at once, and does not flicker. NaN and infinity are gaps; the result has a NaN
    for each gap. The last point before the window comes first, with a negative column, so that the line
    starts at the left edge.

    With ``memo``, which is kept from one call to the next, only columns that may have changed are reduced.
    """
    size, first = column_grid(end, end - start, columns, together)
    stop = min(bisect_right(times, end), len(values))
    index = bisect_left(times, first * size, 0, stop)
    points: list[Point] = []
    if index and math.isfinite(values[index - 1]):
        points.append((min(-1, math.floor(times[index - 1] / size) - first), values[index - 1]))
    known, done = {}, 0
    if memo is not None:
        points += memo.known(size, first, columns - 1)
        known, done = memo.columns, memo.done
    shown: list[float] = []
    begin, finite, settled = -1, False, 0  # `settled`: the index after the last finite value
    moved = True  # whether columns were skipped, so that `index` is not the first sample of the next one
    for column in range(done, columns):
        if column < columns - 1 and (kept := known.get(first + column)) is not None:
            for value in kept:
                points.append((column, value))
            moved = True
            continue
        if moved:
            index, moved = bisect_left(times, (first + column) * size, index, stop), False
            if begin < 0:
                begin, shown = index, list(values[index:stop])  # an array would create a float at each access
                finite = math.isfinite(sum(shown))  # then all of them are
                settled = stop
                while settled > begin and not math.isfinite(shown[settled - begin - 1]):
                    settled -= 1
        if index >= stop:
            break
        # The last column has all remaining samples: rounding must not drop the newest one.
        edge = bisect_left(times, (first + column + 1) * size, index, stop) if column < columns - 1 else stop
        if edge > index:
            inside = shown[index - begin : edge - begin]
            found = _extremes(inside) if finite else _with_gaps(inside)
            for value in found:
                points.append((column, value))
            if memo is not None and edge < stop and (edge < settled or math.isfinite(sum(inside))):
                known[first + column] = found
            index = edge
        elif memo is not None and edge < stop:
            known[first + column] = ()
    return points


def _extremes(values: list[float]) -> tuple[float, ...]:
    """Return the lowest and the highest of ``values`` in their order, or one value if they are equal."""
    low, high = min(values), max(values)
    if low == high:
        return (low,)
    return (low, high) if values.index(low) < values.index(high) else (high, low)


def _with_gaps(values: list[float]) -> tuple[float, ...]:
    """Return the extremes of the finite values, with NaN before or after them for a gap at that end."""
    finite = list(filter(math.isfinite, values))
    if not finite:
        return (math.nan,)
    before = () if math.isfinite(values[0]) else (math.nan,)
    after = () if math.isfinite(values[-1]) else (math.nan,)
    return (*before, *_extremes(finite), *after)


def running_maximum(points: Sequence[Point], reach: int) -> list[Point]:
    """Replace each value by the highest of its column and the ``reach - 1`` columns before it; keep gaps.

    On a logarithmic axis a drop from 10 ms to 1 µs is as high as the chart. Where values alternate, drawing
    all of them would fill the chart; the running maximum is a line.
    """
    found: list[Point] = []
    recent: list[Point] = []
    for column, value in points:
        if math.isnan(value):
            recent = []
            found.append((column, value))
            continue
        recent = [point for point in recent if point[0] > column - reach]
        recent.append((column, value))
        if len(recent) > 1 and found[-1][0] == column:
            found.pop()
        found.append((column, max([value for _, value in recent])))
    return found
