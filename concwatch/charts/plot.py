"""All that one chart shows, whoever paints it."""

import math
from array import array
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from concwatch.charts.annotations import Annotation
from concwatch.charts.decimation import Point, crest, decimate
from concwatch.charts.scales import Kind, Scale, linear_scale, log_scale
from concwatch.charts.table import BY_METRIC, ChartSpec
from concwatch.charts.ticks import Across, age_ticks

CREST = 1 / 13
"""Part of a logarithmic chart's width of which a line shows the highest value."""


class Samples(Protocol):
    """One lane's samples over time, of now or of a recording; as `concwatch.lab.series.Series`."""

    @property
    def band(self) -> "tuple[Samples, Samples] | None":
        """The least and the most at the same times, where the samples stand for several lanes."""
        ...

    def since(self, metric: str, start: float) -> "tuple[array[float], array[float]]":
        """Return times and values of one metric from the last one before ``start`` on."""
        ...


class LaneSeries(Struct, frozen=True):
    """One lane's share of the charts."""

    name: str
    series: Samples
    color: str
    """``#rrggbb``"""


class Line(Struct, frozen=True):
    """One series to draw."""

    name: str
    color: str
    """``#rrggbb``"""
    times: Sequence[float]
    """Seconds on any clock, ascending; or whatever else the x axis counts."""
    values: Sequence[float]
    """One for each time; NaN is a gap."""
    mark: str = ""
    """One cell that stands at each point; none for lines of many points."""
    band: tuple[Sequence[float], Sequence[float]] | None = None
    """The least and the most at each time, where the line stands for several: the area between is shaded."""


def lines_of(metric: str, lanes: Sequence[LaneSeries], start: float) -> list[Line]:
    """Return the lines of one metric since ``start``; a lane without any value of it has none."""
    lines = (_line(metric, lane, start) for lane in lanes)
    return [line for line in lines if not all(map(math.isnan, line.values))]


def _line(metric: str, lane: LaneSeries, start: float) -> Line:
    times, values = lane.series.since(metric, start)
    ends = lane.series.band
    band = (ends[0].since(metric, start)[1], ends[1].since(metric, start)[1]) if ends else None
    return Line(lane.name, lane.color, times, values, band=band)


class Plot(Struct, frozen=True):
    """Lines over an x axis, and what is pointed out on it."""

    title: str
    kind: Kind
    """What the values are: how they are written and which of them are round."""
    lines: Sequence[Line] = ()
    """The topmost last."""
    end: float = 0.0
    """The place at the right edge: seconds on the lines' clock, or whatever else the x axis counts."""
    length: float = 60.0
    """From the left edge to the right one."""
    brief: str = ""
    """The title where there is little room; by its words if empty."""
    logarithmic: bool = False
    """Whether the y axis is."""
    across: Across = age_ticks
    """Returns the ticks of the x axis."""
    moments: Sequence[Annotation] = ()
    """What is pointed out on the x axis, the topmost last."""
    cursor: float | None = None
    """The place at which values are read; None for the end."""


def plotted(spec: ChartSpec, lanes: Sequence[LaneSeries], now: float, window: float) -> Plot:
    """Return what a chart shows ``now`` of the last ``window`` seconds, under the title of what it draws."""
    lines = lines_of(spec.metric, lanes, now - window)
    other = lines_of(spec.other, lanes, now - window) if spec.other else []
    if not other:
        return Plot(spec.title, spec.kind, lines, now, window, spec.brief)
    instead = BY_METRIC[spec.other]
    title, brief = (spec.both, "") if lines else (instead.title, instead.brief)
    named = {line.name: line for line in other + lines}
    shown = [named[lane.name] for lane in lanes if lane.name in named]
    return Plot(title, spec.kind, shown, now, window, brief)


class Drawn(Struct, frozen=True):
    """A line as the columns of a chart can show it."""

    line: Line
    points: Sequence[Point]
    band: Sequence[Sequence[Point]]
    """The lower and the upper edge; empty for a line without a band."""


def decimated(plot: Plot, columns: int) -> list[Drawn]:
    """Reduce every line of ``plot`` to what so many columns can show."""

    def reduce(line: Line, values: Sequence[float]) -> list[Point]:
        points = decimate(line.times, values, plot.end - plot.length, plot.end, columns)
        return crest(points, round(CREST * columns)) if plot.logarithmic and not line.mark else points

    return [
        Drawn(line, reduce(line, line.values), [reduce(line, edge) for edge in line.band or ()])
        for line in plot.lines
    ]


def y_scale(plot: Plot, drawn: Sequence[Drawn], rows: int) -> Scale:
    """Return the scale that shows everything drawn on ``rows``."""
    every = [points for each in drawn for points in (each.points, *each.band)]
    shown = [value for points in every for _, value in points if not math.isnan(value)]
    if not plot.logarithmic:
        return linear_scale(plot.kind, max(shown, default=0), rows)
    positive = [value for value in shown if value > 0]
    low, high = (end(positive, default=plot.kind.calm) for end in (min, max))
    return log_scale(plot.kind, low, high, rows)


def stretches(points: Sequence[Point]) -> list[list[Point]]:
    """Return the points between gaps."""
    found: list[list[Point]] = [[]]
    for point in points:
        if math.isnan(point[1]):
            found.append([])
        else:
            found[-1].append(point)
    return [stretch for stretch in found if stretch]
