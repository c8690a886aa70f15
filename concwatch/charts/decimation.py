"""Series reduced to what the columns of a chart can show: cost follows the columns, not the samples."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from concwatch.charts.ticks import column_grid

Point = tuple[int, float]
"""A column of dots and the value there; NaN where the line is broken."""


def decimate(
    times: Sequence[float], values: Sequence[float], start: float, end: float, columns: int
) -> list[Point]:
    """Reduce a series to at most one lowest and one highest value for each column, in order of time.

    What falls into a column never changes as the window moves on (see `column_grid`): the picture scrolls
    by whole columns and does not flicker. NaN and infinity are gaps, and a NaN stands where the line is
    broken. The last point before the window comes first, at a column below 0, so that a line can enter from
    the left.
    """
    size, first = column_grid(end, end - start, columns)
    stop = min(bisect_right(times, end), len(values))
    index = begin = bisect_left(times, first * size, 0, stop)
    shown = list(values[begin:stop])  # an array would make a new float of each value at each look
    known = math.isfinite(sum(shown))  # then each of them is
    points: list[Point] = []
    if index and math.isfinite(values[index - 1]):
        points.append((min(-1, math.floor(times[index - 1] / size) - first), values[index - 1]))
    for column in range(columns):
        if index >= stop:
            break
        # The last column takes all that is left: rounding must not push the newest sample out of it.
        edge = bisect_left(times, (first + column + 1) * size, index, stop) if column < columns - 1 else stop
        if edge > index:
            here = shown[index - begin : edge - begin]
            for value in _extremes(here) if known else _with_gaps(here):
                points.append((column, value))
            index = edge
    return points


def _extremes(values: list[float]) -> tuple[float, ...]:
    """Return the lowest and the highest of ``values`` as they came, or the one that is both."""
    low, high = min(values), max(values)
    if low == high:
        return (low,)
    return (low, high) if values.index(low) < values.index(high) else (high, low)


def _with_gaps(values: list[float]) -> tuple[float, ...]:
    """Return the extremes of what is finite, and NaN for a gap at either end."""
    finite = list(filter(math.isfinite, values))
    if not finite:
        return (math.nan,)
    before = () if math.isfinite(values[0]) else (math.nan,)
    after = () if math.isfinite(values[-1]) else (math.nan,)
    return (*before, *_extremes(finite), *after)


def crest(points: Sequence[Point], reach: int) -> list[Point]:
    """Return the highest value of each column and the ``reach - 1`` before it; gaps stay.

    A logarithmic axis draws a fall from 10 ms to 1 µs as high as the chart: where values jump, the highest of
    a few columns are a line, and all of them an area from the floor to the top.
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
