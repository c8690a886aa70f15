"""What stands in a chart's title: what it shows, and as many current values as there is room for."""

import math
import re
from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct
from rich.cells import cell_len

from concwatch.charts.lines import Line
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


def caption(title: str, entries: Sequence[Entry], width: int, brief: str = "") -> list[tuple[str, str]]:
    """Return a title and as many entries as fit into ``width`` cells; a value is whole or not there.

    The units give way first, then all but two digits; with each of them the names, down to what tells them
    apart; then the title, to ``brief`` or word by word, down to `SHORTEST_TITLE`; then entries are left off
    from the end, with ``…``.

    Args:
        title: what the chart shows.
        entries: what is told of each line.
        width: cells there are.
        brief: the title where there is little room.

    Returns:
        Texts in a row, each with its style.
    """
    shortest = min(len(brief or title), SHORTEST_TITLE)
    names = [entry.name for entry in entries]
    least = apart(names)
    forms = [
        (names, [entry.value for entry in entries], "  "),
        *(
            ([name[: max(length, at_least)] for name, at_least in zip(names, least, strict=True)], short, " ")
            for short in (
                [_without_unit(entry.value) for entry in entries],
                [_rounded(_without_unit(entry.value)) for entry in entries],
            )
            for length in (CUTS if any(entry.value for entry in entries) else CUTS[:1])
        ),
    ]

    def cells(form: tuple[list[str], list[str], str], shown: int) -> int:
        texts = [f"{name} {value}".strip() for name, value in zip(*form[:2], strict=True)][:shown]
        return cell_len(form[2].join([*texts, *(["…"] if shown < len(names) else [])])) + 2 if names else 0

    shown = len(names)
    form = next(
        (form for room in (len(title), shortest) for form in forms if room + cells(form, shown) <= width),
        forms[-1],
    )
    while shown and shortest + cells(form, shown) > width:
        shown -= 1
    room = max(width - cells(form, shown), min(width, shortest))
    heading = title if len(title) <= room else _shorten(brief or title, room)
    parts = [(heading, "")]
    for index, (entry, name, value) in enumerate(zip(entries[:shown], *form[:2], strict=False)):
        parts += [(form[2] if index else "  ", ""), (name, entry.color)]
        parts += [(" ", ""), (value, f"bold {entry.color}")] if value else []
    if shown < len(names) and len(heading) + cells(form, shown) <= width:
        parts.append((form[2] + "…" if shown else "  …", ""))
    return parts


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
