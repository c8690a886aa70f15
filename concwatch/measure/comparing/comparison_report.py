"""Reports of a comparison: a text table for the terminal, Markdown, and a JSON object."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from concwatch.measure.comparing.comparison import Comparison, Difference
from concwatch.measure.comparing.side import Fact, Side, Subject
from concwatch.measure.layout import (
    WIDTH,
    Piece,
    aligned,
    cut,
    markdown,
    markdown_table,
    without_unknown,
    wrapped,
)
from concwatch.measure.measured import Measured
from concwatch.portable.protocol.units import UNKNOWN, format_count, format_number, format_percent

RULE = (
    "Beyond the spread: the ranges of A and B, lowest to highest, have no value in common. "
    "Spread unknown: one value each, so any difference counts."
)
"""The rule of `concwatch.measure.comparing.comparison` as reports state it."""

HEADER = ("A", "spread", "B", "spread", "difference", "ratio")

MIN_LABEL_WIDTH = 12
"""Columns that a label keeps, however wide the metrics are."""


@dataclass(frozen=True)
class MetricRow:
    """One row of a report: a metric of both sides."""

    label: str
    size: int
    cells: tuple[str, ...]
    """A text for each column of `HEADER`; `UNKNOWN` for a value that is not known."""
    verdict: str
    tone: str
    """The tone of its `Piece`."""


def table_lines(comparison: Comparison) -> Iterable[Piece]:
    """Yield the lines of the text table for a terminal."""
    yield from wrapped(_title(comparison), "heading", "  ")
    for line in _sides(comparison):
        yield from wrapped(line, "quiet", "  ")
    for caution in _cautions(comparison):
        yield from wrapped(f"caution · {caution}", "caution", "  ")
    yield Piece("")
    yield from _grid(_sections(comparison))
    for line in (*_unmatched(comparison), RULE):
        yield from wrapped(line, "quiet", "  ")
    for line in moves(comparison):
        yield from wrapped(line, "", "  ")
    yield from wrapped(_sentence(comparison), "" if comparison.failing or comparison.lost else "good", "  ")
    for failure in _failures(comparison):
        yield from wrapped(f"fails · {failure}", "bad", "  ")


def _grid(sections: Mapping[str, Sequence[MetricRow]]) -> Iterable[Piece]:
    """Yield a table for each section, with the same columns in all."""
    rows = [row for group in sections.values() for row in group]
    titles, *cells = without_unknown([HEADER, *(row.cells for row in rows)])
    table = [[*titles, ""], *([*each, row.verdict] for each, row in zip(cells, rows, strict=True))]
    title, *lines = aligned(table, left=[len(titles)])
    longest = max(map(len, (*sections, *(row.label for row in rows))))
    width = max(MIN_LABEL_WIDTH, min(longest, WIDTH - 2 - max(map(len, lines))))
    left = iter(lines)
    for name, group in sections.items():
        if len(name) > width:
            yield from wrapped(name, "heading", "  ")
        yield Piece(f"{name if len(name) <= width else '':{width}}  {title}", "heading")
        for row in group:
            yield Piece(f"{cut(row.label, width):{width}}  {next(left)}", row.tone)
        yield Piece("")


def report_markdown(comparison: Comparison) -> str:
    """Return the comparison as a section of a Markdown document."""
    lines = [f"### {markdown(_title(comparison))}", ""]
    lines += [f"- {markdown(line)}" for line in _sides(comparison)]
    lines += [f"- **caution**: {markdown(caution)}" for caution in _cautions(comparison)]
    for name, rows in _sections(comparison).items():
        table = [(name, *HEADER, ""), *((row.label, *row.cells, row.verdict) for row in rows)]
        lines += ["", *markdown_table(table, left=[0, len(HEADER) + 1])]
    lines += ["", *(f"- {markdown(line)}" for line in _unmatched(comparison))]
    lines += [f"- {markdown(line)}" for line in moves(comparison)]
    lines += ["", markdown(f"{_sentence(comparison)} {RULE}")]
    failures = [f"- **fails**: {markdown(failure)}" for failure in _failures(comparison)]
    return "\n".join([*lines, *([""] if failures else []), *failures]) + "\n"


def _title(comparison: Comparison) -> str:
    return f"{comparison.b.name} against {comparison.a.name}"


def _sides(comparison: Comparison) -> Iterable[str]:
    for letter, side in (("A", comparison.a), ("B", comparison.b)):
        yield f"{letter}: {side.name}, {side.origin}"


def _label(subject: Subject) -> str:
    """Return a metric's name within its section."""
    return subject.name if subject.size is None else f"{format_count(subject.size)} {subject.name}"


