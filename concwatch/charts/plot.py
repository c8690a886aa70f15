"""The data of one chart, for every painter: its lines, their decimation, and its y axis."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from concwatch.charts.annotations import Annotation
from concwatch.charts.cost import FIRST, LaneCost, between
from concwatch.charts.decimation import Memo, Point, decimate, running_maximum
from concwatch.charts.scales import Scale, linear_scale, log_scale
from concwatch.charts.table import BY_METRIC, COST, ChartSpec
from concwatch.charts.ticks import XTicks, age_ticks, column_grid, size_ticks
from concwatch.monitor.metrics.series import Samples, extremes
from concwatch.monitor.metrics.unit import Unit
from concwatch.portable.protocol.units import format_count

PEAK_SHARE = 1 / 13
"""On a logarithmic axis, the part of the width over which lines show their running maximum."""


LOWEST_SIZE, LEAST_SIZES = 0.99, 4.0
"""The usual left end, and least right end, of an axis of tasks: their decimal logarithms."""

GROWN = 1.5
"""The ratio of the last memory of a curve to its first from which on it says something about tasks."""

AHEAD = 5
"""The minimum ratio of the end of the axis to the number of live tasks."""


class LaneSeries(Struct, frozen=True):
    """A lane as the charts draw it."""

    name: str
    series: Samples
    color: str
    """``#rrggbb``"""
    number: int = 0
    """Its number on its card and key; 0 without one."""
    top: bool = False
    """Whether it lies on top of the others, with the area below it filled."""
    cost: LaneCost | None = None
    """What its tasks cost; None if that cannot be known."""
    memos: dict[str, Memo] | None = None
    """By metric: what is remembered of its decimated series, from one frame to the next."""


class Line(Struct, frozen=True):
    """A series to draw."""

    name: str
    color: str
    """``#rrggbb``"""
    times: Sequence[float]
    """Ascending x values: seconds on any clock, or another unit."""
    values: Sequence[float]
    """One for each time; NaN is a gap."""
    mark: str = ""
    """A character to draw at each point; empty for lines of many points."""
    band: tuple[Sequence[float], Sequence[float]] | None = None
    """The minimum and the maximum at each time, of a line that combines several; shaded in between."""
    number: int = 0
    """The number of its lane; 0 without one."""
    top: bool = False
    """Whether it lies on top of the others, with the area below it filled."""
    dashed: bool = False
    memo: Memo | None = None
    """What is remembered of the decimated line, from one frame to the next."""
    value: str = ""
    """The value beside its name, if that is not the one at its end."""
    means: Sequence[float] = ()
    """The values to be read as numbers, at the same times, if the others are of too short a time."""


def lines_of(metric: str, lanes: Sequence[LaneSeries], start: float) -> list[Line]:
    """Return the line of each lane that has values of ``metric`` since ``start``."""
    lines = (_line(metric, lane, start) for lane in lanes)
    return [line for line in lines if not all(map(math.isnan, line.values))]


def _line(metric: str, lane: LaneSeries, start: float) -> Line:
    times, values = lane.series.since(metric, start)
    ends = lane.series.band
    band = (ends.least.since(metric, start)[1], ends.most.since(metric, start)[1]) if ends else None
    memo = None if lane.memos is None else lane.memos.setdefault(metric, Memo())
    mean = BY_METRIC[metric].mean
    return Line(
        lane.name,
        lane.color,
        times,
        values,
        band=band,
        number=lane.number,
        top=lane.top,
        memo=memo,
        means=lane.series.since(mean, start)[1] if mean else (),
    )


class Plot(Struct, frozen=True):
    """Lines over an x axis, and annotations."""

    title: str
    unit: Unit
    """The unit of the values."""
    lines: Sequence[Line] = ()
    end: float = 0.0
    """The x value at the right edge: seconds on the lines' clock, or another unit."""
    length: float = 60.0
    """The length of the x axis."""
    short_title: str = ""
    """The title for a narrow chart; its first words if empty."""
    logarithmic: bool = False
    """Whether the y axis is logarithmic."""
    x_ticks: XTicks = age_ticks
    """Returns the ticks of the x axis."""
    over_time: bool = True
    """Whether x values are times; on other axes there is no cursor."""
    value_of: str = ""
    """What the values beside names are of one of, such as "task", if not of the line's end."""
    names: Sequence[str] = ()
    """The names that the labels must have room for, so that it does not change as lines come and go."""
    annotations: Sequence[Annotation] = ()
    """The topmost last."""
    cursor: float | None = None
    """The x value at which values are read; None for the end."""

    @property
    def is_empty(self) -> bool:
        """Whether it has no values but 0."""
        start = self.end - self.length
        ends = (
            extremes(line.values[bisect_left(line.times, start) if self.over_time else 0 :])
            for line in self.lines
        )
        return not any(low or high for low, high in ends if not math.isnan(high))


def make_plot(spec: ChartSpec, lanes: Sequence[LaneSeries], now: float, window: float) -> Plot:
    """Return the plot of a chart: the last ``window`` seconds up to ``now``.

    Lanes without values of its metric are drawn with the alternative metric, and the title says so.
    """
    if spec.metric == COST:
        return _cost_plot(spec, lanes)
    lines = lines_of(spec.metric, lanes, now - window)
    other = lines_of(spec.alternative, lanes, now - window) if spec.alternative else []
    title, brief = spec.title, spec.short_title
    if other:
        instead = BY_METRIC[spec.alternative]
        title, brief = (spec.combined_title, "") if lines else (instead.title, instead.short_title)
        named = {line.name: line for line in other + lines}
        lines = [named[lane.name] for lane in lanes if lane.name in named]
    return Plot(title, spec.unit, lines, now, window, brief, names=[lane.name for lane in lanes])


