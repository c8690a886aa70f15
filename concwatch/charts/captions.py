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


def value_at(line: Line, now: float, cursor: float | None = None) -> float:
    """Return the value of ``line`` now or at the cursor; NaN within a gap."""
    index = min(bisect_right(line.times, now if cursor is None else cursor), len(line.values)) - 1
    if cursor is None:
        while index > 0 and math.isnan(line.values[index]) and line.times[index] > now - TICK_DELAY:
            index -= 1
    return line.values[index] if index >= 0 else math.nan


def value_text(line: Line, unit: Unit, now: float, cursor: float | None = None) -> str:
    """Return the formatted value of ``line`` now or at the cursor; `NO_VALUE` within a gap."""
    value = value_at(line, now, cursor)
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


def title(text: str, short: str, names: Sequence[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    """Return a title and as many names as fit into ``width`` cells, each text with its style.

    Args:
        text: the title.
        short: a shorter one; empty for the first words.
        names: names and their colours; each is cut at most to what tells it apart.
    """
    words = text.split(" ")
    shorter = [" ".join(words[:count]) for count in range(len(words) - 1, 0, -1)]
    headings = [text, short] if short else [text, *(each for each in shorter if each[-1:].isalnum())]
    cut = distinct([name for name, _ in names], 4)
    fits = (each for each in headings if cell_len(each) + sum(2 + cell_len(name) for name in cut) <= width)
    heading = next(fits, next((each for each in headings if cell_len(each) <= width), ""))
    parts = [(heading or truncate(headings[-1], width), "")]
    room = width - cell_len(heading)
    longer = distinct([name for name, _ in names], 99)
    if sum(2 + cell_len(name) for name in longer) <= room:
        cut = longer
    for at, (name, (_, color)) in enumerate(zip(cut, names, strict=True)):
        if 2 + cell_len(name) > room - (3 if at < len(cut) - 1 else 0):
            return [*parts, ("  …", "")] if room >= 3 else parts
        parts += [("  ", ""), (name, color)]
        room -= 2 + cell_len(name)
    return parts


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
        return next((n for n in lengths if not any(o.startswith(name[:n]) for o in others)), len(name))

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
