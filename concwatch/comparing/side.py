"""One of the two that are compared: its figures, and what they were measured with."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from concwatch.measure.figures import BY_NAME
from concwatch.measure.measured import Measured
from concwatch.measure.units import RATE, Unit
from concwatch.units import format_bytes, format_figure

ALIKE = 0.05
"""Share by which numbers that describe a measurement, such as its length, may differ without a word."""


COMPARED = tuple(
    BY_NAME[name]
    for name in (
        "rss_per_task", "traced_per_task", "cpu_per_task", "create_rate", "completed_mean", "completion_rate",
        "duration_p50", "duration_p99", "start_delay_p99", "wake_lag_p99", "gc_seconds", "idle_rss",
        "peak_rss", "retained_rss", "stop_seconds",
    )
)  # fmt: skip
"""The figures of a lane that are compared, of two runs or of two recordings."""


@dataclass(frozen=True)
class Subject:
    """What a figure is of: what is the same on both sides is compared."""

    section: str
    """An engine, or a table of an experiment."""
    name: str
    """The figure, or the series."""
    engine: str
    unit: Unit
    worse: int
    """Where worse lies: 1 for more, -1 for less, 0 for neither."""
    table_unit: str = ""
    """What the numbers count, where a table has one unit for all; else the figure's own."""
    size: int | None = None
    """Tasks, where a section has several sizes."""
    options: tuple[tuple[str, object], ...] = ()
    """What else must be the same: the options of a cell, by name."""
    key: str = field(default="", compare=False)
    """The figure's name for programs."""

    @property
    def counted(self) -> str:
        """What the numbers count."""
        return self.table_unit or ("tasks/s" if self.unit is RATE else self.unit.name)

    def shown(self, value: float) -> str:
        """Return a value for a person."""
        return format_figure(value) if self.table_unit else self.unit.format(value)


@dataclass(frozen=True)
class Fact:
    """Something that a measurement was made with."""

    text: str
    size: float | None = None
    """The number that it is, where a small difference does not matter."""

    def differs(self, other: "Fact") -> bool:
        """Whether it is to be said that the other side's is another."""
        if self.size is None or other.size is None:
            return self.text != other.text
        return abs(self.size - other.size) > ALIKE * max(abs(self.size), abs(other.size))


@dataclass(frozen=True)
class Side:
    """One file, read."""

    name: str
    """The file's name."""
    kind: str
    """What it is, in words: only two of the same kind are compared."""
    origin: str
    """When and how it was made, in a few words."""
    figures: Mapping[Subject, Measured]
    facts: Mapping[str, Fact] = field(default_factory=dict)
    """What holds for all of it, by name."""
    engine_facts: Mapping[str, Mapping[str, Fact]] = field(default_factory=dict)
    """What holds for one engine or series, by its name and the fact's."""
    missing: Mapping[Subject, str] = field(default_factory=dict)
    """Why there is no figure of what was to be measured."""
    notes: tuple[str, ...] = ()
    """What to know of it before believing it."""

    @property
    def engines(self) -> list[str]:
        """The engines that it has figures of."""
        return list(dict.fromkeys(subject.engine for subject in self.figures))


def lane_figures(
    engine: str, runs: Sequence[Mapping[str, float | None]], size: int | None = None
) -> dict[Subject, Measured]:
    """Return the figures of a lane, each with its value in every one of ``runs`` that has it."""
    found = {}
    for figure in COMPARED:
        measured = Measured.of(run[figure.name] for run in runs)
        if measured:
            unit = figure.unit, figure.worse
            found[Subject(engine, figure.title, engine, *unit, size=size, key=figure.name)] = measured
    return found


def machine_facts(machine: Mapping[str, object], concwatch: str) -> dict[str, Fact]:
    """Return what `concwatch.system.machine.describe_machine` says and matters to figures."""
    known = {**machine, "Python": machine.get("python"), "concwatch": concwatch}
    names = ("system", "architecture", "cores", "Python", "concwatch")
    facts = {name: Fact(str(known[name])) for name in names if known.get(name)}
    memory = machine.get("memory_total")
    if isinstance(memory, int | float):
        facts["memory"] = Fact(format_bytes(memory), float(memory))
    return facts


def joined(parts: Iterable[str]) -> str:
    """Join what shapes a worker's figures: its runtime, and its flags."""
    return ", ".join(part for part in parts if part)


def format_iso(text: str) -> str:
    """Write a moment, in ISO 8601, for a person: to the second, and as it stands there."""
    return text[:19].replace("T", " ")
