"""The figures that a condition can ask about, and how their values are written and read: data."""

import math
import re
from collections.abc import Callable

from msgspec import Struct

from concwatch.lab.view import LabView, LaneView
from concwatch.units import (
    UNKNOWN,
    format_bytes,
    format_count,
    format_figure,
    format_percent,
    format_rate,
    format_seconds,
    parse_bytes,
    parse_count,
    parse_rate,
    parse_seconds,
)

_NUMBER = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*([x%]?)", re.ASCII)


def _number(text: str, units: dict[str, float], expected: str) -> float:
    found = _NUMBER.fullmatch(text.strip())
    if found is None or found[2] not in units:
        raise ValueError(f'"{text[:40]}": expected {expected}')
    return float(found[1]) * units[found[2]]


def _parse_share(text: str) -> float:
    return _number(text, {"%": 0.01}, 'a share such as "5%"')


def _parse_ratio(text: str) -> float:
    return _number(text, {"": 1.0, "x": 1.0}, 'a number such as "2.5"')


class Kind(Struct, frozen=True):
    """A kind of value."""

    read: Callable[[str], float]
    """Reads it as a person writes it; raises ValueError with one line."""
    tell: Callable[[float], str]
    example: str
    """A value as a person writes it."""


COUNT = Kind(lambda text: float(parse_count(text)), format_count, "10k")
BYTES = Kind(parse_bytes, format_bytes, "2KiB")
RATE = Kind(parse_rate, format_rate, "500/s")
SECONDS = Kind(parse_seconds, format_seconds, "1.5s")
SHARE = Kind(_parse_share, format_percent, "5%")
RATIO = Kind(_parse_ratio, format_figure, "2.5")


class LaneFigure(Struct, frozen=True):
    """One figure of a lane."""

    kind: Kind
    of: Callable[[LaneView], float | None]
    """None while it is not known."""


class LabFigure(Struct, frozen=True):
    """One figure of all lanes together."""

    kind: Kind
    of: Callable[[LabView], float | None]


LANE_FIGURES: dict[str, LaneFigure] = {
    "live": LaneFigure(COUNT, lambda lane: lane.live),
    "target": LaneFigure(COUNT, lambda lane: lane.target),
    "queued": LaneFigure(COUNT, lambda lane: lane.queued),
    "failed": LaneFigure(COUNT, lambda lane: lane.failed),
    "threads": LaneFigure(COUNT, lambda lane: lane.threads),
    "fits": LaneFigure(COUNT, lambda lane: lane.fit.tasks),
    "rss": LaneFigure(BYTES, lambda lane: lane.rss),
    "traced": LaneFigure(BYTES, lambda lane: lane.traced),
    "cost": LaneFigure(BYTES, lambda lane: lane.cost.rss if lane.cost else None),
    "traced_cost": LaneFigure(BYTES, lambda lane: lane.cost.traced if lane.cost else None),
    "ratio": LaneFigure(RATIO, lambda lane: lane.ratio),
    "create_speed": LaneFigure(RATE, lambda lane: lane.create_speed),
    "completion_rate": LaneFigure(RATE, lambda lane: lane.completion_rate),
    "completed_now": LaneFigure(RATE, lambda lane: lane.completed_now),
    "lag": LaneFigure(SECONDS, lambda lane: lane.lag),
    "stalled": LaneFigure(SECONDS, lambda lane: lane.stalled),
    "gc_share": LaneFigure(SHARE, lambda lane: lane.gc_share),
}
"""By the name that a condition uses behind a lane's: ``asyncio.live``."""

LAB_FIGURES: dict[str, LabFigure] = {
    "live": LabFigure(COUNT, lambda lab: sum(lane.live for lane in lab.lanes)),
    "rss": LabFigure(BYTES, lambda lab: lab.total_rss),
    "elapsed": LabFigure(SECONDS, lambda lab: lab.elapsed),
}
"""By the name that a condition uses behind ``total``: ``total.rss``."""


def tell(kind: Kind, value: float | None) -> str:
    """Write a value as a person reads it."""
    return UNKNOWN if value is None or not math.isfinite(value) else kind.tell(value)
