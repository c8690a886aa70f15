"""One side of a comparison: its metrics, and the conditions in which they were measured."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from concwatch.measure.measured import Measured
from concwatch.monitor.metrics.metrics import LISTED
from concwatch.monitor.metrics.unit import RATE, Unit
from concwatch.portable.protocol.units import format_bytes, format_number

TOLERANCE = 0.05
"""Relative difference up to which two numeric conditions, such as the length, are taken as equal."""


COMPARED = tuple(metric for metric in LISTED if metric.compared)
"""The metrics of a lane that are compared between two runs or two recordings."""


@dataclass(frozen=True)
class Subject:
    """Identifies a metric; the metrics of equal subjects are compared."""

    section: str
    """An engine, or a table of an experiment."""
    name: str
    """The metric, or the series."""
    engine: str
    unit: Unit
    worse: int
    """1 if more is worse, -1 if less is worse, 0 if neither is."""
    table_unit: str = ""
    """The unit of the whole table, in an experiment."""
    size: int | None = None
    """Number of tasks, if the section has several sizes."""
    options: tuple[tuple[str, object], ...] = ()
    """Names and values of the options of its cell, in an experiment."""
    key: str = field(default="", compare=False)
    """The metric's name in JSON."""
    moves: str = field(default="", compare=False)
    """What a difference is said to have moved, in a sentence of its own; empty if the table is enough."""

    @property
    def counted(self) -> str:
        """The unit of the numbers."""
        return self.table_unit or ("tasks/s" if self.unit is RATE else self.unit.name)

    def shown(self, value: float) -> str:
        """Format a value."""
        return format_number(value) if self.table_unit else self.unit.format(value)


@dataclass(frozen=True)
class Fact:
    """A condition of a measurement."""

    text: str
    size: float | None = None
    """Its value, for a number whose small differences do not matter."""

    def differs(self, other: "Fact") -> bool:
        """Return whether the other side's fact differs enough to mention."""
        if self.size is None or other.size is None:
            return self.text != other.text
        return abs(self.size - other.size) > TOLERANCE * max(abs(self.size), abs(other.size))


@dataclass(frozen=True)
class Side:
    """The content of one file."""

    name: str
    """The file's name."""
    kind: str
    """The kind of file, in words; only files of the same kind are compared."""
    origin: str
    """When and how it was written, in a few words."""
    metrics: Mapping[Subject, Measured]
    facts: Mapping[str, Fact] = field(default_factory=dict)
    """Conditions of all its metrics, by name."""
    engine_facts: Mapping[str, Mapping[str, Fact]] = field(default_factory=dict)
    """Conditions of one engine or series, by engine and name."""
    missing: Mapping[Subject, str] = field(default_factory=dict)
    """Subject → why it has no figure."""
    notes: tuple[str, ...] = ()
    """Reasons for caution."""
    states: Mapping[str, str] = field(default_factory=dict)
    """How each engine that was to run ended: empty if it held its tasks; for results of ``run``."""

    @property
    def engines(self) -> list[str]:
        """The engines that have figures."""
        return list(dict.fromkeys(subject.engine for subject in self.metrics))


def lane_metrics(
    engine: str, runs: Sequence[Mapping[str, float | None]], size: int | None = None
) -> dict[Subject, Measured]:
    """Return the metrics of a lane, each measured in all ``runs`` that have it."""
    found = {}
    for metric in COMPARED:
        measured = Measured.of(run[metric.name] for run in runs)
        if measured:
            unit = metric.unit, metric.worse
            found[Subject(engine, metric.title, engine, *unit, size=size, key=metric.name)] = measured
    return found


def machine_facts(machine: Mapping[str, object], concwatch: str) -> dict[str, Fact]:
    """Return the facts of a `concwatch.system.machine.describe_machine` that influence figures."""
    known = {**machine, "Python": machine.get("python"), "concwatch": concwatch}
    names = ("system", "architecture", "cores", "Python", "concwatch")
    facts = {name: Fact(str(known[name])) for name in names if known.get(name)}
    memory = machine.get("memory_total")
    if isinstance(memory, int | float):
        facts["memory"] = Fact(format_bytes(memory), float(memory))
    return facts


def joined(parts: Iterable[str]) -> str:
    """Join the non-empty parts, such as a worker's runtime and its flags."""
    return ", ".join(part for part in parts if part)


def format_iso(text: str) -> str:
    """Format an ISO 8601 timestamp for reading: to the second, without its time zone."""
    return text[:19].replace("T", " ")