def _full_name(subject: Subject) -> str:
    return f"{subject.section} · {_label(subject)}"


def _sections(comparison: Comparison) -> Mapping[str, Sequence[MetricRow]]:
    """Return the rows of each section, sorted by size."""
    found: dict[str, list[MetricRow]] = {}
    failing = set(comparison.failing)
    for subject, difference in comparison.differences.items():
        tone = "" if not difference.significant else "caution" if difference.worse_by > 0 else "good"
        tone = "bad" if subject in failing else tone
        cells = _cells(subject, difference)
        row = MetricRow(_label(subject), subject.size or 0, cells, difference.verdict, tone)
        found.setdefault(subject.section, []).append(row)
    return {name: sorted(rows, key=lambda row: row.size) for name, rows in found.items()}


def _cells(subject: Subject, found: Difference) -> tuple[str, ...]:
    a, b = (
        (subject.shown(each.median), UNKNOWN if each.spread is None else format_percent(each.spread))
        for each in (found.a, found.b)
    )
    change = subject.shown(abs(found.change))
    rounds_to_zero = not any(digit in change for digit in "123456789")
    sign = "" if rounds_to_zero else "+" if found.change > 0 else "-"
    ratio = UNKNOWN if found.ratio is None else format_number(found.ratio, 3)
    return (*a, *b, f"{sign}{change}", ratio)


def _cautions(comparison: Comparison) -> Iterable[str]:
    """Yield the reasons for caution, a line each."""
    yield from comparison.cautions
    for letter, side in (("A", comparison.a), ("B", comparison.b)):
        yield from (f"{letter}: {note}" for note in side.notes)


def _unmatched(comparison: Comparison) -> Iterable[str]:
    """Yield the metrics that only one side has, a line for each section."""
    a, b = comparison.a, comparison.b
    for letter, own, other in (("A", a, b), ("B", b, a)):
        grouped: dict[str, list[Subject]] = {}
        for subject in comparison.only_in(own):
            grouped.setdefault(subject.section, []).append(subject)
        others = {subject.section for subject in other.metrics}
        all_own = [subject.section for subject in own.metrics]
        for section, group in grouped.items():
            reasons = {_label(each): why_missing(each, other) for each in group}
            names = [f"{name} (there {why})" if why else name for name, why in reasons.items()]
            whole = section not in others and len(group) == all_own.count(section)
            yield f"only in {letter}: {section}" + ("" if whole else f": {', '.join(names)}")


def why_missing(subject: Subject, other: Side) -> str | None:
    """Return why the ``other`` side has no metric of ``subject``; None if unknown."""
    if subject in other.missing:
        return other.missing[subject]
    there = (each for each in other.metrics if _full_name(each) == _full_name(subject))
    options = dict(next(there, subject).options)
    differing = [
        f"{name} {options.get(name)}" for name, value in subject.options if options.get(name) != value
    ]
    return f"with {', '.join(differing)}" if differing else None


def moves(comparison: Comparison) -> Iterable[str]:
    """Yield whether what metrics say to move has moved, a sentence each."""
    for subject, found in comparison.differences.items():
        if subject.moves:
            a, b = (_with_range(subject, each) for each in (found.a, found.b))
            moved = f"moved from {a} to {b}" if found.significant else f"did not move: {a} before, {b} after"
            yield f"{subject.engine}: the {subject.moves} {moved}."
    for own, other, when in ((comparison.a, comparison.b, "after"), (comparison.b, comparison.a, "before")):
        for subject in comparison.only_in(own):
            why = why_missing(subject, other)
            if subject.moves and why:
                where = _with_range(subject, own.metrics[subject])
                yield f"{subject.engine}: the {subject.moves} moved: {_in_time(where, why, when)}."


