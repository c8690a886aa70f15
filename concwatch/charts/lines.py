"""The lines of a chart: a series of samples each, with a colour."""

import math
from array import array
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


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
