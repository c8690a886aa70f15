"""Reduction of series to what the columns of a chart can show: the cost of drawing follows the columns."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from concwatch.charts.ticks import column_grid

Point = tuple[int, float]
"""A column of dots and the value in it; NaN is a gap."""


def decimate(
    times: Sequence[float], values: Sequence[float], start: float, end: float, columns: int
) -> list[Point]:
    """Reduce a series to the lowest and the highest value of each column, in the order of time.

    A sample never moves to another column as the window moves (see `column_grid`), so the picture scrolls by
    whole columns and does not flicker. NaN and infinity are gaps; the result has a NaN for each gap. The last
    point before the window comes first, with a negative column, so that the line starts at the left edge.
    """
    size, first = column_grid(end, end - start, columns)
    stop = min(bisect_right(times, end), len(values))
    index = begin = bisect_left(times, first * size, 0, stop)
    shown = list(values[begin:stop])  # an array would create a float at each access
    finite = math.isfinite(sum(shown))  # then all of them are
    points: list[Point] = []
    if index and math.isfinite(values[index - 1]):
        points.append((min(-1, math.floor(times[index - 1] / size) - first), values[index - 1]))
    for column in range(columns):
        if index >= stop:
            break
        # The last column has all remaining samples: rounding must not drop the newest one.
        edge = bisect_left(times, (first + column + 1) * size, index, stop) if column < columns - 1 else stop
        if edge > index:
            inside = shown[index - begin : edge - begin]
            for value in _extremes(inside) if finite else _with_gaps(inside):
                points.append((column, value))
            index = edge
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
