"""What somebody expects of a figure, compared with what was measured."""

import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from concwatch.lab.catalog import AT, CATALOG, find
from concwatch.measure.figures import BY_NAME, figures
from concwatch.measure.run import EngineResult
from concwatch.measure.units import Unit
from concwatch.text import flat, nearest
from concwatch.units import format_exactly

EXPECTABLE = {figure.name: figure for figure in figures()}
"""The figures of an engine."""

COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_PARTS = re.compile(r"(?P<left>[^<>=!]*)(?P<op>[<>=!]+)(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True)
class FigureExpectation:
    """That a figure is below or above a value."""

    text: str
    """As it was written."""
    subject: str
    """What it is a figure of."""
    figure: str
    op: str
    value: float
    """In the figure's own unit: bytes, seconds, tasks, per second."""

    @classmethod
    def read(cls, text: str, form: str, figures_of: Callable[[str], Mapping[str, Unit]]) -> Self:
        """Read ``SUBJECT.FIGURE OP VALUE``, or ``FIGURE OP VALUE``.

        Args:
            text: as it was written.
            form: how it is to be written.
            figures_of: returns the unit of each figure that a subject has; none for what is no subject.

        Raises:
            ValueError: one line that names what is wrong and what was expected.
        """
        written = flat(text)
        parts = _PARTS.fullmatch(written)
        subject, _, figure = (
            (part.strip() for part in parts["left"].rpartition(".")) if parts else ("", "", "")
        )
        quoted = f'"{written[:60]}"'
        try:
            units = figures_of(subject) if parts and figure else {}
        except ValueError as error:
            raise ValueError(f"{quoted}: {error}") from None
        if parts is None or not units:
            raise ValueError(f"{quoted} expects nothing: expected {form}")
        try:
            expect_one_of("figure", figure, units, figure[:40].replace("-", "_"))
            expect_one_of("comparison", parts["op"], COMPARISONS)
            value = units[figure].parse(parts["value"].strip())
        except ValueError as error:
            raise ValueError(f"{quoted}: {error}") from None
        return cls(written, subject, figure, parts["op"], value)

    def holds(self, measured: float | None) -> bool:
        """Return whether what was measured is as expected; what was not measured is not."""
        return measured is not None and COMPARISONS[self.op](measured, self.value)

    def as_json(self, measured: float | None, **subject: object) -> dict[str, object]:
        """Return what reports say of it, with the fields that name its subject."""
        found = {"figure": self.figure, "op": self.op, "value": self.value, "measured": measured}
        return {"expect": self.text, **subject, **found, "holds": self.holds(measured)}


def expect_one_of(what: str, word: str, known: Collection[str], spelt: str = "") -> None:
    """Raise a ValueError of one line where a word is not one of those that are known."""
    if word not in known:
        spelt = spelt or word[:40]
        near = nearest(spelt, known) if spelt.isidentifier() else ""
        raise ValueError(f'unknown {what} "{word[:40]}": expected one of {", ".join(known)}{near}')


class Expectation(FigureExpectation):
    """What is expected of an engine."""

    def judge(self, row: EngineResult) -> "Verdict":
        """Compare it with what was measured of the engine at one size."""
        return Verdict(self, row.tasks, row.median(self.figure))


@dataclass(frozen=True)
class Verdict:
    """Whether an expectation of an engine holds."""

    expectation: Expectation
    tasks: int
    measured: float | None
    """In the figure's own unit; None when it was not measured."""

    @property
    def holds(self) -> bool:
        """Whether it does."""
        return self.expectation.holds(self.measured)

    @property
    def shown(self) -> str:
        """What was measured, for a person; exactly where it would else look like what was expected."""
        if self.measured is None:
            return "not measured"
        expected, form = self.expectation.value, BY_NAME[self.expectation.figure].unit.format
        if self.measured != expected and form(self.measured) == form(expected):
            return f"{form(self.measured)} (exactly {format_exactly(self.measured)})"
        return form(self.measured)

    def as_json(self) -> dict[str, object]:
        """Return what ``concwatch run --json`` prints of it."""
        return self.expectation.as_json(self.measured, engine=self.expectation.subject, tasks=self.tasks)


def read_expectation(text: str) -> Expectation:
    """Read what is expected of an engine, such as ``asyncio.rss_per_task < 2KiB``.

    Raises:
        ValueError: one line that names what is wrong and what was expected.
    """
    form = 'ENGINE.FIGURE OP VALUE, such as "asyncio.rss_per_task < 2KiB"'
    return Expectation.read(text, form, _figures_of)


def _figures_of(engine: str) -> dict[str, Unit]:
    if not engine:
        return {}
    expect_one_of("engine", engine.partition(AT)[0], [row.name for row in CATALOG])
    return {name: figure.unit for name, figure in EXPECTABLE.items()}


def about_engines(expectations: Sequence[Expectation], names: Collection[str]) -> list[Expectation]:
    """Return each with its engine called as the run calls it: an ``asyncio@PATH`` after its version.

    Args:
        expectations: as they were written.
        names: of the engines that will be measured.

    Raises:
        ValueError: one line that names the first that is about none of them.
    """
    return [replace(wanted, subject=_name_in_run(wanted, names)) for wanted in expectations]


def _name_in_run(wanted: Expectation, names: Collection[str]) -> str:
    name = wanted.subject
    if name not in names and AT in name:
        name = find([name])[0].name
    if name not in names:
        raise ValueError(
            f'"{wanted.text[:60]}": this run has no engine "{wanted.subject[:40]}": '
            f"expected one of {', '.join(names)}"
        )
    return name


def judge(expectations: Sequence[Expectation], rows: Sequence[EngineResult]) -> list[Verdict]:
    """Compare each with what was measured of its engine, at every size."""
    return [wanted.judge(row) for wanted in expectations for row in rows if row.own_name == wanted.subject]


def expected_of(expectations: Sequence[Expectation], engine: str) -> set[str]:
    """Return the figures of an engine of which something is expected."""
    return {wanted.figure for wanted in expectations if wanted.subject == engine}
