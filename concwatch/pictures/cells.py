"""The cells of a terminal, and the texts of the SVG that Rich makes of it."""

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

from concwatch.graphemes import graphemes
from concwatch.pictures.fonts import drawn, is_drawn

CELL_WIDTH, CELL_HEIGHT = 12.2, 24.4
"""Of a cell in Rich's SVG."""

BASELINE, TOP = 20.0, 1.5
"""From the top of a line to what letters stand on, and to its rectangles."""

DEFAULT_INK, DEFAULT_GROUND = SVG_EXPORT_THEME.foreground_color.hex, SVG_EXPORT_THEME.background_color.hex
"""Where a program leaves the colours to the terminal."""

_TEXT = re.compile(
    r'<text class="([^"]*-(r\d+))" x="([\d.]+)" y="([\d.]+)"(?: textLength="[\d.]+")?([^>]*)>([^<]*)</text>'
)


class Face(Struct, frozen=True):
    """The shape of one character, or the half of it that one of its two cells shows."""

    character: str
    bold: bool = False
    decoration: str = ""
    """What CSS calls a text decoration: ``underline``, ``line-through``, or nothing."""
    half: int = 0
    """1 for the second of two cells."""


class Cell(Struct, frozen=True):
    """One cell."""

    face: Face
    ink: str = DEFAULT_INK
    """``#rrggbb`` of the character."""
    ground: str = DEFAULT_GROUND
    """``#rrggbb`` behind it."""


Rows = list[list[Cell]]
"""Cells from left to right, in rows from top to bottom."""


def read_cells(rows: Iterable[Iterable[Segment]]) -> Rows:
    """Return the cells of a screen."""
    return [[cell for text, style, _ in row for cell in _cells(text, style or Style.null())] for row in rows]


@lru_cache(maxsize=10_000)
def _cells(text: str, style: Style) -> list[Cell]:
    """Return the cells of ``text``, as Rich's SVG shows them: neither blinking nor slanted."""
    ink, ground = (
        default if color is None or color.is_default else color.get_truecolor(SVG_EXPORT_THEME, isink)
        for color, default, isink in (
            (style.color, SVG_EXPORT_THEME.foreground_color, True),
            (style.bgcolor, SVG_EXPORT_THEME.background_color, False),
        )
    )
    if style.reverse:
        ink, ground = ground, ink
    if style.dim:
        ink = blend_rgb(ink, ground, 0.4)
    if text.isspace():
        return [_cell((" ", 0), False, "", DEFAULT_INK, ground.hex)] * len(text)
    decoration = "underline" if style.underline else "line-through" if style.strike else ""
    return [_cell(face, bool(style.bold), decoration, ink.hex, ground.hex) for face in _faces(text)]


@lru_cache(maxsize=10_000)
def _cell(face: tuple[str, int], bold: bool, decoration: str, ink: str, ground: str) -> Cell:
    """Make a cell, or return the one that looks the same: a film has millions, and few that differ."""
    character, half = face
    return Cell(Face(character, bold, decoration, half), ink, ground)


@lru_cache(maxsize=10_000)
def _faces(text: str) -> list[tuple[str, int]]:
    """Return for each cell that ``text`` takes the letter there, and which half of it."""
    if _usual().issuperset(text):  # as in nearly all: films have many thousands
        return [(letter, 0) for letter in text]
    return [(letter, half) for letter, width in graphemes(text) for half in range(width)]


def part_texts(svg: str) -> str:
    """Return an SVG with a text for each letter of two cells, or that the program's own fonts lack.

    Rich makes a text as wide as it has characters, though some take two cells, and resvg draws the whole of a
    text in another font when the first lacks one of its characters.
    """
    return _TEXT.sub(_part, svg)


def _part(text: re.Match[str]) -> str:
    """Return a text as it is, or as several that stand side by side."""
    plain = html.unescape(text[6])
    if _usual().issuperset(plain):
        return text[0]
    parts, x = [], float(text[3])
    for letter, width in _pieces(plain):
        written = html.escape(letter).replace("\N{NO-BREAK SPACE}", "&#160;")
        length = width * CELL_WIDTH
        place = f'x="{x:g}" y="{text[4]}"{fit(letter, length)}{text[5]}'
        parts.append(f'<text class="{text[1]}" {place}>{written}</text>')
        x += length
    return "".join(parts)


def fit(letter: str, length: float) -> str:
    """Return the attributes of a text that takes ``length``; a letter of another font is made to fit."""
    adjust = "" if all(map(is_drawn, letter)) else ' lengthAdjust="spacingAndGlyphs"'
    return f' textLength="{length:g}"{adjust}'


def _pieces(text: str) -> Iterator[tuple[str, int]]:
    """Yield unusual letters one by one, and what lies between them whole, each with the cells it takes."""
    for usual, group in groupby(graphemes(text), _is_usual):
        pieces = list(group)
        if usual:
            yield "".join(letter for letter, _ in pieces), len(pieces)
        else:
            yield from pieces


def _is_usual(letter: tuple[str, int]) -> bool:
    """Return whether a letter with its width takes one cell and is in the program's own fonts."""
    return _usual().issuperset(letter[0])


@cache
def _usual() -> frozenset[str]:
    """Return the characters of the program's own fonts that take one cell each."""
    return frozenset(letter for letter, width in graphemes(" ".join(drawn())) if width == 1)
