"""A comparison as text tables for a terminal, line by line."""

import textwrap
from collections.abc import Iterable, Sequence

from concwatch.comparing.comparison import Comparison
from concwatch.comparing.report import (
    HEADER,
    RULE,
    cautions,
    failures,
    sections,
    sentence,
    sides,
    title,
    unmatched,
)
from concwatch.experiments.report import flat
from concwatch.experiments.table import WIDTH, Line
from concwatch.units import UNKNOWN

SHORTEST_LABEL = 12
"""Columns that are left of a label, however much room the figures take."""


def table_lines(comparison: Comparison) -> Iterable[Line]:
    """Write the whole comparison."""
    yield from _wrapped(title(comparison), "heading")
    for letter, side in sides(comparison):
        yield from _wrapped(f"{letter}: {side.name}, {side.told}", "quiet")
    for caution in cautions(comparison):
        yield from _wrapped(f"caution · {caution}", "doubt")
    yield Line("")
    yield from _grid(comparison)
    for line in unmatched(comparison):
        yield from _wrapped(line, "quiet")
    yield from _wrapped(RULE, "quiet")
    failing = list(failures(comparison))
    yield from _wrapped(sentence(comparison), "" if failing else "good")
    for failure in failing:
        yield from _wrapped(f"fails · {failure}", "bad")


def _wrapped(text: str, tone: str = "") -> Iterable[Line]:
    for line in textwrap.wrap(flat(text), WIDTH, subsequent_indent="  ") or [""]:
        yield Line(line, tone)


def _grid(comparison: Comparison) -> Iterable[Line]:
    """Write a table a section; columns stand below each other in all of them."""
    found = sections(comparison)
    rows = [row for group in found.values() for row in group]
    known = [
        number
        for number, name in enumerate(HEADER)
        if name != "spread" or any(row.cells[number] != UNKNOWN for row in rows)
    ]
    titles = [HEADER[number] for number in known]
    table = [[row.cells[number] for number in known] for row in rows]
    widths = [max(map(len, column)) for column in zip(titles, *table, strict=True)]
    verdicts = max(len(row.difference.verdict) for row in rows)
    room = WIDTH - sum(widths) - 2 * len(widths) - 2 - verdicts
    longest = max(len(row.label) for row in rows)
    names = max(SHORTEST_LABEL, min(room, max(longest, *map(len, found))))
    for name, group in found.items():
        heading = name if len(name) <= names else ""
        if not heading:
            yield from _wrapped(name, "heading")
        yield Line(_join([heading, *titles, ""], [names, *widths, 0]), "heading")
        for row in group:
            cells = [_cut(row.label, names), *(row.cells[number] for number in known), row.difference.verdict]
            yield Line(_join(cells, [names, *widths, 0]), row.tone)
        yield Line("")


def _join(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Put cells side by side, the first and the last to the left."""
    last = len(cells) - 1
    padded = [
        cell.ljust(width) if number in (0, last) else cell.rjust(width)
        for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(padded).rstrip()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
