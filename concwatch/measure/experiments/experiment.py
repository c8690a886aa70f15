"""An experiment's file: its tables of engines and sizes, the figures to read, and the published ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from concwatch.hosts.host import Host
from concwatch.measure.experiments.cell import BURST, READINGS, SWEEP, ExperimentCell
from concwatch.measure.experiments.program import PROGRAM_READINGS, find_runtime
from concwatch.monitor.metrics.unit import SCALES
from concwatch.monitor.workers.catalog import AT, CATALOG, ON, catalog_row
from concwatch.portable.protocol.text import unknown_name
from concwatch.portable.protocol.workloads import parse

MILLION = 1_000_000
REPEATS = 3

MAX_SIZE = 1_000_000_000
MAX_ITEMS = 100
"""Most tables of an experiment, series of a table, and sizes of a series."""

Size = Annotated[int, Meta(ge=1, le=MAX_SIZE)]
Seconds = Annotated[float, Meta(ge=0, le=3_600)]
Figure = Annotated[float, Meta(gt=0, le=1e300)]
Variable = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\Z")]
Value = Annotated[str, Meta(pattern=r"^[^\0]*\Z")]


class WorkloadText(str):
    """A workload that has been checked."""

    def __new__(cls, text: str) -> "WorkloadText":
        """Validate the text."""
        parse(text)
        return super().__new__(cls, text)


class ReadingName(str):
    """The name of one of `READINGS`, checked."""

    def __new__(cls, name: str) -> "ReadingName":
        """Validate the name."""
        if name not in READINGS:
            raise ValueError(unknown_name("reading", name, READINGS))
        return super().__new__(cls, name)


def sizes_problem(sizes: Sequence[int]) -> str | None:
    """Return what is wrong with a list of sizes, or None if it is valid."""
    if len(sizes) > MAX_ITEMS:
        return f"{len(sizes):,} sizes; expected {MAX_ITEMS} at most"
    for size in sizes:
        if not 1 <= size <= MAX_SIZE:
            return f"{size}; expected sizes from 1 to {MAX_SIZE:,}"
    for before, after in pairwise(sizes):
        if after <= before:
            return f"{after} after {before}; expected ascending sizes"
    return None


class CellOptions(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The options of a run. A series inherits those of its table."""

    workload: WorkloadText = WorkloadText("sleep:10")  # immutable
    """The workload of each task."""
    action: Literal["burst", "hold", "sweep"] = "burst"
    """See `concwatch.measure.experiments.cell.ACTIONS`."""
    sizes: tuple[int, ...] = ()
    """Numbers of tasks, ascending. Required."""
    quick: tuple[int, ...] | None = None
    """Sizes for ``--quick``.  [the smallest of the sizes]"""
    repeats: Annotated[int, Meta(ge=1, le=100)] | None = None
    """Runs of each cell.  [3; 1 from a million tasks on]"""
    trace: bool = False
    """Whether allocations are traced."""
    gc: Literal["default", "frozen", "off"] = "default"
    """The mode of the garbage collector."""
    threads: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    """Threads of a pool.  [Python's default]"""
    stack: Annotated[int, Meta(ge=0, le=1 << 40)] | None = None
    """Bytes of each thread's stack.  [the system's default]"""
    chunks: Annotated[int, Meta(ge=1, le=1_000)] = 1
    """Number of parts in which a burst runs, one after another."""
    older: bool = False
    """Whether as many tasks as all smaller sizes together are created before, and never started."""
    read_after: Seconds | None = None
    """Seconds from a burst's creation to the reading of traced figures."""
    environment: dict[Variable, Value] = {}
    """Environment variables added for the worker or program, and for its build."""
    seconds: Seconds = 1.0
    """Seconds to hold the tasks after all have started; in a sweep, the most to measure their throughput."""

    def __post_init__(self) -> None:
        for key, sizes in (("sizes", self.sizes), ("quick", self.quick or ())):
            problem = sizes_problem(sizes)
            if problem:
                raise ValueError(f"{key}: {problem}")


