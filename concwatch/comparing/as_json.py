"""A comparison as one JSON object: figures in their own unit, shares of 1."""

import math
from collections.abc import Mapping
from typing import Any

from concwatch.comparing.comparison import Comparison
from concwatch.comparing.report import RULE, why_missing
from concwatch.comparing.side import Fact, Side, Subject

MEASURED = ("median", "low", "high", "count", "spread")


def as_object(comparison: Comparison) -> dict[str, object]:
    """Return the object that ``concwatch compare --json`` prints; null is what is unknown or not finite."""
    failing = set(comparison.failing)
    return {
        "a": _side(comparison.a),
        "b": _side(comparison.b),
        "rule": RULE,
        "cautions": list(comparison.cautions),
        "figures": [
            {
                **_subject(subject),
                "a": _known(found.a, *MEASURED),
                "b": _known(found.b, *MEASURED),
                "difference": found.change if math.isfinite(found.change) else None,
                **_known(found, "ratio", "worse_by", "spread_known"),
                "counts": found.real,
                "verdict": found.verdict,
                "fails": subject in failing,
            }
            for subject, found in comparison.differences.items()
        ],
        "only_in_a": _only(comparison, comparison.a, comparison.b),
        "only_in_b": _only(comparison, comparison.b, comparison.a),
        "fail_over_percent": comparison.percent,
        "fails": bool(failing),
    }


def _side(side: Side) -> dict[str, object]:
    return {
        "file": side.name,
        "kind": side.kind,
        "told": side.told,
        "facts": _texts(side.facts),
        "engines": {engine: _texts(facts) for engine, facts in side.engine_facts.items()},
        "notes": list(side.notes),
    }


def _texts(facts: Mapping[str, Fact]) -> dict[str, str]:
    return {name: fact.text for name, fact in facts.items()}


def _subject(subject: Subject) -> dict[str, object]:
    told = {name: getattr(subject, name) for name in ("section", "name", "engine", "size")}
    return {**told, "figure": subject.key, "unit": subject.quantity.counted}


def _only(both: Comparison, own: Side, other: Side) -> list[dict[str, object]]:
    return [{**_subject(each), "reason": why_missing(each, other)} for each in both.only_in(own)]


def _known(of: object, *names: str) -> dict[str, Any]:
    """Return what is called ``names``, None for what is not finite."""
    found = {name: getattr(of, name) for name in names}
    return {name: value if value is None or math.isfinite(value) else None for name, value in found.items()}
