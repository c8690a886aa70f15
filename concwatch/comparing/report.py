"""What all reports of a comparison have in common: its lines as a person reads them, and its sentences."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from concwatch.comparing.comparison import Comparison
from concwatch.comparing.difference import Difference
from concwatch.comparing.side import Side, Subject
from concwatch.units import UNKNOWN, format_count, format_figure, format_percent

RULE = (
    "Beyond the spread: the ranges of A and B, lowest to highest, have no value in common. "
    "Spread unknown: one value each, so any difference counts."
)
"""The rule of `concwatch.comparing.difference`, for a person."""

HEADER = ("A", "spread", "B", "spread", "difference", "ratio")


@dataclass(frozen=True)
class Row:
    """One figure of both."""

    subject: Subject
    difference: Difference
    cells: tuple[str, ...]
    """Below `HEADER`; what is not known is `UNKNOWN`."""
    tone: str
    """How it is meant, as the lines of an experiment's table are."""

    @property
    def label(self) -> str:
        """Which figure it is."""
        return label(self.subject)


def label(subject: Subject) -> str:
    """Name a figure within its section."""
    return subject.name if subject.size is None else f"{format_count(subject.size)} {subject.name}"


def full_name(subject: Subject) -> str:
    """Name a figure."""
    return f"{subject.section} · {label(subject)}"


def sections(comparison: Comparison) -> Mapping[str, Sequence[Row]]:
    """Give the rows by section; those of a table by size."""
    found: dict[str, list[Row]] = {}
    failing = set(comparison.failing)
    for subject, difference in comparison.differences.items():
        row = Row(subject, difference, _cells(difference), _tone(difference, subject in failing))
        found.setdefault(subject.section, []).append(row)
    return {name: sorted(rows, key=lambda row: row.subject.size or 0) for name, rows in found.items()}


def _cells(difference: Difference) -> tuple[str, ...]:
    shown, ratio = difference.quantity.shown, difference.ratio
    return (
        shown(difference.a.median),
        _spread(difference.a.spread),
        shown(difference.b.median),
        _spread(difference.b.spread),
        difference.quantity.shown_change(difference.change),
        UNKNOWN if ratio is None else format_figure(ratio, 3),
    )


def _spread(spread: float | None) -> str:
    return UNKNOWN if spread is None else format_percent(spread)


def _tone(difference: Difference, fails: bool) -> str:
    if fails:
        return "bad"
    if not difference.real:
        return ""
    return "doubt" if difference.worse_by > 0 else "good"


def sides(comparison: Comparison) -> Iterable[tuple[str, Side]]:
    """Give both, with what they are called."""
    return ("A", comparison.a), ("B", comparison.b)


def title(comparison: Comparison) -> str:
    """Say what is compared."""
    return f"{comparison.b.name} against {comparison.a.name}"


def cautions(comparison: Comparison) -> Iterable[str]:
    """Say what to know before believing the figures, a line each."""
    yield from comparison.cautions
    for letter, side in sides(comparison):
        for note in side.notes:
            yield f"{letter}: {note}"


def unmatched(comparison: Comparison) -> Iterable[str]:
    """Say what only one has a figure of, a line a section."""
    pairs = (
        ("A", comparison.only_in_a, comparison.a, comparison.b),
        ("B", comparison.only_in_b, comparison.b, comparison.a),
    )
    for letter, subjects, own, other in pairs:
        grouped: dict[str, list[Subject]] = {}
        for subject in subjects:
            grouped.setdefault(subject.section, []).append(subject)
        others = {subject.section for subject in other.figures}
        all_own = [subject.section for subject in own.figures]
        for section, group in grouped.items():
            whole = section not in others and len(group) == all_own.count(section)
            names = "" if whole else ": " + ", ".join(_with_reason(each, other) for each in group)
            yield f"only in {letter}: {section}{names}"


def why_missing(subject: Subject, other: Side) -> str | None:
    """Say why the ``other`` side has no figure of ``subject``; None where that is not known."""
    if subject in other.missing:
        return other.missing[subject]
    there = (each for each in other.figures if full_name(each) == full_name(subject))
    options = dict(next(there, subject).options)
    differing = [
        f"{name} {options.get(name)}" for name, value in subject.options if options.get(name) != value
    ]
    return f"with {', '.join(differing)}" if differing else None


def _with_reason(subject: Subject, other: Side) -> str:
    reason = why_missing(subject, other)
    return f"{label(subject)} (there {reason})" if reason else label(subject)


def sentence(comparison: Comparison) -> str:
    """Sum it up."""
    found = list(comparison.differences.values())
    real = [difference for difference in found if difference.real]
    worse = sum(difference.worse_by > 0 for difference in real)
    counts = (
        f"{worse} worse, {len(real) - worse} better, {len(found) - len(real)} within the spread or equal."
    )
    if comparison.percent is None:
        return counts
    failing = len(comparison.failing)
    what = f"{failing} of them worse" if failing else "Nothing is worse"
    return f"{counts} {what} by more than {percentage(comparison.percent)}."


def failures(comparison: Comparison) -> Iterable[str]:
    """Name what is worse by more than may be, a line each."""
    for subject in comparison.failing:
        found = comparison.differences[subject]
        by = f"by {format_percent(found.worse_by)}" if math.isfinite(found.worse_by) else "than none"
        values = " → ".join(found.quantity.shown(each.median) for each in (found.a, found.b))
        unknown = "" if found.spread_known else ", spread unknown"
        yield f"{full_name(subject)}: {values}, worse {by}{unknown}"


def percentage(percent: float) -> str:
    """Write what ``--fail-over`` was given."""
    return f"{format_figure(percent, 4) if percent % 1 else format_count(percent)} %"