class ExperimentSeries(CellOptions, frozen=True, kw_only=True):
    """One series of a table: an engine at several sizes."""

    engine: str
    """The engine's name, with an optional version: ``asyncio@3.14``, ``java-virtual@21``."""
    program: Path | None = None
    """A program beside the experiment's file that runs instead of a worker, with tasks of the engine: see
    `concwatch.measure.experiments.program.run_program`."""
    label: str = ""
    """The name to show.  [the engine's name]"""
    published: dict[Size, Figure] = {}
    """Size → the published figure, in the table's unit."""
    optional: bool = False
    """Whether the engine may be unknown; then only the published figures are shown."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.sizes:
            raise ValueError("sizes; expected at least one number of tasks")
        if not self.optional:
            catalog_row(self.engine)
        if self.program and find_runtime(self.program, self.engine, 1) is None:
            raise ValueError(f'program "{self.program.name}"; expected a known suffix, or an executable')

    @property
    def name(self) -> str:
        """The name to show."""
        return self.label or self.engine


class Compare(Struct, forbid_unknown_fields=True, frozen=True):
    """The names of two series that the sentence below a table compares."""

    this: str
    that: str
    size: Size | None = None
    """The size to compare.  [the largest that both have]"""


class ExperimentTable(CellOptions, frozen=True, kw_only=True):
    """One table of an experiment, published or our own."""

    title: str
    reading: ReadingName
    """The metric to read."""
    unit: str
    """The unit of the published figures, one of `SCALES`."""
    series: Annotated[tuple[ExperimentSeries, ...], Meta(min_length=1, max_length=MAX_ITEMS)]
    note: str = ""
    """A caution about its figures."""
    counted: str = "tasks"
    """The things that the sizes count."""
    compare: Compare | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        kind = READINGS[self.reading].unit
        units = [unit for unit, (of, _) in SCALES.items() if of is kind]
        if self.unit not in units:
            raise ValueError(f'unit "{self.unit}" of {self.reading}; expected one of {", ".join(units)}')
        names = [series.name for series in self.series]
        for series in self.series:
            problem = self._problem(series)
            if names.count(series.name) > 1:
                problem = "called like another; expected different labels"
            if problem:
                raise ValueError(f'series "{series.name}": {problem}')
        for name in (self.compare.this, self.compare.that) if self.compare else ():
            if name not in names:
                raise ValueError(f"compare: {unknown_name('series', name, names)}")

    def _problem(self, series: ExperimentSeries) -> str | None:
        reading, metric = self.reading, READINGS[self.reading]
        if series.program and reading not in PROGRAM_READINGS:
            return f"only {', '.join(PROGRAM_READINGS)} can be read from a program"
        if series.program and series.action == SWEEP:
            return "a program ends by itself; its action must be burst"
        if series.action not in metric.actions:
            return f"{reading} can only be read with action {' or '.join(metric.actions)}"
        if metric.needs_tracing and not series.trace:
            return f"{reading} needs trace = true"
        if metric.needs_tracing and series.action == BURST and series.read_after is None:
            return f"{reading} of a burst needs read_after, the seconds until it is read"
        return None


class Publication(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The source of the published figures."""

    article: str
    author: str = "not stated"
    year: int | None = None
    """None if not stated."""
    date: str = ""
    """The day or month, as YYYY-MM-DD or YYYY-MM, if stated."""
    site: str = ""
    """The article's address."""
    machine: str = "not stated"
    version: str = "not stated"


class Experiment(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The content of one file."""

    name: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9-]*\Z")]
    title: str
    about: str
    """A description in a sentence or two."""
    method: str
    """How concwatch measures it, and where the published method misleads."""
    table: Annotated[tuple[ExperimentTable, ...], Meta(min_length=1, max_length=MAX_ITEMS)]
    source: Publication | None = None


@dataclass(frozen=True)
class Entry:
    """One row of a result: a table, a series, a size, and the cell that provides its figure."""

    table: ExperimentTable
    series: ExperimentSeries
    size: int
    cell: ExperimentCell | None
    """None if the engine is unknown."""
    published: float | None
    """In the table's unit."""


def entries(
    experiment: Experiment,
    *,
    quick: bool = False,
    sizes: Sequence[int] = (),
    hosts: Sequence[Host | None] = (None,),
) -> list[Entry]:
    """List the rows of the result, in the order of the file.

    Args:
        experiment: the experiment.
        quick: whether to use only the file's sizes for a quick run.
        sizes: the sizes to use instead of the file's.
        hosts: the hosts to run each series on; None is this machine.
    """
    names = {engine.name for engine in CATALOG}
    found = []
    for table in experiment.table:
        for series, host in product(table.series, hosts):
            absent = series.optional and series.engine.partition(AT)[0] not in names
            named = replace(series, label=f"{series.name}{ON}{host.name}") if host else series
            few = series.sizes[:1] if series.quick is None else series.quick
            for size in sizes or (few if quick else series.sizes):
                cell = None if absent else _cell(series, size, host)
                found.append(Entry(table, named, size, cell, series.published.get(size)))
    return found


SHARED = (
    "engine", "action", "workload", "trace", "gc", "threads", "stack", "chunks", "read_after", "seconds",
)  # fmt: skip
"""The fields that a cell copies from its series."""


def _cell(series: ExperimentSeries, size: int, host: Host | None) -> ExperimentCell:
    return ExperimentCell(
        size=size,
        older=sum(smaller for smaller in series.sizes if smaller < size) if series.older else 0,
        program=str(series.program) if series.program else None,
        host=host,
        environment=tuple(sorted(series.environment.items())),
        repeats=series.repeats or (1 if size >= MILLION else REPEATS),
        **{key: getattr(series, key) for key in SHARED},
    )
