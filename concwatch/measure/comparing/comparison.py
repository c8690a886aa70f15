"""Comparison of two sides, metric by metric, and which differences count.

The rule: a difference is beyond the spread when the ranges of A and B, each from its lowest to its highest
value, have no value in common. Ranges that touch have one in common; a single value is its own range.
When both sides have a single value, the spread is unknown: any difference counts, and the verdict says so.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from concwatch.measure.comparing.side import Fact, Side, Subject
from concwatch.measure.measured import Measured

EXACT = 9
"""Decimals of a share that are compared; beyond them lie floating-point errors."""


@dataclass(frozen=True)
class Difference:
    """One metric of both sides."""

    a: Measured
    b: Measured
    worse: int
    """1 if more is worse, -1 if less is worse, 0 if neither is."""

    @property
    def change(self) -> float:
        """B minus A, in the metric's own unit."""
        return self.b.median - self.a.median

    @property
    def ratio(self) -> float | None:
        """B divided by A; None where that is undefined."""
        a, b = self.a.median, self.b.median
        ratio = b / a if a > 0 and b >= 0 else math.inf
        return ratio if math.isfinite(ratio) else None

    @property
    def spread_known(self) -> bool:
        """Whether at least one side has a range of values."""
        return len(self.a.values) > 1 or len(self.b.values) > 1

    @property
    def significant(self) -> bool:
        """Whether the difference counts, by the module's rule."""
        return bool(self.change) and (self.a.high < self.b.low or self.b.high < self.a.low)

    @property
    def worse_by(self) -> float:
        """How much worse B is, as a share of A: negative if better, infinite if A is 0."""
        change = self.worse * self.change
        if not change:
            return 0.0
        return round(change / abs(self.a.median), EXACT) if self.a.median else math.copysign(math.inf, change)

    def fails(self, percent: float) -> bool:
        """Return whether the difference counts and B is worse by more than ``percent`` of A."""
        return self.significant and self.worse_by > round(percent / 100, EXACT)

    @property
    def verdict(self) -> str:
        """The conclusion, in a few words."""
        if not self.change:
            return "equal"
        if not self.significant:
            return "within the spread"
        word = ("differs", "worse", "better")[(self.worse_by > 0) - (self.worse_by < 0)]
        return word if self.spread_known else f"{word}, spread unknown"


@dataclass(frozen=True)
class Comparison:
    """The metrics that two sides share, and the ones that only one has."""

    a: Side
    b: Side
    differences: Mapping[Subject, Difference]
    """Subject → difference, in the order of A."""
    cautions: tuple[str, ...]
    """Other conditions that differ, a line each."""
    percent: float | None = None
    """How much worse a metric may be before it fails; None if it never does."""

    @property
    def failing(self) -> list[Subject]:
        """The subjects whose metrics are worse than allowed."""
        percent = math.inf if self.percent is None else self.percent
        return [subject for subject, found in self.differences.items() if found.fails(percent)]

    @property
    def lost(self) -> list[str]:
        """What makes B fail besides its metrics: engines that it lacks, or whose tasks fail only there."""
        if self.percent is None:
            return []
        a, b = self.a.states, self.b.states
        missing = [f"{engine}: missing in B" for engine in a if engine not in b]
        broken = [f"{engine}: {b[engine]} in B" for engine in a if b.get(engine) and not a[engine]]
        return missing + broken

    def only_in(self, own: Side) -> list[Subject]:
        """Return the subjects that only ``own``, one of the two sides, has metrics of."""
        return [subject for subject in own.metrics if subject not in self.differences]


def compare(a: Side, b: Side, percent: float | None = None) -> Comparison:
    """Compare B with A; a metric fails if it is worse by more than ``percent`` of A's.

    Raises:
        ValueError: one line: the sides are of different kinds, or have nothing in common.
    """
    if a.kind != b.kind:
        raise ValueError(
            f'"{a.name}" is {a.kind} and "{b.name}" is {b.kind}; only two of the same kind compare'
        )
    for side in (a, b):
        if not side.metrics:
            reasons = "; ".join([*side.notes, *dict.fromkeys(side.missing.values())])
            why = reasons or "no engine of it has run a task"
            raise ValueError(f'"{side.name}" has no figure to compare: {why}')
    if not set(a.engines) & set(b.engines):
        raise ValueError(
            f'"{a.name}" has {", ".join(a.engines)}, "{b.name}" has {", ".join(b.engines)}; '
            "only engines that both have are compared"
        )
    both = {
        subject: Difference(measured, b.metrics[subject], subject.worse)
        for subject, measured in a.metrics.items()
        if subject in b.metrics
    }
    if not both:
        raise ValueError(f'"{a.name}" and "{b.name}" have no metric in common')
    return Comparison(a, b, both, tuple(_cautions(a, b)), percent)


def _cautions(a: Side, b: Side) -> Iterable[str]:
    yield from (f"{name}: {values}" for name, values in _differing(a.facts, b.facts))
    common = [name for name in a.engine_facts if name in b.engine_facts]
    found: dict[tuple[str, str], list[str]] = {}
    for name in common:
        for differing in _differing(a.engine_facts[name], b.engine_facts[name]):
            found.setdefault(differing, []).append(name)
    for (fact, values), names in found.items():
        whose = "" if len(names) == len(common) > 1 else f" ({', '.join(names)})"
        yield f"{fact}{whose}: {values}"


def _differing(a: Mapping[str, Fact], b: Mapping[str, Fact]) -> Iterable[tuple[str, str]]:
    for name, fact in a.items():
        if name in b and fact.differs(b[name]):
            yield name, f"A {fact.text or 'not known'}, B {b[name].text or 'not known'}"
