"""The lines of a chart: a series of samples each, with a colour."""

import math
from array import array
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class Samples(Protocol):
    """One lane's samples over time, of now or of a recording; as `concwatch.lab.series.Series`."""

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


def lines_of(metric: str, lanes: Sequence[LaneSeries], start: float) -> list[Line]:
    """Return the lines of one metric since ``start``; a lane without any value of it has none."""
    lines = (Line(lane.name, lane.color, *lane.series.since(metric, start)) for lane in lanes)
    return [line for line in lines if not all(map(math.isnan, line.values))]
