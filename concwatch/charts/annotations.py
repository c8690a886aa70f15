"""Annotations of a chart: marks on its time axis, and the cursor at which values are read."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from rich.cells import cell_len

from concwatch.charts.graphemes import graphemes
from concwatch.charts.ticks import CELL, columns_of

if TYPE_CHECKING:
    from concwatch.charts.raster import Cell

LONGEST_TEXT = 24
"""The maximum number of cells of an annotation's text."""


class Annotation(Struct, frozen=True):
    """A moment to mark on the time axis."""

    time: float
    """Seconds on the lines' clock."""
    color: str
    """``#rrggbb``"""
    text: str = ""
    """The text beside a vertical line. Without a text the mark is a small tick on the axis."""


class Marker(Struct, frozen=True):
    """An annotation at its position in a chart. Columns are cells from the left edge of the plot."""

    column: int
    color: str
    full_height: bool = False
    """Whether it is a vertical line, not a tick on the axis."""
    text: str = ""
    """Written in the top row."""
    start: int = 0
    """The first column of the text."""


def place_annotations(
    annotations: Sequence[Annotation], now: float, window: float, columns: int, together: int = CELL
) -> tuple[Marker, ...]:
    """Return the markers of the annotations within the chart: ticks first, one of each kind in a column.

    The arguments are those of `columns_of`.
    """
    places = columns_of([each.time for each in annotations], now, window, columns, together)
    inside = [place for place in zip(places, annotations, strict=True) if 0 <= place[0] < columns]
    ticks = [
        Marker(column, each.color)
        for column, each in {column: each for column, each in inside if not each.text}.items()
    ]
    # From left to right: each text may reach to the line of the next.
    texts = sorted({column: each for column, each in inside if each.text}.items())
    ends = [*(column for column, _ in texts[1:]), columns][: len(texts)]
    free, lines = 0, []
    for (column, annotation), end in zip(texts, ends, strict=True):
        lines.append(_place_text(column, annotation, free, end))
        free = max(column + 1, lines[-1].start + cell_len(lines[-1].text) + 1)
    return (*ticks, *lines)


def _place_text(column: int, annotation: Annotation, free: int, end: int) -> Marker:
    """Place the text to the right of its line, up to ``end``; else to the left, or truncate it."""
    text, room = truncate(annotation.text, LONGEST_TEXT), end - column - 1
    start, length = column + 1, cell_len(text)
    if length > room and column - length >= free:
        start = column - length
    else:
        text = truncate(text, room)
    return Marker(column, annotation.color, True, text, start)


def truncate(text: str, width: int) -> str:
    """Return ``text``, truncated with ``…`` if it takes more than ``width`` cells."""
    if cell_len(text) <= width:
        return text
    shown = ""
    for letter, cells in graphemes(text):
        if cell_len(shown) + cells >= width:
            break
        shown += letter
    return shown + "…" if width else ""


def draw_markers(
    row: "list[Cell | None]", markers: Iterable[Marker], *, bottom: bool, top: bool, lines: bool = True
) -> None:
    """Draw markers into the cells of one row of the plot.

    Ticks are drawn in the ``bottom`` row, texts in the ``top`` row; without ``lines``, only texts. Lines of
    data are drawn over vertical lines, but not over ticks and texts.
    """
    for marker in markers:
        if not marker.full_height:
            if bottom and lines:
                row[marker.column] = ("▴", marker.color)
            continue
        if lines and row[marker.column] is None:
            row[marker.column] = ("┊", marker.color)
        if top:
            column = marker.start
            for letter, width in graphemes(marker.text):
                if column + width <= len(row):
                    # A wide letter covers the cells after its first one.
                    row[column : column + width] = [
                        (letter, marker.color),
                        *[("", marker.color)] * (width - 1),
                    ]
                column += width


def draw_cursor(row: "list[Cell | None]", column: int | None, color: str) -> None:
    """Draw the cursor where there is no line of data."""
    if column is not None and row[column] is None:
        row[column] = ("│", color)
