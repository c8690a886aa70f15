"""The cells of a terminal, read from the SVG that Rich makes of it."""

import html
import re
from functools import lru_cache

from msgspec import Struct

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
_TEXT = re.compile(r'<text class="[^"]*-(r\d+)" x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</text>')
_STYLE = re.compile(r"\.\S+-(r\d+) \{ ([^}]*) \}")
_FILL = re.compile(r"fill: (#\w+)")


class Face(Struct, frozen=True):
    """The shape of one character."""

    character: str
    bold: bool = False
    decoration: str = ""
    """What CSS calls a text decoration: ``underline``, ``line-through``, or nothing."""


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
def _cell(character: str, bold: bool, decoration: str, ink: str, ground: str) -> Cell:
    """Make a cell, or give the one that looks the same: a film has millions, and few that differ."""
    return Cell(Face(character, bold, decoration), ink, ground)


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
    rows = [[_cell(" ", False, "", DEFAULT_INK, ground) for ground in row] for row in grounds]
    styles = {name: _read_style(rules) for name, rules in _STYLE.findall(svg)}
    for style, x, y, text in _TEXT.findall(svg):
        column, row = round(float(x) / CELL_WIDTH), round((float(y) - BASELINE) / CELL_HEIGHT)
        ink, bold, decoration = styles[style]
        plain = html.unescape(text.replace("&#160;", " "))  # by itself it takes most of the time
        for at, character in enumerate(plain[: width - column], column):
            rows[row][at] = _cell(character, bold, decoration, ink, grounds[row][at])
    return rows


def _read_style(rules: str) -> tuple[str, bool, str]:
    """Read the ink, whether it is bold, and the decoration, from CSS."""
    fill = _FILL.search(rules)
    decoration = next((name for name in ("underline", "line-through") if name in rules), "")
    return fill[1] if fill else DEFAULT_INK, "font-weight: bold" in rules, decoration
