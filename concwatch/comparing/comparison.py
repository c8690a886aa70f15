"""Two sides, figure by figure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from concwatch.comparing.difference import Difference
from concwatch.comparing.side import Fact, Side, Subject


@dataclass(frozen=True)
class Comparison:
    """What two sides have in common, and what only one has."""

    a: Side
    b: Side
    differences: Mapping[Subject, Difference]
    """By subject, in the order of A."""
    cautions: tuple[str, ...]
    """What else differs, a line each."""
    percent: float | None = None
    """By how much a figure may be worse; None for any."""

    @property
    def failing(self) -> list[Subject]:
        """What is worse by more than may be, beyond the spread."""
        percent = self.percent
        if percent is None:
            return []
        return [subject for subject, found in self.differences.items() if found.fails(percent)]

    def only_in(self, own: Side) -> list[Subject]:
        """Return what only this one of both has a figure of."""
        return [subject for subject in own.figures if subject not in self.differences]


def compare(a: Side, b: Side, percent: float | None = None) -> Comparison:
    """Put two sides side by side.

    Args:
        a: what is compared with.
        b: what is judged.
        percent: by how much of A a figure of B may be worse, beyond the spread; None for any.

    Raises:
        ValueError: one line: they are of different kinds, or have nothing in common.
    """
    if a.kind != b.kind:
        raise ValueError(f'"{a.name}" is {a.kind}, "{b.name}" is {b.kind}: expected two of the same')
    for side in (a, b):
        if not side.figures:
            raise ValueError(f'"{side.name}" has no figure to compare: {_nothing(side)}')
    if not set(a.engines) & set(b.engines):
        raise ValueError(
            f'"{a.name}" has {", ".join(a.engines)}, "{b.name}" has {", ".join(b.engines)}: '
            "expected an engine in common"
        )
    both = {
        subject: Difference(subject.quantity, measured, b.figures[subject])
        for subject, measured in a.figures.items()
        if subject in b.figures
    }
    if not both:
        raise ValueError(f'"{a.name}" and "{b.name}" have no figure in common: expected one at least')
    return Comparison(a, b, both, tuple(_cautions(a, b)), percent)


def _nothing(side: Side) -> str:
    reasons = [*side.notes, *dict.fromkeys(side.missing.values())]
    return "; ".join(reasons) or "no engine of it has run a task"


def _cautions(a: Side, b: Side) -> Iterable[str]:
    yield from _differing(a.facts, b.facts)
    common = [name for name in a.engine_facts if name in b.engine_facts]
    found: dict[str, list[str]] = {}
    for name in common:
        for line in _differing(a.engine_facts[name], b.engine_facts[name]):
            found.setdefault(line, []).append(name)
    for line, names in found.items():
        whose = "" if len(names) == len(common) > 1 else f" ({', '.join(names)})"
        fact, colon, rest = line.partition(":")
        yield f"{fact}{whose}{colon}{rest}"


def _differing(a: Mapping[str, Fact], b: Mapping[str, Fact]) -> Iterable[str]:
    for name, fact in a.items():
        if name in b and fact.differs(b[name]):
            yield f"{name}: A {fact.text or 'not known'}, B {b[name].text or 'not known'}"
