"""The colours of engines, the same everywhere: on the screen, on slides and in films."""

from collections.abc import Sequence

from concwatch.monitor.workers.catalog import CATALOG

ON_DARK = (
    "#ff7a85", "#ffb454", "#59c9f0", "#a5e065", "#c792ea", "#b8bec9", "#5ce1c6", "#e6db74", "#d9967a",
    "#f78fd0", "#c8b08c", "#8fb4ff", "#ff9d80", "#ffd24a", "#b59bff", "#d6a8ff", "#7fd88f", "#9fc79a",
    "#e98bff", "#ff82b4",
)  # fmt: skip
ON_LIGHT = (
    "#b82037", "#915100", "#0065a2", "#366e00", "#7a35b5", "#56606e", "#006e5a", "#676100", "#8c4a2c",
    "#aa287c", "#75592c", "#3a55c4", "#a83c1c", "#7d5a00", "#5a45c8", "#83479e", "#1e7034", "#4a6648",
    "#9a25b0", "#b01d62",
)  # fmt: skip
"""The contrast of both to the background of every theme is at least 4.5, as WCAG requires of text."""

ON_16_COLORS = ("#ff0000", "#ffff00", "#00ffff", "#00ff00", "#ff00ff", "#ffffff")
"""For a terminal of 16 colours: the bright colours that are readable on black."""

ENGINES = {engine.name: number for number, engine in enumerate(CATALOG)}
"""The colour of each engine: its index in the lists above."""


def own_name(name: str) -> str:
    """Return the engine of a lane, given its name, which may name a host or another Python as well."""
    return name.partition(" ")[0].partition("@")[0]


def lane_colors(names: Sequence[str], dark: bool, few: bool = False) -> list[str]:
    """Return the colour of each lane, ``#rrggbb``: that of its engine, the same everywhere.

    Only a lane whose colour another lane has already, such as that of the same engine on another host, gets
    one that no lane has; when all colours are used, they repeat.

    Args:
        names: the names of the lanes.
        dark: whether the background is dark.
        few: whether the terminal has 16 colours only.
    """
    palette = ON_16_COLORS if few else ON_DARK if dark else ON_LIGHT
    wanted = [ENGINES.get(own_name(name)) for name in names]
    chosen: list[int | None] = []
    for index in wanted:
        own = None if index is None else index % len(palette)
        chosen.append(None if own in chosen else own)
    unused = [index for index in range(len(palette)) if index not in chosen] or list(range(len(palette)))
    others = 0
    for at, index in enumerate(chosen):
        if index is None:
            chosen[at] = unused[others % len(unused)]
            others += 1
    return [palette[index or 0] for index in chosen]
