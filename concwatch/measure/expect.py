"""Expectations of metrics, such as ``asyncio.rss_per_task < 2KiB``, and whether a result meets them."""

import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from concwatch.measure.run import EngineResult
from concwatch.monitor.metrics.metrics import BY_NAME, measured_metrics
from concwatch.monitor.metrics.unit import Unit
from concwatch.monitor.workers.catalog import AT, CATALOG, LISTED_BY, find_engines
from concwatch.portable.protocol.text import flat, unknown_name
from concwatch.portable.protocol.units import format_exactly

EXPECTABLE = {metric.name: metric for metric in measured_metrics()}
"""The metrics that can be expected of an engine."""

METRICS_LISTED_BY = "concwatch metrics"
"""The command that lists the metrics."""

COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_PARTS = re.compile(r"(?P<left>(?:[^<>=!]|<[a-z]+>)*)(?P<op>[<>=!]+)(?P<value>.*)", re.DOTALL)
"""The left side may have a name such as ``outer.<locals>.inner``."""


@dataclass(frozen=True)
class MetricExpectation:
    """A metric and a bound on its value."""

    text: str
    """The expectation as written."""
    subject: str
    """What the metric belongs to, such as the name of an engine."""
    metric: str
    op: str
    value: float
    """In the unit of the metric: bytes, seconds, tasks, tasks per second."""

    @classmethod
    def parse(
        cls, text: str, form: str, metrics_of: Callable[[str], Mapping[str, Unit]], listed_by: str = ""
    ) -> Self:
        """Parse ``SUBJECT.METRIC OP VALUE``, or ``METRIC OP VALUE``.

        Args:
            text: the expectation as written.
            form: the expected form, for the error message.
            metrics_of: returns the units of a subject's metrics by name; empty if there is no such subject.
            listed_by: the command that lists the metrics, which an error names instead of them.

        Raises:
            ValueError: one line that names what is wrong and what was expected.
        """
        written = flat(text)
        parts = _PARTS.fullmatch(written)
        subject, _, metric = (
            (part.strip() for part in parts["left"].rpartition(".")) if parts else ("", "", "")
        )
        quoted = f'"{written[:60]}"'
        try:
            units = metrics_of(subject) if parts and metric else {}
        except ValueError as error:
            raise ValueError(f"{quoted}: {error}") from None
        if parts is None or not units:
            raise ValueError(f"{quoted} is not an expectation; expected {form}")
        if not parts["value"].strip():
            raise ValueError(f"{quoted} has no value; expected {form}")
        try:
            check_one_of("metric", metric, units, metric[:40].replace("-", "_"), listed_by)
            check_one_of("comparison", parts["op"], COMPARISONS)
            value = units[metric].parse(parts["value"].strip())
        except ValueError as error:
            raise ValueError(f"{quoted}: {error}") from None
        return cls(written, subject, metric, parts["op"], value)

    def holds(self, measured: float | None) -> bool:
        """Return whether a measured value meets the expectation; None does not."""
        return measured is not None and COMPARISONS[self.op](measured, self.value)

    def sentence(self, measured: float | None, shown: str, about: str = "") -> str:
        """Return whether a measured value meets it: ``FAILED left_over <= 0: is 1 (fetch, app.py:5)``.

        Args:
            measured: the value; None if it was not measured.
            shown: the same as text.
            about: what it consists of.
        """
        verdict = "holds" if self.holds(measured) else "FAILED"
        return f"{verdict} {self.text}: is {shown}{f' ({about})' if about else ''}"

    def as_json(self, measured: float | None, **subject: object) -> dict[str, object]:
        """Return the JSON object for reports, with the fields of ``subject`` added."""
        found = {"figure": self.metric, "op": self.op, "value": self.value, "measured": measured}
        return {"expect": self.text, **subject, **found, "holds": self.holds(measured)}


def check_one_of(what: str, word: str, known: Collection[str], spelt: str = "", listed_by: str = "") -> None:
    """Raise the ValueError of `unknown_name` unless ``word`` is in ``known``."""
    if word not in known:
        spelt = spelt or word[:40]
        raise ValueError(unknown_name(what, word, known, listed_by, spelt if spelt.isidentifier() else ""))


class Expectation(MetricExpectation):
    """An expectation of a metric of an engine."""

    def judge(self, row: EngineResult) -> "Verdict":
        """Compare it with the result of the engine at one size."""
        return Verdict(self, row.tasks, row.median(self.metric))


@dataclass(frozen=True)
class Verdict:
    """An expectation of an engine, and the measured value."""

    expectation: Expectation
    tasks: int
    measured: float | None
    """In the unit of the metric; None if it was not measured."""

    @property
    def holds(self) -> bool:
        """Whether the expectation holds."""
        return self.expectation.holds(self.measured)

    def sentence(self, at: str = "") -> str:
        """Return whether it holds, and what was measured ``at`` a size."""
        return self.expectation.sentence(self.measured, f"{self.shown}{at}")

    @property
    def shown(self) -> str:
        """The measured value as text; with all digits if it would look equal to a different expected one."""
        if self.measured is None:
            return "not measured"
        expected, form = self.expectation.value, BY_NAME[self.expectation.metric].unit.format
        if self.measured != expected and form(self.measured) == form(expected):
            return f"{form(self.measured)} (exactly {format_exactly(self.measured)})"
        return form(self.measured)

    def as_json(self) -> dict[str, object]:
        """Return the JSON object of ``concwatch run --json``."""
        return self.expectation.as_json(self.measured, engine=self.expectation.subject, tasks=self.tasks)


def parse_expectation(text: str) -> Expectation:
    """Parse an expectation of an engine, such as ``asyncio.rss_per_task < 2KiB``.

    Raises:
        ValueError: one line that names what is wrong and what was expected.
    """
    form = 'ENGINE.METRIC OP VALUE, such as "asyncio.rss_per_task < 2KiB"'
    return Expectation.parse(text, form, _metrics_of, METRICS_LISTED_BY)


def _metrics_of(engine: str) -> dict[str, Unit]:
    if not engine:
        return {}
    check_one_of("engine", engine.partition(AT)[0], [row.name for row in CATALOG], listed_by=LISTED_BY)
    return {name: metric.unit for name, metric in EXPECTABLE.items()}


def with_run_names(expectations: Sequence[Expectation], names: Collection[str]) -> list[Expectation]:
    """Return the expectations with the engine names that the run uses: ``asyncio@PATH`` becomes its version.

    Args:
        expectations: as written.
        names: the names of the engines that will be measured.

    Raises:
        ValueError: one line about the first expectation whose engine is not measured.
    """
    return [replace(expectation, subject=_name_in_run(expectation, names)) for expectation in expectations]


def _name_in_run(expectation: Expectation, names: Collection[str]) -> str:
    name = expectation.subject
    if name not in names and AT in name:
        name = find_engines([name])[0].name
    if name not in names:
        raise ValueError(
            f'"{expectation.text[:60]}": this run has no engine "{expectation.subject[:40]}"; '
            f"expected one of {', '.join(names)}"
        )
    return name


def judge(expectations: Sequence[Expectation], rows: Sequence[EngineResult]) -> list[Verdict]:
    """Compare each expectation with the results of its engine, at every size."""
    return [
        expectation.judge(row)
        for expectation in expectations
        for row in rows
        if row.own_name == expectation.subject
    ]


def expected_metrics(expectations: Sequence[Expectation], engine: str) -> set[str]:
    """Return the names of an engine's metrics that have an expectation."""
    return {expectation.metric for expectation in expectations if expectation.subject == engine}
