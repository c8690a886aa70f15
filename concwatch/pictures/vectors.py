"""Charts as vectors over the SVG of a terminal, in place of the cells that stand for them."""

import html
import re
from collections.abc import Iterable, Mapping

from concwatch.charts.graphemes import graphemes
from concwatch.charts.painters.vector import Vectors
from concwatch.pictures.cells import BASELINE, CELL_HEIGHT, CELL_WIDTH, TOP

PLACEHOLDERS = range(0xF0000, 0xF1000)
"""Private characters, each of which stands for a cell of one chart."""

_TEXT = re.compile(r'(<text [^>]*? x="([\d.]+)" y="([\d.]+)"[^>]*>)([^<]*)(</text>)')
_STANDS_FOR = re.compile(f"[{chr(PLACEHOLDERS.start)}-{chr(PLACEHOLDERS.stop - 1)}]")

Run = tuple[int, int, int]
"""Row, first column, and the column after the last."""


def placeholder(number: int) -> str:
    """Return the character that stands for the cells of chart ``number``."""
    return chr(PLACEHOLDERS.start + number)


def draw_over(svg: str, charts: Mapping[str, Vectors]) -> str:
    """Return Rich's SVG with charts drawn where the characters that stand for them are.

    Cells that something else covers stay as they are.
    """
    runs: dict[str, list[Run]] = {character: [] for character in charts}

    def blank(text: re.Match[str]) -> str:
        letters = html.unescape(text[4])
        if not _STANDS_FOR.search(letters):
            return text[0]
        column, row = round(float(text[2]) / CELL_WIDTH), round((float(text[3]) - BASELINE) / CELL_HEIGHT)
        for letter, width in graphemes(letters):
            if letter in runs:
                add_cell(runs[letter], row, column)
            column += width
        return text[1] + _STANDS_FOR.sub("&#160;", text[4]) + text[5]

    blanked = _TEXT.sub(blank, svg)
    layers = "".join(_layer(chart, runs[character], ord(character)) for character, chart in charts.items())
    end = blanked.rindex("</g>")
    return blanked[:end] + layers + blanked[end:]


def add_cell(runs: list[Run], row: int, column: int) -> None:
    """Add a cell to runs of cells, which are in the order of reading."""
    if runs and runs[-1][0] == row and runs[-1][2] == column:
        runs[-1] = row, runs[-1][1], column + 1
    else:
        runs.append((row, column, column + 1))


def corner(runs: Iterable[Run], rows: int, columns: int) -> tuple[int, int] | None:
    """Return row and column of a plot's upper left cell, given the runs of its cells that are visible.

    None if too much is covered to determine it.
    """
    found = list(runs)
    whole = next((run for run in found if run[2] - run[1] == columns), None)
    if whole is None:
        return None
    top = min(row for row, _, _ in found)
    bottom = max(row for row, _, _ in found)
    return (top, whole[1]) if bottom - top == rows - 1 else None


def _layer(chart: Vectors, runs: list[Run], number: int) -> str:
    place = corner(runs, chart.picture.rows, chart.picture.columns)
    if place is None:
        return ""
    top, left = place
    x, y = left * CELL_WIDTH, top * CELL_HEIGHT + TOP
    cells = "".join(
        f"M{(start - left) * CELL_WIDTH:.1f} {(row - top) * CELL_HEIGHT:.1f}"
        f"h{(end - start) * CELL_WIDTH:.1f}v{CELL_HEIGHT:.1f}h{-(end - start) * CELL_WIDTH:.1f}z"
        for row, start, end in runs
    )
    # Not as an attribute: those of Rich's texts are removed from PNG pictures.
    return (
        f'<clipPath id="chart-{number}"><path d="{cells}"/></clipPath>'
        f'<g transform="translate({x:.1f}, {y:.1f})"><g style="clip-path: url(#chart-{number})">'
        f"{chart.svg((CELL_WIDTH, CELL_HEIGHT))}</g></g>"
    )