def _in_time(known: str, why: str, when: str) -> str:
    """Return what was known before and after; ``why`` it is not known is true ``when``."""
    return f"{known} before; {why} after" if when == "after" else f"{why} before; {known} after"


def _with_range(subject: Subject, found: Measured) -> str:
    value = subject.shown(found.median)
    return f"{value} ({subject.shown(found.low)} to {subject.shown(found.high)})"


def _sentence(comparison: Comparison) -> str:
    """Return the summary in one sentence."""
    found = list(comparison.differences.values())
    significant = [difference for difference in found if difference.significant]
    worse = sum(difference.worse_by > 0 for difference in significant)
    better = sum(difference.worse_by < 0 for difference in significant)
    other = len(significant) - worse - better
    differ = f" {other} differ{'s' if other == 1 else ''}," if other else ""
    rest = len(found) - len(significant)
    counts = f"{worse} worse, {better} better,{differ} {rest} within the spread or equal."
    percent = comparison.percent
    if percent is None:
        return counts
    failing = len(comparison.failing)
    what = f"{failing} of them worse" if failing else "Nothing is worse"
    most = format_number(percent, 4) if percent % 1 else format_count(percent)
    return f"{counts} {what} by more than {most} %."


def _failures(comparison: Comparison) -> Iterable[str]:
    """Yield a line for each engine that B lacks, and for each metric that is worse than allowed."""
    yield from comparison.lost
    for subject in comparison.failing:
        found = comparison.differences[subject]
        by = f"by {format_percent(found.worse_by)}" if math.isfinite(found.worse_by) else "than none"
        values = " → ".join(subject.shown(each.median) for each in (found.a, found.b))
        unknown = "" if found.spread_known else ", spread unknown"
        yield f"{_full_name(subject)}: {values}, worse {by}{unknown}"


# JSON.

MEASURED = ("median", "low", "high", "count", "spread")


def as_object(comparison: Comparison) -> dict[str, object]:
    """Return the object that ``concwatch compare --json`` prints.

    Metrics are in their own units, shares are of 1; None for values that are unknown or not finite.
    """
    a, b, failing = comparison.a, comparison.b, set(comparison.failing)
    return {
        "a": _side(a),
        "b": _side(b),
        "rule": RULE,
        "cautions": list(comparison.cautions),
        "figures": [
            {
                **_subject(subject),
                "a": _known(found.a, *MEASURED),
                "b": _known(found.b, *MEASURED),
                "difference": found.change if math.isfinite(found.change) else None,
                **_known(found, "ratio", "worse_by", "spread_known"),
                "counts": found.significant,
                "verdict": found.verdict,
                "fails": subject in failing,
            }
            for subject, found in comparison.differences.items()
        ],
        "only_in_a": [{**_subject(each), "reason": why_missing(each, b)} for each in comparison.only_in(a)],
        "only_in_b": [{**_subject(each), "reason": why_missing(each, a)} for each in comparison.only_in(b)],
        "moves": [*moves(comparison)],
        "fail_over_percent": comparison.percent,
        "lost": comparison.lost,
        "fails": bool(failing or comparison.lost),
    }


def _side(side: Side) -> dict[str, object]:
    return {
        "file": side.name,
        "kind": side.kind,
        "told": side.origin,
        "facts": _texts(side.facts),
        "engines": {engine: _texts(facts) for engine, facts in side.engine_facts.items()},
        "notes": list(side.notes),
    }


def _texts(facts: Mapping[str, Fact]) -> dict[str, str]:
    return {name: fact.text for name, fact in facts.items()}


def _subject(subject: Subject) -> dict[str, object]:
    found = {name: getattr(subject, name) for name in ("section", "name", "engine", "size")}
    return {**found, "figure": subject.key, "unit": subject.counted}


def _known(of: object, *names: str) -> dict[str, Any]:
    """Return the attributes called ``names``, None for values that are not finite."""
    found = {name: getattr(of, name) for name in names}
    return {name: value if value is None or math.isfinite(value) else None for name, value in found.items()}
