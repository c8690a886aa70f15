"""What somebody expects of a measurement, held against what was measured."""

import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from concwatch.lab.catalog import AT, CATALOG, find
from concwatch.measure.figures import BY_NAME, figures
from concwatch.measure.run import EngineResult
from concwatch.text import flat, nearest
from concwatch.units import format_exactly

EXPECTABLE = {figure.name: figure for figure in figures()}
"""What something can be expected of."""

COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_PARTS = re.compile(r"(?P<left>[^<>=!]*)(?P<op>[<>=!]+)(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True)
class Expectation:
    """That a figure of an engine is below or above a value."""

    text: str
    """As it was written."""
    engine: str
    figure: str
    op: str
    value: float
    """In the figure's own unit: bytes, seconds, tasks, per second."""

    def judge(self, row: EngineResult) -> "Verdict":
        """Hold it against what was measured of its engine at one size."""
        measured = row.median(self.figure)
        holds = measured is not None and COMPARISONS[self.op](measured, self.value)
        return Verdict(self, row.tasks, measured, holds)


@dataclass(frozen=True)
class Verdict:
    """Whether an expectation holds."""

    expectation: Expectation
    tasks: int
    measured: float | None
    """In the figure's own unit; None when it was not measured."""
    holds: bool

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
        wanted = self.expectation
        return {
            "expect": wanted.text,
            "engine": wanted.engine,
            "tasks": self.tasks,
            "figure": wanted.figure,
            "op": wanted.op,
            "value": wanted.value,
            "measured": self.measured,
            "holds": self.holds,
        }


def read_expectation(text: str) -> Expectation:
    """Read what is expected, such as ``asyncio.rss_per_task < 2KiB``.

    Raises:
        ValueError: one line that names what is wrong and what was expected.
    """
    written = flat(text)
    found = _PARTS.fullmatch(written)
    engine, dot, figure = (part.strip() for part in found["left"].rpartition(".")) if found else ("", "", "")
    if found is None or not (engine and dot and figure):
        raise ValueError(
            f'"{written[:60]}" expects nothing: expected ENGINE.FIGURE OP VALUE, '
            'such as "asyncio.rss_per_task < 2KiB"'
        )
    where = f'"{written[:60]}": '
    _one_of("engine", engine.partition(AT)[0], [row.name for row in CATALOG], where)
    _one_of("figure", figure, EXPECTABLE, where)
    _one_of("comparison", found["op"], COMPARISONS, where)
    try:
        value = EXPECTABLE[figure].unit.parse(found["value"].strip())
    except ValueError as error:
        raise ValueError(f"{where}{error}") from None
    return Expectation(written, engine, figure, found["op"], value)


def _one_of(what: str, word: str, known: Collection[str], where: str) -> None:
    if word not in known:
        spelt = word[:40].replace("-", "_") if what == "figure" else word[:40]
        near = nearest(spelt, known) if spelt.isidentifier() else ""
        raise ValueError(f'{where}unknown {what} "{word[:40]}": expected one of {", ".join(known)}{near}')


def about_engines(expectations: Sequence[Expectation], names: Collection[str]) -> list[Expectation]:
    """Return each with its engine called as the run calls it: an ``asyncio@PATH`` after its version.

    Args:
        expectations: as they were written.
        names: of the engines that will be measured.

    Raises:
        ValueError: one line that names the first that is about none of them.
    """
    return [replace(wanted, engine=_name_in_run(wanted, names)) for wanted in expectations]


def _name_in_run(wanted: Expectation, names: Collection[str]) -> str:
    name = wanted.engine
    if name not in names and AT in name:
        name = find([name])[0].name
    if name not in names:
        raise ValueError(
            f'"{wanted.text[:60]}": this run has no engine "{wanted.engine[:40]}": '
            f"expected one of {', '.join(names)}"
        )
    return name


def judge(expectations: Sequence[Expectation], rows: Sequence[EngineResult]) -> list[Verdict]:
    """Hold each against what was measured of its engine, at every size."""
    return [wanted.judge(row) for wanted in expectations for row in rows if row.own_name == wanted.engine]


def expected_of(expectations: Sequence[Expectation], engine: str) -> set[str]:
    """Return the figures of an engine of which something is expected."""
    return {wanted.figure for wanted in expectations if wanted.engine == engine}
