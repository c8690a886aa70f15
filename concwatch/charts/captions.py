"""The texts of a chart: its title, names and values."""

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

from rich.cells import cell_len

from concwatch.charts.annotations import truncate
from concwatch.charts.plot import Line
from concwatch.monitor.metrics.unit import Unit

TICK_DELAY = 0.5
"""Seconds for which the newest samples may lack values that the next tick brings."""

NO_VALUE = "–"

VALUE_WIDTH = 5
"""The maximum number of cells of a short value."""


def value_at(line: Line, now: float, cursor: float | None = None, *, read: bool = False) -> float:
    """Return the value of ``line`` now or at the cursor; NaN within a gap.

    With ``read``, it is the mean that people read, where there is one.
    """
    index = min(bisect_right(line.times, now if cursor is None else cursor), len(line.values)) - 1
    if cursor is None:
        while index > 0 and math.isnan(line.values[index]) and line.times[index] > now - TICK_DELAY:
            index -= 1
    if index < 0:
        return math.nan
    value, mean = line.values[index], line.means[index] if read and line.means else math.nan
    return value if math.isnan(mean) or math.isnan(value) else mean


def value_text(line: Line, unit: Unit, now: float, cursor: float | None = None) -> str:
    """Return the formatted value of ``line`` now or at the cursor; `NO_VALUE` within a gap."""
    value = value_at(line, now, cursor, read=True)
    return unit.short(value) if math.isfinite(value) else NO_VALUE


@lru_cache(maxsize=1024)
def short_label(text: str) -> str:
    """Return the label of a tick without its unit, which the title says: ``32 MiB`` as ``32M``."""
    if found := re.match(r"(\d+) (min|h) (\d\d)", text):
        return f"{found[1]}{found[2][0]}" + (found[3] if len(found[1]) == 1 and found[3] != "00" else "")
    text = text.removesuffix("/s").removesuffix("iB").replace(" ", "")
    text = "0" if re.fullmatch(r"0\D*", text) else text
    return re.sub(r",000(?!\d)", "k", text).replace(",", "")


@lru_cache(maxsize=1024)
def short_value(text: str) -> str:
    """Return a value in the notation of the axis, with two digits, or three before the point: ``89M``."""
    text = short_label(text)
    number = re.match(r"(\+?)(\d+\.\d+)(.*)", text)
    if number is None:
        return text
    found = float(number[2])
    digits = f"{found:.{0 if found >= 9.95 else 1}f}".removesuffix(".0")
    return f"{number[1]}{digits}{number[3]}"


def title(text: str, short: str, width: int) -> str:
    """Return the longest form of a title that fits into ``width`` cells: ``short`` is one, or its start."""
    words = text.split(" ")
    shorter = [" ".join(words[:count]) for count in range(len(words) - 1, 0, -1)]
    forms = [text, short] if short else [text, *(each for each in shorter if each[-1:].isalnum())]
    return next((form for form in forms if cell_len(form) <= width), truncate(forms[-1], width))


NAME_GAP, LEAST_NAME = 2, 4
"""The cells between two names of a legend, and the least length to which a name is cut."""


def legend(names: Sequence[str], rooms: Sequence[int]) -> list[list[str]]:
    """Return names for several rows, which have ``rooms`` cells: whole, or all cut to the same length.

    If they do not fit however short, the last row ends with how many are left out: ``+3``.
    """
    cut: list[str] = []
    for length in range(max(map(cell_len, names), default=0), LEAST_NAME - 1, -1):
        cut = distinct(names, length)
        rows = _flow(cut, rooms)
        if sum(map(len, rows)) == len(cut):
            return rows
    cut = cut or distinct(names, LEAST_NAME)
    more = NAME_GAP + len(f"+{len(cut)}")
    rows = _flow(cut, [*rooms[:-1], rooms[-1] - more])
    left = len(cut) - sum(map(len, rows))
    if left and rooms[-1] >= more:
        rows[-1].append(f"+{left}")
    return rows


def _flow(names: Sequence[str], rooms: Sequence[int]) -> list[list[str]]:
    """Return the names that fit into rows of ``rooms`` cells, in their order, with a gap before each."""
    rows: list[list[str]] = [[] for _ in rooms]
    row, free = 0, list(rooms)
    for name in names:
        cells = NAME_GAP + cell_len(name)
        while row < len(rows) and cells > free[row]:
            row += 1
        if row == len(rows):
            break
        rows[row].append(name)
        free[row] -= cells
    return rows


def distinct(names: Sequence[str], length: int) -> list[str]:
    """Return the names shortened to ``length``, or to as much more as tells each apart from the others.

    A number is left out or kept whole: ``svc.py 1`` would be another process than ``svc.py 15543``.
    """
    return list(_distinct(tuple(names), length))


@lru_cache(maxsize=64)
def _distinct(names: tuple[str, ...], length: int) -> tuple[str, ...]:
    def least(name: str) -> int:
        others = [other for other in names if other != name]
        lengths = range(1, len(name))
        starts = ((n, name[:n].rstrip(" ,·")) for n in lengths)  # an end that is cut off tells nothing apart
        return next((n for n, start in starts if not any(o.startswith(start) for o in others)), len(name))

    def cut(name: str) -> str:
        needed = least(name)
        end = max(length, needed)
        number = next(
            (found for found in re.finditer(r"\d+", name) if found.start() < end < found.end()), None
        )
        if number is not None:
            end = number.start() if number.start() >= needed else number.end()
        return name[:end].rstrip(" ,·")

    return tuple(map(cut, names))
