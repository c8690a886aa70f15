"""A comparison as a person reads it: text for a terminal, and Markdown."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from concwatch.comparing.comparison import Comparison
from concwatch.comparing.difference import Difference
from concwatch.comparing.side import Side, Subject
from concwatch.layout import WIDTH, Piece, aligned, cut, markdown, markdown_table, without_unknown, wrapped
from concwatch.units import UNKNOWN, format_count, format_figure, format_percent

RULE = (
    "Beyond the spread: the ranges of A and B, lowest to highest, have no value in common. "
    "Spread unknown: one value each, so any difference counts."
)
"""The rule of `concwatch.comparing.difference`, for a person."""

HEADER = ("A", "spread", "B", "spread", "difference", "ratio")


SHORTEST_LABEL = 12
"""Columns that are left of a label, however much room the figures take."""


@dataclass(frozen=True)
class FigureRow:
    """One figure of both."""

    label: str
    size: int
    cells: tuple[str, ...]
    """Below `HEADER`; what is not known is `UNKNOWN`."""
    verdict: str
    tone: str
    """How it is meant, as that of a `Piece`."""


def table_lines(comparison: Comparison) -> Iterable[Piece]:
    """Write the comparison for a terminal."""
    a, b = comparison.a, comparison.b
    yield from wrapped(f"{b.name} against {a.name}", "heading", "  ")
    for letter, side in (("A", a), ("B", b)):
        yield from wrapped(f"{letter}: {side.name}, {side.told}", "quiet", "  ")
    for caution in _cautions(comparison):
        yield from wrapped(f"caution · {caution}", "doubt", "  ")
    yield Piece("")
    yield from _grid(_sections(comparison))
    for line in (*_unmatched(comparison), RULE):
        yield from wrapped(line, "quiet", "  ")
    yield from wrapped(_sentence(comparison), "" if comparison.failing else "good", "  ")
    for failure in _failures(comparison):
        yield from wrapped(f"fails · {failure}", "bad", "  ")


def _grid(sections: Mapping[str, Sequence[FigureRow]]) -> Iterable[Piece]:
    """Write a table a section; columns stand below each other in all of them."""
    rows = [row for group in sections.values() for row in group]
    titles, *cells = without_unknown([HEADER, *(row.cells for row in rows)])
    table = [[*titles, ""], *([*each, row.verdict] for each, row in zip(cells, rows, strict=True))]
    title, *lines = aligned(table, left=[len(titles)])
    longest = max(map(len, (*sections, *(row.label for row in rows))))
    width = max(SHORTEST_LABEL, min(longest, WIDTH - 2 - max(map(len, lines))))
    left = iter(lines)
    for name, group in sections.items():
        if len(name) > width:
            yield from wrapped(name, "heading", "  ")
        yield Piece(f"{name if len(name) <= width else '':{width}}  {title}", "heading")
        for row in group:
            yield Piece(f"{cut(row.label, width):{width}}  {next(left)}", row.tone)
        yield Piece("")


def report_markdown(comparison: Comparison) -> str:
    """Write the comparison as a section of a document."""
    return "\n".join(_markdown(comparison)) + "\n"


def _markdown(comparison: Comparison) -> Iterable[str]:
    a, b = comparison.a, comparison.b
    yield f"### {markdown(f'{b.name} against {a.name}')}"
    yield ""
    for letter, side in (("A", a), ("B", b)):
        yield f"- {letter}: {markdown(f'{side.name}, {side.told}')}"
    for caution in _cautions(comparison):
        yield f"- **caution**: {markdown(caution)}"
    for name, rows in _sections(comparison).items():
        yield ""
        table = [(name, *HEADER, ""), *((row.label, *row.cells, row.verdict) for row in rows)]
        yield from markdown_table(table, left=[0, len(HEADER) + 1])
    yield ""
    for line in _unmatched(comparison):
        yield f"- {markdown(line)}"
    yield ""
    yield markdown(f"{_sentence(comparison)} {RULE}")
    if comparison.failing and comparison.percent is not None:
        yield from ("", f"**Worse by more than {_percentage(comparison.percent)}:**", "")
        for failure in _failures(comparison):
            yield f"- {markdown(failure)}"


def _label(subject: Subject) -> str:
    """Name a figure within its section."""
    return subject.name if subject.size is None else f"{format_count(subject.size)} {subject.name}"


def _full_name(subject: Subject) -> str:
    """Name a figure."""
    return f"{subject.section} · {_label(subject)}"


def _sections(comparison: Comparison) -> Mapping[str, Sequence[FigureRow]]:
    """Return the rows by section; those of a table by size."""
    found: dict[str, list[FigureRow]] = {}
    failing = set(comparison.failing)
    for subject, difference in comparison.differences.items():
        tone = "" if not difference.real else "doubt" if difference.worse_by > 0 else "good"
        tone = "bad" if subject in failing else tone
        row = FigureRow(_label(subject), subject.size or 0, _cells(difference), difference.verdict, tone)
        found.setdefault(subject.section, []).append(row)
    return {name: sorted(rows, key=lambda row: row.size) for name, rows in found.items()}


def _cells(difference: Difference) -> tuple[str, ...]:
    quantity, ratio = difference.quantity, difference.ratio
    values = [
        (quantity.shown(each.median), UNKNOWN if each.spread is None else format_percent(each.spread))
        for each in (difference.a, difference.b)
    ]
    change = quantity.shown_change(difference.change)
    return (*values[0], *values[1], change, UNKNOWN if ratio is None else format_figure(ratio, 3))


def _cautions(comparison: Comparison) -> Iterable[str]:
    """Return what to know before believing the figures, a line each."""
    yield from comparison.cautions
    for letter, side in (("A", comparison.a), ("B", comparison.b)):
        for note in side.notes:
            yield f"{letter}: {note}"


def _unmatched(comparison: Comparison) -> Iterable[str]:
    """Return what only one has a figure of, a line a section."""
    a, b = comparison.a, comparison.b
    for letter, own, other in (("A", a, b), ("B", b, a)):
        grouped: dict[str, list[Subject]] = {}
        for subject in comparison.only_in(own):
            grouped.setdefault(subject.section, []).append(subject)
        others = {subject.section for subject in other.figures}
        all_own = [subject.section for subject in own.figures]
        for section, group in grouped.items():
            whole = section not in others and len(group) == all_own.count(section)
            reasons = [why_missing(each, other) for each in group]
            names = (
                f"{_label(each)} (there {reason})" if reason else _label(each)
                for each, reason in zip(group, reasons, strict=True)
            )
            yield f"only in {letter}: {section}" + ("" if whole else f": {', '.join(names)}")


def why_missing(subject: Subject, other: Side) -> str | None:
    """Return why the ``other`` side has no figure of ``subject``; None where that is not known."""
    if subject in other.missing:
        return other.missing[subject]
    there = (each for each in other.figures if _full_name(each) == _full_name(subject))
    options = dict(next(there, subject).options)
    differing = [
        f"{name} {options.get(name)}" for name, value in subject.options if options.get(name) != value
    ]
    return f"with {', '.join(differing)}" if differing else None


def _sentence(comparison: Comparison) -> str:
    """Sum it up."""
    found = list(comparison.differences.values())
    real = [difference for difference in found if difference.real]
    worse = sum(difference.worse_by > 0 for difference in real)
    better = sum(difference.worse_by < 0 for difference in real)
    other = len(real) - worse - better
    differ = f" {other} differ{'s' if other == 1 else ''}," if other else ""
    counts = f"{worse} worse, {better} better,{differ} {len(found) - len(real)} within the spread or equal."
    if comparison.percent is None:
        return counts
    failing = len(comparison.failing)
    what = f"{failing} of them worse" if failing else "Nothing is worse"
    return f"{counts} {what} by more than {_percentage(comparison.percent)}."


def _failures(comparison: Comparison) -> Iterable[str]:
    """Name what is worse by more than may be, a line each."""
    for subject in comparison.failing:
        found = comparison.differences[subject]
        by = f"by {format_percent(found.worse_by)}" if math.isfinite(found.worse_by) else "than none"
        values = " → ".join(found.quantity.shown(each.median) for each in (found.a, found.b))
        unknown = "" if found.spread_known else ", spread unknown"
        yield f"{_full_name(subject)}: {values}, worse {by}{unknown}"


def _percentage(percent: float) -> str:
    """Write what ``--fail-over`` was given."""
    return f"{format_figure(percent, 4) if percent % 1 else format_count(percent)} %"
