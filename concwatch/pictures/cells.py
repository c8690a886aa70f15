"""The cells of a terminal, read from the SVG that Rich makes of it."""

import html
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import groupby

from msgspec import Struct

from concwatch.graphemes import graphemes
from concwatch.pictures.fonts import drawn, is_drawn

CELL_WIDTH, CELL_HEIGHT = 12.2, 24.4
"""Of a cell in Rich's SVG."""

BASELINE, TOP = 20.0, 1.5
"""From the top of a line to what letters stand on, and to its rectangles."""

DEFAULT_INK, DEFAULT_GROUND = "#c5c8c6", "#292929"
"""Rich's colours where a program leaves them to the terminal."""

_SIZE = re.compile(r'-clip-terminal">\s*<rect x="0" y="0" width="([\d.]+)" height="([\d.]+)"')
_GROUND = re.compile(
    r'<rect fill="(#\w+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="24\.65" shape-rendering'
)
_TEXT = re.compile(
    r'<text class="([^"]*-(r\d+))" x="([\d.]+)" y="([\d.]+)"(?: textLength="[\d.]+")?([^>]*)>([^<]*)</text>'
)
_STYLE = re.compile(r"\.\S+-(r\d+) \{ ([^}]*) \}")
_FILL = re.compile(r"fill: (#\w+)")


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


@lru_cache(maxsize=10_000)
def _cell(face: tuple[str, int], bold: bool, decoration: str, ink: str, ground: str) -> Cell:
    """Make a cell, or give the one that looks the same: a film has millions, and few that differ."""
    character, half = face
    return Cell(Face(character, bold, decoration, half), ink, ground)


def read_size(svg: str) -> tuple[int, int]:
    """Read the columns and rows of a screen.

    Raises:
        ValueError: ``svg`` is none that Rich has made of a terminal.
    """
    size = _SIZE.search(svg)
    if size is None:
        raise ValueError(
            "not a picture of a terminal: expected an SVG as Textual's export_screenshot gives it"
        )
    return round((float(size[1]) + 1) / CELL_WIDTH), round((float(size[2]) + 1) / CELL_HEIGHT)


def read_cells(svg: str) -> Rows:
    """Read the cells of a screen.

    Raises:
        ValueError: ``svg`` is none that Rich has made of a terminal.
    """
    width, height = read_size(svg)
    grounds = [[DEFAULT_GROUND] * width for _ in range(height)]
    for color, x, y, length in _GROUND.findall(svg):
        column, row = round(float(x) / CELL_WIDTH), round((float(y) - TOP) / CELL_HEIGHT)
        cells = round(float(length) / CELL_WIDTH)
        grounds[row][column : column + cells] = [color] * cells
    rows = [[_cell((" ", 0), False, "", DEFAULT_INK, ground) for ground in row] for row in grounds]
    styles = {name: _read_style(rules) for name, rules in _STYLE.findall(svg)}
    for _, style, x, y, _, text in _TEXT.findall(svg):
        column, row = round(float(x) / CELL_WIDTH), round((float(y) - BASELINE) / CELL_HEIGHT)
        ink, bold, decoration = styles[style]
        plain = html.unescape(text.replace("&#160;", " "))  # by itself it takes most of the time
        for at, face in zip(range(column, width), _faces(plain), strict=False):
            rows[row][at] = _cell(face, bold, decoration, ink, grounds[row][at])
    return rows


@lru_cache(maxsize=10_000)
def _faces(text: str) -> list[tuple[str, int]]:
    """Give for each cell that ``text`` takes the letter there, and which half of it."""
    if _usual().issuperset(text):  # as in nearly all: films have many thousands
        return [(letter, 0) for letter in text]
    return [(letter, half) for letter, width in graphemes(text) for half in range(width)]


def part_texts(svg: str) -> str:
    """Give each letter that takes two cells, or that the program's own fonts lack, a text of its own.

    Rich makes a text as wide as it has characters, though some take two cells, and resvg draws the whole of a
    text in another font when the first lacks one of its characters.
    """
    return _TEXT.sub(_part, svg)


def _part(text: re.Match[str]) -> str:
    """Give a text as it is, or as several that stand side by side."""
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
    """Give the attributes of a text that takes ``length``; a letter of another font is made to fit."""
    adjust = "" if all(map(is_drawn, letter)) else ' lengthAdjust="spacingAndGlyphs"'
    return f' textLength="{length:g}"{adjust}'


def _pieces(text: str) -> Iterator[tuple[str, int]]:
    """Give unusual letters one by one, and what lies between them whole, each with the cells it takes."""
    for usual, group in groupby(graphemes(text), _is_usual):
        pieces = list(group)
        if usual:
            yield "".join(letter for letter, _ in pieces), len(pieces)
        else:
            yield from pieces


def _is_usual(letter: tuple[str, int]) -> bool:
    """Say whether a letter with its width takes one cell and is in the program's own fonts."""
    return _usual().issuperset(letter[0])


@cache
def _usual() -> frozenset[str]:
    """Give the characters of the program's own fonts that take one cell each."""
    return frozenset(letter for letter, width in graphemes(" ".join(drawn())) if width == 1)


def _read_style(rules: str) -> tuple[str, bool, str]:
    """Read the ink, whether it is bold, and the decoration, from CSS."""
    fill = _FILL.search(rules)
    decoration = next((name for name in ("underline", "line-through") if name in rules), "")
    return fill[1] if fill else DEFAULT_INK, "font-weight: bold" in rules, decoration
