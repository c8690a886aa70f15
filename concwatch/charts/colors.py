"""The colours of lanes, and of series that are drawn beside them."""

from collections.abc import Sequence

from concwatch.lab.catalog import CATALOG

ON_DARK = ("#ff7a85", "#ffb454", "#59c9f0", "#a5e065", "#c792ea", "#5ce1c6", "#f78fd0", "#e6db74")
ON_LIGHT = ("#b82037", "#915100", "#0065a2", "#366e00", "#7a35b5", "#006e5a", "#aa287c", "#676100")
"""Both stand out from the background of every theme as text has to: by 4.5."""


OF_FEW = ("#ff0000", "#ffff00", "#00ffff", "#00ff00", "#ff00ff", "#ffffff")
"""For a terminal of 16 colours: the bright ones that stand out from black."""


def lane_color(index: int, dark: bool, few: bool = False) -> str:
    """Return the colour of lane ``index`` as ``#rrggbb``; after the last they come again."""
    colors = OF_FEW if few else ON_DARK if dark else ON_LIGHT
    return colors[index % len(colors)]


def engine_order(lanes: Sequence[str]) -> list[str]:
    """List all engines such that those with a lane come first, as the monitor numbers them."""
    return list(dict.fromkeys([*lanes, *(engine.name for engine in CATALOG)]))


def series_colors(engines: Sequence[str], lanes: Sequence[str], dark: bool) -> list[str]:
    """Return the colour of each series, ``#rrggbb``, given their engines and those of the monitor's lanes.

    The first series of an engine has its lane's colour. A second one of the same engine, or one of an engine
    that is not there yet, takes a colour that is left.
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
