"""One palette for all frames of a film: every colour as it is, and steps between two for soft edges."""

from collections.abc import Mapping

from msgspec import Struct

MAX_COLORS = 255
"""Colours of a film: a GIF has 256, and one of them means that nothing has changed."""

MAX_STEPS = 8
"""Steps from ground to ink, where there is room for so many: more are not to be told apart."""

Pair = tuple[str, str]
"""Ink and ground, each ``#rrggbb``."""

Color = tuple[int, int, int]


class Palette(Struct, frozen=True):
    """Colours, and which of them each pair of ink and ground takes."""

    colors: list[Color]
    tables: dict[Pair, list[int]]
    """For each pair: which colour stands for each share of ink, from 0 to 255."""


def make_palette(used: Mapping[Pair, int]) -> Palette:
    """Return the palette of a film.

    Args:
        used: the pairs that are seen, and in how many cells; the rarest give way where not all fit.
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
    """Return every colour once, the most needed first: those of cells themselves, then what lies between."""
    pure = (color for ink, ground in steps for color in (_read(ground), _read(ink)))
    between = (color for pair, count in steps.items() for color in _ramp(pair, count))
    return list(dict.fromkeys([*pure, *between]))


def _ramp(pair: Pair, steps: int) -> list[Color]:
    """Return the colours from ground to ink, both included."""
    ink, ground = map(_read, pair)
    return [_blend(ground, ink, step / steps) for step in range(steps + 1)]


def _table(pair: Pair, steps: int, places: Mapping[Color, int]) -> list[int]:
    ramp = [_place(color, places) for color in _ramp(pair, steps)]
    return [ramp[round(share / 255 * steps)] for share in range(256)]


def _place(color: Color, places: Mapping[Color, int]) -> int:
    """Find a colour, or the nearest."""
    if color not in places:
        nearest = min(places, key=lambda other: sum((a - b) ** 2 for a, b in zip(color, other, strict=True)))
        return places[nearest]
    return places[color]


def _blend(ground: Color, ink: Color, share: float) -> Color:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(ground, ink, strict=True))
    return red, green, blue


def _read(color: str) -> Color:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)
