"""The cells of a terminal, and the texts in Rich's SVG of it."""

import html
import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import groupby

from msgspec import Struct
from rich.color import blend_rgb
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME

from concwatch.charts.graphemes import graphemes
from concwatch.charts.symbols import octant_dots
from concwatch.pictures.fonts import font_characters, has_glyph

CELL_WIDTH, CELL_HEIGHT = 12.2, 24.4
"""Size of a cell in Rich's SVG."""

BASELINE, TOP = 20.0, 1.5
"""Distance from the top of a line to the baseline of its letters, and to its rectangles."""

DEFAULT_FOREGROUND = SVG_EXPORT_THEME.foreground_color.hex
DEFAULT_BACKGROUND = SVG_EXPORT_THEME.background_color.hex
"""The terminal's own colours."""

_TEXT = re.compile(
    r'<text class="([^"]*-(r\d+))" x="([\d.]+)" y="([\d.]+)"(?: textLength="[\d.]+")?([^>]*)>([^<]*)</text>'
)


class Glyph(Struct, frozen=True):
    """The shape of a character, or the half of it that is in one of its two cells."""

    character: str
    bold: bool = False
    decoration: str = ""
    """CSS text decoration: ``underline``, ``line-through``, or empty."""
    half: int = 0
    """1 for the second of two cells, else 0."""


class TerminalCell(Struct, frozen=True):
    """One cell; colours are ``#rrggbb``."""

    glyph: Glyph
    foreground: str = DEFAULT_FOREGROUND
    background: str = DEFAULT_BACKGROUND


Rows = list[list[TerminalCell]]
"""Cells from left to right, in rows from top to bottom."""


def read_cells(rows: Iterable[Iterable[Segment]]) -> Rows:
    """Return the cells of a screen."""
    return [[cell for text, style, _ in row for cell in _cells(text, style or Style.null())] for row in rows]


@lru_cache(maxsize=10_000)
def _cells(text: str, style: Style) -> list[TerminalCell]:
    """Return the cells of ``text`` as Rich's SVG shows them, without blinking or italics."""
    foreground, background = (
        default if color is None or color.is_default else color.get_truecolor(SVG_EXPORT_THEME, is_foreground)
        for color, default, is_foreground in (
            (style.color, SVG_EXPORT_THEME.foreground_color, True),
            (style.bgcolor, SVG_EXPORT_THEME.background_color, False),
        )
    )
    if style.reverse:
        foreground, background = background, foreground
    if style.dim:
        foreground = blend_rgb(foreground, background, 0.4)
    if text.isspace():
        return [_cell((" ", 0), False, "", DEFAULT_FOREGROUND, background.hex)] * len(text)
    decoration = "underline" if style.underline else "line-through" if style.strike else ""
    attributes = bool(style.bold), decoration, foreground.hex, background.hex
    return [_cell(glyph, *attributes) for glyph in _glyphs(text)]


@lru_cache(maxsize=10_000)
def _cell(
    glyph: tuple[str, int], bold: bool, decoration: str, foreground: str, background: str
) -> TerminalCell:
    """Return a cell, cached: a film has millions of cells, of which few differ."""
    character, half = glyph
    return TerminalCell(Glyph(character, bold, decoration, half), foreground, background)


@lru_cache(maxsize=10_000)
def _glyphs(text: str) -> list[tuple[str, int]]:
    """Return the letter of each cell of ``text``, and which half of it is there."""
    if _simple_characters().issuperset(text):  # fast path
        return [(letter, 0) for letter in text]
    return [(letter, half) for letter, width in graphemes(text) for half in range(width)]


def split_texts(svg: str) -> str:
    """Return an SVG with a separate text for each letter that is two cells wide or not in our own fonts.

    Rich sets the width of a text to its number of characters, though some take two cells, and resvg draws
    a whole text in another font if the first lacks one of its characters.
    """
    return _TEXT.sub(_split, svg)


def _split(text: re.Match[str]) -> str:
    """Return a text unchanged, or split into several side by side."""
    plain = html.unescape(text[6])
    if _simple_characters().issuperset(plain):
        return text[0]
    parts, x = [], float(text[3])
    for letter, width in _pieces(plain):
        written = html.escape(letter).replace("\N{NO-BREAK SPACE}", "&#160;")
        length = width * CELL_WIDTH
        if letter in octant_dots():
            path = octant_path(letter, x, float(text[4]) - BASELINE + TOP, CELL_WIDTH, CELL_HEIGHT)
            parts.append(f'<path class="{text[1]}" d="{path}"/>')
            x += length
            continue
        place = f'x="{x:g}" y="{text[4]}"{fit(letter, length)}{text[5]}'
        parts.append(f'<text class="{text[1]}" {place}>{written}</text>')
        x += length
    return "".join(parts)


def octant_path(letter: str, x: float, y: float, width: float, height: float) -> str:
    """Return the SVG path of an octant, which no font of ours has, in a cell whose corner is at ``x, y``."""
    dots, wide, high = octant_dots()[letter], width / 2, height / 4
    return "".join(
        f"M{x + side * wide:.2f} {y + (3 - row) * high:.2f}h{wide:.2f}v{high:.2f}h{-wide:.2f}z"
        for side in (0, 1)
        for row in range(4)
        if dots >> 4 * side + row & 1
    )


def fit(letter: str, length: float) -> str:
    """Return the SVG attributes that give a text its length; letters of other fonts are scaled."""
    adjust = "" if all(map(has_glyph, letter)) else ' lengthAdjust="spacingAndGlyphs"'
    return f' textLength="{length:g}"{adjust}'


def _pieces(text: str) -> Iterator[tuple[str, int]]:
    """Yield runs of simple letters, and each other letter alone, with the number of cells."""
    for simple, group in groupby(graphemes(text), _is_simple):
        pieces = list(group)
        if simple:
            yield "".join(letter for letter, _ in pieces), len(pieces)
        else:
            yield from pieces


def _is_simple(letter: tuple[str, int]) -> bool:
    """Return whether a letter, given with its width, takes one cell and is in our own fonts."""
    return _simple_characters().issuperset(letter[0])


@cache
def _simple_characters() -> frozenset[str]:
    """Return the characters of our own fonts that take one cell."""
    return frozenset(letter for letter, width in graphemes(" ".join(font_characters())) if width == 1)
