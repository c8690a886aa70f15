"""What stands in a chart's title: what it shows, and as many current values as there is room for."""

import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct
from rich.cells import cell_len

from concwatch.charts.annotations import cut
from concwatch.charts.plot import Line, Plot
from concwatch.charts.scales import Kind

LATE = 0.5
"""Seconds in which the newest samples may wait for what the next tick tells of them."""

CUTS = (99, 7, 4, 3, 2, 1)
"""Letters to which names are cut in turn, if so few tell them apart."""

NO_VALUE = "–"


def value_text(line: Line, kind: Kind, now: float, cursor: float | None = None) -> str:
    """Return the value that ``line`` has now, or had at the cursor; inside a gap it has none."""
    index = min(bisect_right(line.times, now if cursor is None else cursor), len(line.values)) - 1
    if cursor is None:
        while index > 0 and math.isnan(line.values[index]) and line.times[index] > now - LATE:
            index -= 1
    value = line.values[index] if index >= 0 else math.nan
    return kind.format(value) if math.isfinite(value) else NO_VALUE


class Entry(Struct, frozen=True):
    """One line in a chart's title."""

    name: str
    value: str
    """As it is written; empty where only the name is told."""
    color: str
    """``#rrggbb``"""


def legend(plot: Plot) -> list[Entry]:
    """Return each line's name, and the value that it has at the end, or at the cursor."""
    return [
        Entry(line.name, value_text(line, plot.kind, plot.end, plot.cursor), line.color)
        for line in plot.lines
    ]


class Form(NamedTuple):
    """How the entries of a title are written."""

    texts: Sequence[tuple[str, str]]
    """The name and the value of each, as long as they are to be."""
    gap: str = " "
    """What stands between entries."""
    glue: str = " "
    """What stands between a name and its value."""

    def cells(self, shown: int) -> int:
        """Return how many cells the first so many entries take behind a title, with ``…`` for the others."""
        parts = [f"{name}{self.glue}{value}" if value else name for name, value in self.texts[:shown]]
        if shown < len(self.texts):
            parts.append("…")
        return cell_len(self.gap.join(parts)) + 2 if parts else 0


def caption(title: str, entries: Sequence[Entry], width: int, brief: str = "") -> list[tuple[str, str]]:
    """Return a title and as many entries as fit into ``width`` cells, each text with its style.

    A name or a value is whole, shortened to what still tells it, or not there. The units give way first, then
    all but two digits; with each of them the names, down to what tells them apart; then the title, to
    ``brief`` or to its first words; then the blanks within entries; then all values; and at last entries from
    the end, with ``…``.
    """
    headings = _headings(title, brief)
    heading, form, shown = next(_fitting(headings, entries, width), (cut(headings[-1], width), Form(()), 0))
    gap, glue = form.gap, form.glue
    parts = [(heading, "")]
    for index, ((name, value), entry) in enumerate(zip(form.texts[:shown], entries, strict=False)):
        parts += [(gap if index else "  ", ""), (name, entry.color)]
        parts += [(glue, ""), (value, f"bold {entry.color}")] if value else []
    if shown < len(form.texts):
        parts.append((gap + "…" if shown else "  …", ""))
    return parts


def _fitting(
    headings: Sequence[str], entries: Sequence[Entry], width: int
) -> Iterator[tuple[str, Form, int]]:
    """Yield what fits into ``width`` cells, the best first: a title, how entries are written, how many."""
    count = len(entries)
    for forms in (_spaced, _tight, _names_alone):
        sized = [(form, form.cells(count)) for form in forms(entries)]
        for heading in headings:
            room = width - cell_len(heading)
            yield from ((heading, form, count) for form, cells in sized if cells <= room)
    heading, form = headings[-1], _names_alone(entries)[-1]
    for shown in range(count - 1, -1, -1):
        if cell_len(heading) + form.cells(shown) <= width:
            yield heading, form, shown


def _headings(title: str, brief: str) -> list[str]:
    """Return a title and how it can be shortened: to ``brief``, or else word by word."""
    words = title.split(" ")
    shorter = (" ".join(words[:count]) for count in range(len(words) - 1, 0, -1))
    return [title, brief] if brief else [title, *(text for text in shorter if text[-1:].isalnum())]


def _spaced(entries: Sequence[Entry]) -> list[Form]:
    """Return how entries can be written with their values, the longest first."""
    cuts = _cut_names(tuple([entry.name for entry in entries]))
    short = [_without_unit(entry.value) for entry in entries]
    return [
        Form([(entry.name, entry.value) for entry in entries], "  "),
        *(
            Form(list(zip(names, values, strict=True)))
            for values in (short, list(map(_rounded, short)))
            for names in cuts
        ),
    ]


def _tight(entries: Sequence[Entry]) -> list[Form]:
    """Return how entries are written without blanks, if then a name and its value are still two."""
    names = _cut_names(tuple([entry.name for entry in entries]))[-1]
    values = [_rounded(_without_unit(entry.value)) for entry in entries]
    unclear = any(name[-1:].isdigit() for name in names)
    return [] if unclear else [Form(list(zip(names, values, strict=True)), glue="")]


def _names_alone(entries: Sequence[Entry]) -> list[Form]:
    """Return how entries can be written without their values, the longest first."""
    cuts = _cut_names(tuple([entry.name for entry in entries]))
    return [Form([(name, "") for name in names]) for names in cuts]


@lru_cache(maxsize=64)
def _cut_names(names: tuple[str, ...]) -> Sequence[Sequence[str]]:
    """Return names cut to each of `CUTS`, none below what tells it from all others."""
    least = apart(names)
    return [
        [name[: max(length, at_least)].rstrip(" ,") for name, at_least in zip(names, least, strict=True)]
        for length in CUTS
    ]


def apart(names: Sequence[str]) -> list[int]:
    """Return how many letters of each name tell it from all others; all of one that begins another."""
    return [
        next(
            (n for n in range(1, len(name)) if sum(other[:n] == name[:n] for other in names) == 1), len(name)
        )
        for name in names
    ]


def _without_unit(value: str) -> str:
    """Shorten a value's unit, which the axis has in full: ``32.5 MiB`` to ``32.5M``."""
    return value.removesuffix("/s").removesuffix("iB").replace(" ", "")


def _rounded(value: str) -> str:
    """Round what `_without_unit` returns to two digits: ``32.5M`` to ``32M``."""
    number = re.match(r"\d+\.\d+", value)
    if not number:
        return value
    found = float(number[0])
    return f"{found:.{0 if found >= 10 else 1}f}{value[number.end() :]}"
