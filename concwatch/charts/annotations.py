"""Annotations of a chart: marks on its time axis, and the cursor under which values are read."""

from collections.abc import Iterable

from msgspec import Struct
from rich.cells import cell_len

from concwatch.charts.raster import Cell
from concwatch.charts.ticks import column_of
from concwatch.graphemes import graphemes

LONGEST_TEXT = 24
"""Cells of a mark's text that a chart shows."""


class Annotation(Struct, frozen=True):
    """Something to point out on the time axis."""

    time: float
    """Seconds on the lines' clock."""
    color: str
    """``#rrggbb``"""
    text: str = ""
    """What is written beside a line from top to bottom; without a text there is a small tick on the axis."""


class Flag(Struct, frozen=True):
    """A moment in its place: the column of cells, from the left."""

    column: int
    color: str
    tall: bool = False
    """Whether it is a line from top to bottom, not a tick on the axis."""
    text: str = ""
    """What is written in the topmost row."""
    start: int = 0
    """The column where the text begins."""


def flags(moments: Iterable[Annotation], now: float, window: float, columns: int) -> tuple[Flag, ...]:
    """Place the moments that the chart shows; of several of a kind in a column the last is seen."""
    placed = [(column_of(moment.time, now, window, columns), moment) for moment in moments]
    inside = [(column, moment) for column, moment in placed if 0 <= column < columns]
    ticks = [Flag(column, moment.color) for column, moment in inside if not moment.text]
    # One a column, from the left: each text has the room until the next one's line.
    texts = sorted({column: moment for column, moment in inside if moment.text}.items())
    edges = [*(column for column, _ in texts[1:]), columns][: len(texts)]
    taken, lines = 0, []
    for (column, moment), edge in zip(texts, edges, strict=True):
        lines.append(_lettered(column, moment, taken, edge))
        taken = max(column + 1, lines[-1].start + cell_len(lines[-1].text) + 1)
    return (*ticks, *lines)


def _lettered(column: int, moment: Annotation, taken: int, edge: int) -> Flag:
    """Place a moment's text right of its line, before ``edge``, or left, behind ``taken``, or cut it."""
    text, room = cut(moment.text, LONGEST_TEXT), edge - column - 1
    start, length = column + 1, cell_len(text)
    if length > room and column - length >= taken:
        start = column - length
    else:
        text = cut(text, room)
    return Flag(column, moment.color, True, text, start)


def cut(text: str, room: int) -> str:
    """Return as much of ``text`` as ``room`` cells hold, with ``…`` where it goes on."""
    if cell_len(text) <= room:
        return text
    shown = ""
    for letter, width in graphemes(text):
        if cell_len(shown) + width >= room:
            break
        shown += letter
    return shown + "…" if room else ""


def draw_flags(row: list[Cell | None], placed: Iterable[Flag], *, floor: bool, top: bool) -> None:
    """Draw what one row of the plot shows of ``placed``, the topmost last, into the row's cells.

    A line of data hides a flag, but no tick, which stands on the ``floor``, and no text, which stands at
    the ``top``.
    """
    for flag in placed:
        if not flag.tall:
            if floor:
                row[flag.column] = ("▴", flag.color)
            continue
        if row[flag.column] is None:
            row[flag.column] = ("┊", flag.color)
        if top:
            column = flag.start
            for letter, width in graphemes(flag.text):
                if column + width <= len(row):
                    # What stands in the first of its cells reaches over the others.
                    row[column : column + width] = [(letter, flag.color), *[("", flag.color)] * (width - 1)]
                column += width


def draw_cursor(row: list[Cell | None], column: int | None, color: str) -> None:
    """Draw the cursor where no line of data passes."""
    if column is not None and row[column] is None:
        row[column] = ("│", color)
