"""Moments on a chart's time axis: marks, and the cursor under which values are read."""

import math
from collections.abc import Iterable

from msgspec import Struct

LONGEST_TEXT = 24
"""Cells of a mark's text that a chart shows."""


class Moment(Struct, frozen=True):
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
    text: str


def _grid(now: float, window: float, columns: int) -> tuple[float, int]:
    """Give the width of a column of dots in seconds, and the number of the leftmost one on the clock.

    The same columns as those into which `concwatch.ui.renderables.plot.decimate` sorts the samples.
    """
    size = round(window / (2 * columns), 9)
    return size, math.floor(now / size) - 2 * columns + 1


def column_of(time: float, now: float, window: float, columns: int) -> int:
    """Give the column of cells in which ``time`` stands; it may lie outside the chart.

    Args:
        time: seconds on the lines' clock.
        now: the time at the right edge.
        window: seconds from the left edge to the right one.
        columns: width of the plot, cells.
    """
    size, first = _grid(now, window, columns)
    return (math.floor(time / size) - first) // 2


def time_of(column: int, now: float, window: float, columns: int) -> float:
    """Give the last moment of a column of cells, at most ``now``; the arguments are those of `column_of`."""
    size, first = _grid(now, window, columns)
    # Rounded down by a hair, for the edge itself belongs to the next column.
    return min(now, (first + 2 * column + 2) * size - 1e-6)


def flags(moments: Iterable[Moment], now: float, window: float, columns: int) -> tuple[Flag, ...]:
    """Place the moments that the chart shows; of several ticks in a column the last is seen."""
    placed = ((column_of(moment.time, now, window, columns), moment) for moment in moments)
    return tuple(
        Flag(column, moment.color, moment.text[:LONGEST_TEXT])
        for column, moment in placed
        if 0 <= column < columns
    )


Cell = tuple[str, str]
"""A character and its colour."""


def draw_flags(row: list[Cell | None], placed: Iterable[Flag], *, floor: bool, top: bool) -> None:
    """Draw what one row of the plot shows of ``placed``; a line of data hides a flag, but no tick or text.

    Args:
        row: the row's cells, changed in place; None where nothing passes.
        placed: flags, the topmost last.
        floor: whether the row is the lowest.
        top: whether it is the highest.
    """
    for flag in placed:
        if not flag.text:
            if floor:
                row[flag.column] = ("▴", flag.color)
            continue
        if row[flag.column] is None:
            row[flag.column] = ("┊", flag.color)
        if top:
            _write(row, flag)


def _write(row: list[Cell | None], flag: Flag) -> None:
    """Write a flag's text to the right of it, or to its left where there is no room."""
    start = flag.column + 1
    if start + len(flag.text) > len(row):
        start = max(0, flag.column - len(flag.text))
    for column, character in enumerate(flag.text[: len(row)], start):
        row[column] = (character, flag.color)


def draw_cursor(row: list[Cell | None], column: int | None, color: str) -> None:
    """Draw the cursor where no line of data passes."""
    if column is not None and row[column] is None:
        row[column] = ("│", color)
