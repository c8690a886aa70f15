"""A comparison as one JSON object: figures in their own unit, shares of 1."""

import math
from collections.abc import Iterable

from concwatch.comparing.comparison import Comparison
from concwatch.comparing.difference import Difference, Measured
from concwatch.comparing.report import RULE, why_missing
from concwatch.comparing.side import Side, Subject


def as_object(comparison: Comparison) -> dict[str, object]:
    """Give the object that ``concwatch compare --json`` prints; null is what is not known, or not finite."""
    failing = set(comparison.failing)
    return {
        "a": _side(comparison.a),
        "b": _side(comparison.b),
        "rule": RULE,
        "cautions": list(comparison.cautions),
        "figures": [
            {
                **_subject(subject),
                "a": _measured(found.a),
                "b": _measured(found.b),
                **_difference(found),
                "fails": subject in failing,
            }
            for subject, found in comparison.differences.items()
        ],
        "only_in_a": _only(comparison.only_in_a, comparison.b),
        "only_in_b": _only(comparison.only_in_b, comparison.a),
        "fail_over_percent": comparison.percent,
        "fails": bool(failing),
    }


def _side(side: Side) -> dict[str, object]:
    return {
        "file": side.name,
        "kind": side.kind,
        "told": side.told,
        "facts": {name: fact.text for name, fact in side.facts.items()},
        "engines": {
            engine: {name: fact.text for name, fact in facts.items()}
            for engine, facts in side.engine_facts.items()
        },
        "notes": list(side.notes),
    }


def _subject(subject: Subject) -> dict[str, object]:
    return {
        "section": subject.section,
        "name": subject.name,
        "engine": subject.engine,
        "size": subject.size,
        "figure": subject.key,
        "unit": subject.quantity.counted,
    }


def _measured(measured: Measured) -> dict[str, object]:
    return {
        "median": measured.median,
        "low": measured.low,
        "high": measured.high,
        "count": measured.count,
        "spread": _finite(measured.spread),
    }


def _difference(found: Difference) -> dict[str, object]:
    return {
        "difference": _finite(found.change),
        "ratio": _finite(found.ratio),
        "worse_by": _finite(found.worse_by),
        "spread_known": found.spread_known,
        "counts": found.real,
        "verdict": found.verdict,
    }


def _only(subjects: Iterable[Subject], other: Side) -> list[dict[str, object]]:
    return [{**_subject(subject), "reason": why_missing(subject, other)} for subject in subjects]


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
