"""The title of a chart: its name, and as many of its lines' current values as fit."""

import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct
from rich.cells import cell_len

from concwatch.charts.annotations import truncate
from concwatch.charts.plot import Line, Plot
from concwatch.charts.scales import Kind

TICK_DELAY = 0.5
"""Seconds for which the newest samples may lack values that the next tick brings."""

NAME_LENGTHS = (99, 7, 4, 3, 2, 1)
"""The lengths to which names are shortened in turn, unless they would become ambiguous."""

NO_VALUE = "–"


def value_text(line: Line, kind: Kind, now: float, cursor: float | None = None) -> str:
    """Return the formatted value of ``line`` now or at the cursor; `NO_VALUE` within a gap."""
    index = min(bisect_right(line.times, now if cursor is None else cursor), len(line.values)) - 1
    if cursor is None:
        while index > 0 and math.isnan(line.values[index]) and line.times[index] > now - TICK_DELAY:
            index -= 1
    value = line.values[index] if index >= 0 else math.nan
    return kind.format(value) if math.isfinite(value) else NO_VALUE


class LegendEntry(Struct, frozen=True):
    """A line of the chart, as its title shows it."""

    name: str
    value: str
    """Formatted; empty to show only the name."""
    color: str
    """``#rrggbb``"""


def legend(plot: Plot) -> list[LegendEntry]:
    """Return each line's name, and its value at the end or at the cursor."""
    return [
        LegendEntry(line.name, value_text(line, plot.kind, plot.end, plot.cursor), line.color)
        for line in plot.lines
    ]


class TitleFormat(NamedTuple):
    """One way to write the entries of a title."""

    texts: Sequence[tuple[str, str]]
    """The shortened name and value of each entry."""
    gap: str = " "
    """The text between entries."""
    glue: str = " "
    """The text between a name and its value."""

    def cells(self, shown: int) -> int:
        """Return the cells that the first ``shown`` entries take after a title, with ``…`` for the others."""
        parts = [f"{name}{self.glue}{value}" if value else name for name, value in self.texts[:shown]]
        if shown < len(self.texts):
            parts.append("…")
        return cell_len(self.gap.join(parts)) + 2 if parts else 0


def caption(
    title: str, entries: Sequence[LegendEntry], width: int, short_title: str = ""
) -> list[tuple[str, str]]:
    """Return a title and as many entries as fit into ``width`` cells, each text with its style.

    What does not fit is shortened in this order, and values never become wrong or names ambiguous: units,
    then digits beyond the second, and with each of them the names; the title, to ``short_title`` or to its
    first words; the spaces within entries. Then all values are left out, and at last entries from the end.
    """
    headings = _headings(title, short_title)
    nothing = (truncate(headings[-1], width), TitleFormat(()), 0)
    heading, form, shown = next(_fitting(headings, entries, width), nothing)
    gap, glue = form.gap, form.glue
    parts = [(heading, "")]
    for index, ((name, value), entry) in enumerate(zip(form.texts[:shown], entries, strict=False)):
        parts += [(gap if index else "  ", ""), (name, entry.color)]
        parts += [(glue, ""), (value, f"bold {entry.color}")] if value else []
    if shown < len(form.texts):
        parts.append((gap + "…" if shown else "  …", ""))
    return parts


def _fitting(
    headings: Sequence[str], entries: Sequence[LegendEntry], width: int
) -> Iterator[tuple[str, TitleFormat, int]]:
    """Yield the combinations of a title, a format and a number of entries that fit, the best first."""
    count, groups = len(entries), _formats(entries)
    for formats in groups:
        sized = [(form, form.cells(count)) for form in formats]
        for heading in headings:
            room = width - cell_len(heading)
            yield from ((heading, form, count) for form, cells in sized if cells <= room)
    heading, form = headings[-1], groups[-1][-1]
    for shown in range(count - 1, -1, -1):
        if cell_len(heading) + form.cells(shown) <= width:
            yield heading, form, shown


def _headings(title: str, short_title: str) -> list[str]:
    """Return a title and its shorter forms: ``short_title``, or else its first words."""
    words = title.split(" ")
    shorter = (" ".join(words[:count]) for count in range(len(words) - 1, 0, -1))
    return (
        [title, short_title] if short_title else [title, *(text for text in shorter if text[-1:].isalnum())]
    )


def _formats(entries: Sequence[LegendEntry]) -> Sequence[Sequence[TitleFormat]]:
    """Return the formats with values, without spaces, and without values, each group the longest first."""
    names = _cut_names(tuple([entry.name for entry in entries]))
    whole = [(entry.name, entry.value) for entry in entries]
    short = [_without_unit(entry.value) for entry in entries]
    rounded = list(map(_rounded, short))
    pairs = [list(zip(cut, values, strict=True)) for values in (short, rounded) for cut in names]
    ambiguous = any(name[-1:].isdigit() for name in names[-1])
    return (
        [TitleFormat(whole, "  "), *map(TitleFormat, pairs)],
        [] if ambiguous else [TitleFormat(pairs[-1], glue="")],
        [TitleFormat([(name, "") for name in cut]) for cut in names],
    )


@lru_cache(maxsize=64)
def _cut_names(names: tuple[str, ...]) -> Sequence[Sequence[str]]:
    """Return the names shortened to each of `NAME_LENGTHS`, none of them to an ambiguous prefix."""
    least = _unique_lengths(names)
    return [
        [name[: max(length, at_least)].rstrip(" ,") for name, at_least in zip(names, least, strict=True)]
        for length in NAME_LENGTHS
    ]


def _unique_lengths(names: Sequence[str]) -> list[int]:
    """Return the length of each name's shortest unique prefix, or of the name if it has none."""
    return [
        next(
            (n for n in range(1, len(name)) if sum(other[:n] == name[:n] for other in names) == 1), len(name)
        )
        for name in names
    ]


def _without_unit(value: str) -> str:
    """Shorten the unit of a value, since the axis shows it: ``32.5 MiB`` to ``32.5M``."""
    return value.removesuffix("/s").removesuffix("iB").replace(" ", "")


def _rounded(value: str) -> str:
    """Round a value without unit to two digits: ``32.5M`` to ``32M``."""
    number = re.match(r"\d+\.\d+", value)
    if not number:
        return value
    found = float(number[0])
    return f"{found:.{0 if found >= 10 else 1}f}{value[number.end() :]}"
