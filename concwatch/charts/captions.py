"""What stands in a chart's title: what it shows, and as many current values as there is room for."""

import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.cells import cell_len

from concwatch.charts.lines import Line
from concwatch.charts.plot import Plot
from concwatch.charts.scales import Kind

SHORTEST_TITLE = 8
"""Cells a chart's title keeps when it makes room for values."""

LATE = 0.5
"""Seconds in which the newest samples may wait for what the next tick tells of them."""

CUTS = (99, 4, 3, 2, 1)
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


Form = tuple[str, Sequence[tuple[str, str]]]
"""What stands between entries, and the name and value of each."""


def caption(title: str, entries: Sequence[Entry], width: int, brief: str = "") -> list[tuple[str, str]]:
    """Return a title and as many entries as fit into ``width`` cells, each text with its style.

    A value is whole or not there. The units give way first, then all but two digits; with each of them the
    names, down to what tells them apart; then the title, to ``brief`` or word by word, down to
    `SHORTEST_TITLE`; then entries are left off from the end, with ``…``.
    """
    shortest, count, forms = min(len(brief or title), SHORTEST_TITLE), len(entries), list(_forms(entries))

    def cells(form: Form, shown: int) -> int:
        gap, pairs = form
        texts = [f"{name} {value}".strip() for name, value in pairs[:shown]]
        return cell_len(gap.join([*texts, *(["…"] if shown < count else [])])) + 2 if count else 0

    options = [(room, form, count) for room in (len(title), shortest) for form in forms]
    options += [(shortest, forms[-1], shown) for shown in range(count - 1, -1, -1)]
    _, form, shown = next((each for each in options if each[0] + cells(*each[1:]) <= width), options[-1])
    room = max(width - cells(form, shown), min(width, shortest))
    heading = title if len(title) <= room else _shorten(brief or title, room)
    gap, pairs = form
    parts = [(heading, "")]
    for index, ((name, value), entry) in enumerate(zip(pairs[:shown], entries, strict=False)):
        parts += [(gap if index else "  ", ""), (name, entry.color)]
        parts += [(" ", ""), (value, f"bold {entry.color}")] if value else []
    if shown < count and len(heading) + cells(form, shown) <= width:
        parts.append((gap + "…" if shown else "  …", ""))
    return parts


def _forms(entries: Sequence[Entry]) -> Iterator[Form]:
    """Yield how entries can be written, the longest first."""
    yield "  ", [(entry.name, entry.value) for entry in entries]
    least = apart([entry.name for entry in entries])
    for shorten in (_without_unit, lambda value: _rounded(_without_unit(value))):
        for length in CUTS if any(entry.value for entry in entries) else CUTS[:1]:
            yield (
                " ",
                [
                    (entry.name[: max(length, at_least)], shorten(entry.value))
                    for entry, at_least in zip(entries, least, strict=True)
                ],
            )


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


def _shorten(title: str, room: int) -> str:
    """Return as many whole words of a title as there is room for, or the beginning of the first."""
    if len(title) <= room:
        return title
    words = title[: room + 1].rpartition(" ")[0].rstrip(" /·")
    return words or title[: max(0, room - 1)].rstrip() + "…"