def _cost_plot(spec: ChartSpec, lanes: Sequence[LaneSeries]) -> Plot:
    """Return the plot of the memory that tasks have added over their number, both axes logarithmic.

    Each lane has a curve of its growth, dashed on to the limit that it will meet; ``●`` is where it is now,
    ``×`` the limit, and ``○`` where it would be with the tasks that its slider is held at.
    """
    costs = [(lane, lane.cost) for lane in lanes if lane.cost is not None and _tells(lane.cost)]
    now = [point[0] for _, cost in costs for point in (cost.now, cost.ghost) if point]
    most = max([*now, *(cost.curve[-1][0] for _, cost in costs if cost.curve)], default=0)
    start = min(LOWEST_SIZE, math.floor(math.log10(max(1.0, min(now, default=FIRST)))) - 0.01)
    end = max(LEAST_SIZES, math.ceil(math.log10(max(1.0, most * AHEAD))))
    lines: list[Line] = []
    marks: list[Annotation] = []
    for lane, cost in costs:
        add = partial(Line, "", lane.color, top=lane.top)
        value = spec.unit.short(cost.per_task) if cost.per_task else " "
        lines += _path(cost.curve, Line, lane.name, lane.color, number=lane.number, top=lane.top, value=value)
        for ends in filter(None, (cost.behind, cost.ahead)):
            last = min(ends[1][0], 10**end)
            if last > ends[0][0]:
                lines += _path((ends[0], (last, between(ends, last))), add, dashed=True)
        if cost.ahead and cost.fits <= 10**end:
            lines += _path(cost.ahead[1:], add, mark="×")
            if lane.top:
                marks.append(Annotation(math.log10(cost.fits), lane.color, format_count(cost.fits)))
        for point, mark in ((cost.now, "●"), (cost.ghost, "○")):
            lines += _path(filter(None, [point]), add, mark=mark)
    return Plot(
        spec.title,
        spec.unit,
        lines,
        end + 0.01,
        end + 0.01 - start,
        spec.short_title,
        logarithmic=True,
        x_ticks=size_ticks,
        over_time=False,
        value_of="task",
        names=[lane.name for lane in lanes],
        annotations=marks,
    )


def _tells(cost: LaneCost) -> bool:
    """Return whether a curve is worth a chart: a forecast, or memory that has grown with the tasks."""
    return bool(cost.fits or cost.ahead or (cost.curve and cost.curve[-1][1] >= GROWN * cost.curve[0][1]))


def _path(
    points: Iterable[tuple[float, float]], make: Callable[..., Line], *args: str, **how: Any
) -> list[Line]:
    """Return the line through points of tasks and bytes, over the logarithm of the tasks; none if empty."""
    points = list(points)
    places = [math.log10(tasks) for tasks, _ in points]
    return [make(*args, times=places, values=[memory for _, memory in points], **how)] if points else []


class DecimatedLine(Struct, frozen=True):
    """A line reduced to the columns of a chart."""

    line: Line
    points: Sequence[Point]
    band: Sequence[Sequence[Point]]
    """The lower and the upper edge; empty for a line without a band."""


def decimate_lines(
    plot: Plot, columns: int, together: int = 1, *, remember: bool = False
) -> list[DecimatedLine]:
    """Reduce every line of ``plot`` to ``columns`` columns of dots, which scroll ``together`` at once.

    With ``remember``, the columns that will not change any more are those of the last time.
    """

    def reduce(line: Line, values: Sequence[float], memo: Memo | None = None) -> list[Point]:
        start = plot.end - plot.length
        points = decimate(line.times, values, start, plot.end, columns, memo if remember else None, together)
        if plot.over_time:
            # A line that reaches the end is continued to the right edge of the last cell.
            size, first = column_grid(plot.end, plot.length, columns, together)
            if points and math.floor(plot.end / size) - 1 <= first + points[-1][0] < first + columns - 1:
                points.append((columns - 1, points[-1][1]))
            if plot.logarithmic:
                return running_maximum(points, round(PEAK_SHARE * columns))
        return points

    return [
        DecimatedLine(
            line, reduce(line, line.values, line.memo), [reduce(line, edge) for edge in line.band or ()]
        )
        for line in plot.lines
    ]


def shown_values(drawn: Sequence[DecimatedLine]) -> list[float]:
    """Return the known values of all lines and bands."""
    found: list[float] = []
    for each in drawn:
        for points in (each.points, *each.band):
            found += [value for _, value in points if value == value]  # not NaN
    return found


def y_scale(plot: Plot, shown: Sequence[float], rows: int) -> Scale:
    """Return the y axis that shows all of ``shown`` on ``rows`` rows."""
    if not plot.logarithmic:
        return linear_scale(plot.unit, max(shown, default=0), rows)
    positive = [value for value in shown if value > 0]
    low, high = (end(positive, default=plot.unit.least_range) for end in (min, max))
    return log_scale(plot.unit, low, high, rows)


def split_at_gaps(points: Sequence[Point]) -> list[list[Point]]:
    """Split points at NaN values into parts without gaps."""
    found: list[list[Point]] = [[]]
    for point in points:
        if math.isnan(point[1]):
            found.append([])
        else:
            found[-1].append(point)
    return [stretch for stretch in found if stretch]
