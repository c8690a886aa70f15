"""The figures that a condition can ask about, and how their values are written and read: data."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from concwatch.lab.snapshot import LaneSnapshot, Snapshot
from concwatch.measure.figures import FIGURES
from concwatch.measure.units import BYTES, COUNT, SECONDS, Unit


class LaneFigure(Struct, frozen=True):
    """One figure of a lane."""

    unit: Unit
    of: Callable[[LaneSnapshot], float | None]
    """None while it is not known."""


class LabFigure(Struct, frozen=True):
    """One figure of all lanes together."""

    unit: Unit
    of: Callable[[Snapshot], float | None]


LANE_FIGURES: Mapping[str, LaneFigure] = {
    "target": LaneFigure(COUNT, lambda lane: lane.status.target),
    **{figure.name: LaneFigure(figure.unit, figure.of) for figure in FIGURES},
}
"""By the name that a condition uses behind a lane's: ``asyncio.live``."""

LAB_FIGURES: Mapping[str, LabFigure] = {
    "live": LabFigure(COUNT, lambda lab: sum(lane.live for lane in lab.lanes)),
    "rss": LabFigure(BYTES, lambda lab: lab.total_rss),
    "elapsed": LabFigure(SECONDS, lambda lab: lab.elapsed),
}
"""By the name that a condition uses behind ``total``: ``total.rss``."""
