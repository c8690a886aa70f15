"""What somebody expects of a measurement, held against what was measured."""

import math
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from concwatch.lab.catalog import AT, CATALOG, find
from concwatch.lab.run import Result
from concwatch.units import (
    format_bytes,
    format_count,
    format_exactly,
    format_rate,
    format_seconds,
    parse_bytes,
    parse_count,
    parse_rate,
    parse_seconds,
)
from concwatch.worker.workloads import nearest


@dataclass(frozen=True)
class Unit:
    """How figures of one kind are read and written."""

    parse: Callable[[str], float]
    format: Callable[[float], str]
    example: str
    """How such a figure can be written."""


BYTES = Unit(parse_bytes, format_bytes, "2KiB, 1.5MB, 800")
RATE = Unit(parse_rate, format_rate, "50k/s, 1.5M, 800")
SECONDS = Unit(parse_seconds, format_seconds, "200ms, 1.5s, 0.2")
COUNT = Unit(parse_count, format_count, "10k, 10,000, 0")

UNITS: Mapping[str, Unit] = {"bytes": BYTES, "tasks a second": RATE, "seconds": SECONDS, "tasks": COUNT}
"""All of them, by what they count."""

FIGURES: Mapping[str, Unit] = {
    "rss_per_task": BYTES,
    "traced_per_task": BYTES,
    "create_rate": RATE,
    "completion_rate": RATE,
    "wake_lag_p99": SECONDS,
    "gc_seconds": SECONDS,
    "idle_rss": BYTES,
    "peak_rss": BYTES,
    "retained_rss": BYTES,
    "create_seconds": SECONDS,
    "stop_seconds": SECONDS,
    "peak_live": COUNT,
    "created": COUNT,
    "completed": COUNT,
    "failed": COUNT,
    "cancelled": COUNT,
}
"""What of a `Result` something can be expected of, and in which unit."""

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

    def judge(self, result: Result | None) -> "Verdict":
        """Hold it against what was measured of its engine, or against nothing."""
        # Of a worker that never came up even the counters are none, though they say 0.
        came_up = result is not None and result.runtime is not None
        measured = getattr(result, self.figure) if came_up else None
        if measured is None or not math.isfinite(measured):
            return Verdict(self, None, False)
        return Verdict(self, measured, COMPARISONS[self.op](measured, self.value))


@dataclass(frozen=True)
class Verdict:
    """Whether an expectation holds."""

    expectation: Expectation
    measured: float | None
    """In the figure's own unit; None when it was not measured."""
    holds: bool

    @property
    def shown(self) -> str:
        """What was measured, for a person; exactly where it would else look like what was expected."""
        if self.measured is None:
            return "not measured"
        expected, form = self.expectation.value, FIGURES[self.expectation.figure].format
        if self.measured != expected and form(self.measured) == form(expected):
            return f"{form(self.measured)} (exactly {format_exactly(self.measured)})"
        return form(self.measured)

    def as_json(self) -> dict[str, object]:
        """Give what ``concwatch run --json`` prints of it."""
        wanted = self.expectation
        return {
            "expect": wanted.text,
            "engine": wanted.engine,
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
    written = " ".join(text.split())
    found = _PARTS.fullmatch(written)
    engine, dot, figure = (part.strip() for part in found["left"].rpartition(".")) if found else ("", "", "")
    if found is None or not (engine and dot and figure):
        raise ValueError(
            f'"{written[:60]}" expects nothing: expected ENGINE.FIGURE OP VALUE, '
            'such as "asyncio.rss_per_task < 2KiB"'
        )
    where = f'"{written[:60]}": '
    _one_of("engine", engine.partition(AT)[0], [row.name for row in CATALOG], where)
    _one_of("figure", figure, FIGURES, where)
    _one_of("comparison", found["op"], COMPARISONS, where)
    try:
        value = FIGURES[figure].parse(found["value"].strip())
    except ValueError as error:
        raise ValueError(f"{where}{error}") from None
    return Expectation(written, engine, figure, found["op"], value)


def _one_of(what: str, word: str, known: Collection[str], where: str) -> None:
    if word not in known:
        spelt = word[:40].replace("-", "_") if what == "figure" else word[:40]
        near = nearest(spelt, known) if spelt.isidentifier() else ""
        raise ValueError(f'{where}unknown {what} "{word[:40]}": expected one of {", ".join(known)}{near}')


def about_engines(expectations: Sequence[Expectation], names: Collection[str]) -> list[Expectation]:
    """Give each with its engine called as the run calls it: an ``asyncio@PATH`` after its version.

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


def judge(expectations: Sequence[Expectation], results: Sequence[Result]) -> list[Verdict]:
    """Hold each against what was measured of its engine."""
    by_engine = {result.engine: result for result in results}
    return [expectation.judge(by_engine.get(expectation.engine)) for expectation in expectations]
