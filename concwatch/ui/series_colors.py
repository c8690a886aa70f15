"""The colours of an experiment's series: those of the lanes, wherever there is one for the engine."""

from collections.abc import Sequence

from textual.color import Color

from concwatch.lab.catalog import CATALOG
from concwatch.ui.palette import ON_DARK, lane_color

PUBLISHED = 0.55
"""How far a published figure's colour lies on the way from the background to the series' own."""


def engine_order(lanes: Sequence[str]) -> list[str]:
    """List all engines such that those with a lane come first, as the monitor numbers them."""
    return list(dict.fromkeys([*lanes, *(engine.name for engine in CATALOG)]))


def series_colors(engines: Sequence[str], lanes: Sequence[str], dark: bool) -> list[str]:
    """Return the colour of each series, ``#rrggbb``.

    The first series of an engine has its lane's colour. A second one of the same engine, or one of an engine
    that is not there yet, takes a colour that is left.

    Args:
        engines: the engine of each series.
        lanes: the engines of the monitor's lanes, in order.
        dark: whether the background is.
    """
    order = engine_order(lanes)
    chosen: list[int | None] = [
        order.index(name) if name in order and name not in engines[:index] else None
        for index, name in enumerate(engines)
    ]
    taken = {index % len(ON_DARK) for index in chosen if index is not None}
    left = [index for index in range(len(ON_DARK)) if index not in taken]
    left += range(len(ON_DARK))
    unnamed = iter(range(len(engines)))
    return [lane_color(left[next(unnamed) % len(left)] if index is None else index, dark) for index in chosen]


def dimmed(color: str, background: Color) -> str:
    """Return the shade in which a published figure stands beside the same in ``color``."""
    return background.blend(Color.parse(color), PUBLISHED, alpha=1.0).hex6.lower()
