"""The colours of lanes, and of the series of an experiment."""

from collections.abc import Sequence

from concwatch.lab.catalog import CATALOG

ON_DARK = ("#ff7a85", "#ffb454", "#59c9f0", "#a5e065", "#c792ea", "#5ce1c6", "#f78fd0", "#e6db74")
ON_LIGHT = ("#b82037", "#915100", "#0065a2", "#366e00", "#7a35b5", "#006e5a", "#aa287c", "#676100")
"""The contrast of both to the background of every theme is at least 4.5, as WCAG requires of text."""


ON_16_COLORS = ("#ff0000", "#ffff00", "#00ffff", "#00ff00", "#ff00ff", "#ffffff")
"""For a terminal of 16 colours: the bright colours that are readable on black."""


def lane_color(index: int, dark: bool, few: bool = False) -> str:
    """Return the colour of a lane as ``#rrggbb``; after the last colour they repeat.

    Args:
        index: the lane's number, from 0.
        dark: whether the background is dark.
        few: whether the terminal has 16 colours only.
    """
    colors = ON_16_COLORS if few else ON_DARK if dark else ON_LIGHT
    return colors[index % len(colors)]


def series_colors(engines: Sequence[str], lanes: Sequence[str], dark: bool) -> list[str]:
    """Return the colour of each series, ``#rrggbb``, given their engines and those of the monitor's lanes.

    The first series of an engine has the colour of the engine's lane. A second series of the same engine, or
    one of an unknown engine, gets an unused colour.
    """
    order = list(dict.fromkeys([*lanes, *(engine.name for engine in CATALOG)]))
    chosen: list[int | None] = [
        order.index(name) if name in order and name not in engines[:index] else None
        for index, name in enumerate(engines)
    ]
    used = {index % len(ON_DARK) for index in chosen if index is not None}
    unused = [index for index in range(len(ON_DARK)) if index not in used]
    unused += range(len(ON_DARK))
    others = iter(range(len(engines)))
    return [
        lane_color(unused[next(others) % len(unused)] if index is None else index, dark) for index in chosen
    ]
