"""The palette of a film: every colour exactly, and steps between two colours for soft edges."""

from collections.abc import Mapping

from msgspec import Struct

MAX_COLORS = 255
"""Most colours of a film: a GIF has 256, one of which means "unchanged"."""

MAX_STEPS = 8
"""Most steps from background to foreground; more would not be visible."""

Pair = tuple[str, str]
"""Foreground and background, each ``#rrggbb``."""

Color = tuple[int, int, int]


class Palette(Struct, frozen=True):
    """The colours of a film, and their use for each pair of foreground and background."""

    colors: list[Color]
    tables: dict[Pair, list[int]]
    """Pair → the index of the colour for each mask value, from 0 to 255."""


def make_palette(used: Mapping[Pair, int]) -> Palette:
    """Return the palette of a film.

    Args:
        used: pair → number of cells; the rarest pairs get fewer steps if not all colours fit.
    """
    pairs = sorted(used, key=lambda pair: -used[pair])
    steps = dict.fromkeys(pairs, MAX_STEPS)
    fewer = ((pair, finest) for finest in (4, 2, 1) for pair in reversed(pairs))
    while len(colors := _colors(steps)) > MAX_COLORS and (step := next(fewer, None)):
        steps[step[0]] = step[1]
    kept = colors[:MAX_COLORS]
    places = {color: place for place, color in enumerate(kept)}
    return Palette(kept, {pair: _table(pair, steps[pair], places) for pair in pairs})


def _colors(steps: Mapping[Pair, int]) -> list[Color]:
    """Return the unique colours: first the exact ones, then the steps, each by frequency."""
    pure = (color for foreground, background in steps for color in (_read(background), _read(foreground)))
    between = (color for pair, count in steps.items() for color in _ramp(pair, count))
    return list(dict.fromkeys([*pure, *between]))


def _ramp(pair: Pair, steps: int) -> list[Color]:
    """Return the colours from background to foreground, inclusive."""
    foreground, background = map(_read, pair)
    return [_blend(background, foreground, step / steps) for step in range(steps + 1)]


def _table(pair: Pair, steps: int, places: Mapping[Color, int]) -> list[int]:
    ramp = [_place(color, places) for color in _ramp(pair, steps)]
    return [ramp[round(share / 255 * steps)] for share in range(256)]


def _place(color: Color, places: Mapping[Color, int]) -> int:
    """Return the index of a colour, or of the nearest one."""
    if color not in places:
        nearest = min(places, key=lambda other: sum((a - b) ** 2 for a, b in zip(color, other, strict=True)))
        return places[nearest]
    return places[color]


def _blend(background: Color, foreground: Color, share: float) -> Color:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(background, foreground, strict=True))
    return red, green, blue


def _read(color: str) -> Color:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)
