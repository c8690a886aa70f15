"""An experiment as its file says: which engines, which sizes, what is read, and what was published."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from concwatch.experiments.cell import BURST, READINGS, TRACED, Cell, actions_of
from concwatch.experiments.program import PROGRAM_READINGS, find_runtime
from concwatch.hosts.host import Host
from concwatch.lab.catalog import AT, CATALOG, ON, known
from concwatch.measure.units import SCALES
from concwatch.text import unknown
from concwatch.worker.workloads import parse

MILLION = 1_000_000
REPEATS = 3

LARGEST_SIZE = 1_000_000_000
MOST = 100
"""Tables of an experiment, series of a table, and sizes of a series."""

Size = Annotated[int, Meta(ge=1, le=LARGEST_SIZE)]
Seconds = Annotated[float, Meta(ge=0, le=3_600)]
Figure = Annotated[float, Meta(gt=0, le=1e300)]
Variable = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\Z")]
Value = Annotated[str, Meta(pattern=r"^[^\0]*\Z")]


class WorkloadText(str):
    """A workload as it is typed."""

    def __new__(cls, text: str) -> "WorkloadText":
        """Check the text."""
        parse(text)
        return super().__new__(cls, text)


class Reading(str):
    """The name of one of `READINGS`."""

    def __new__(cls, name: str) -> "Reading":
        """Check the name."""
        if name not in READINGS:
            raise ValueError(unknown("reading", name, READINGS))
        return super().__new__(cls, name)


def sizes_problem(sizes: Sequence[int]) -> str | None:
    """Return what is wrong with a list of sizes, or None."""
    if len(sizes) > MOST:
        return f"{len(sizes):,} sizes: expected {MOST} at most"
    for size in sizes:
        if not 1 <= size <= LARGEST_SIZE:
            return f"{size}: expected sizes from 1 to {LARGEST_SIZE:,}"
    for before, after in pairwise(sizes):
        if after <= before:
            return f"{after} after {before}: expected ascending sizes"
    return None


class How(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How a run is made. What a series leaves out its table says."""

    workload: WorkloadText = WorkloadText("sleep:10")  # a text does not change
    """What each task does, as everywhere in concwatch."""
    action: Literal["burst", "hold"] = "burst"
    """See `concwatch.experiments.cell.ACTIONS`."""
    sizes: tuple[int, ...] = ()
    """Numbers of tasks, ascending. Needed."""
    quick: tuple[int, ...] | None = None
    """Those for ``--quick``.  [the smallest of the sizes]"""
    repeats: Annotated[int, Meta(ge=1, le=100)] | None = None
    """Runs of each cell.  [3; 1 from a million tasks on]"""
    trace: bool = False
    """Whether allocations are traced."""
    gc: Literal["default", "frozen", "off"] = "default"
    """The garbage collector's mode."""
    threads: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    """Threads of a pool.  [Python's own number]"""
    stack: Annotated[int, Meta(ge=0, le=1 << 40)] | None = None
    """Bytes of stack of each thread.  [the system's own size]"""
    chunks: Annotated[int, Meta(ge=1, le=1_000)] = 1
    """In how many parts a burst runs, each begun when the last has ended."""
    older: bool = False
    """Whether as many older tasks as all smaller sizes together stand unbegun meanwhile."""
    read_after: Seconds | None = None
    """Seconds from a burst's creation to the reading of what is traced."""
    environment: dict[Variable, Value] = {}
    """Variables that the worker or program, and the build of it, have besides what they inherit."""
    seconds: Seconds = 1.0
    """How long tasks are held, once all have started."""

    def __post_init__(self) -> None:
        """Check the sizes."""
        for key, sizes in (("sizes", self.sizes), ("quick", self.quick or ())):
            problem = sizes_problem(sizes)
            if problem:
                raise ValueError(f"{key}: {problem}")


class Series(How, frozen=True, kw_only=True):
    """One line of a table over all sizes."""

    engine: str
    """Its name, which may end in the version of what runs it: ``asyncio@3.14``, ``java-virtual@21``."""
    program: Path | None = None
    """The file of a program that is run in a worker's place, beside the experiment's: see
    `concwatch.experiments.program.run_program`. Its tasks are those of the engine."""
    label: str = ""
    """What it is called.  [the engine's name]"""
    published: dict[Size, Figure] = {}
    """Size → the figure as published, in the table's unit."""
    optional: bool = False
    """Whether there need not be such an engine: then the published figures stand alone."""

    def __post_init__(self) -> None:
        """Check engine and program."""
        super().__post_init__()
        if not self.sizes:
            raise ValueError("sizes: expected one number of tasks at least")
        if not self.optional:
            known(self.engine)
        if self.program and find_runtime(self.program, self.engine, 1) is None:
            raise ValueError(f'program "{self.program.name}": expected a known suffix, or an executable')

    @property
    def name(self) -> str:
        """What it is called."""
        return self.label or self.engine


class Compare(Struct, forbid_unknown_fields=True, frozen=True):
    """Two series of a table whose figures its closing sentence puts side by side, by name."""

    this: str
    that: str
    size: Size | None = None
    """At which size.  [the largest that both were measured at]"""


class Table(How, frozen=True, kw_only=True):
    """One published table or figure, or one of ours."""

    title: str
    reading: Reading
    """What is read."""
    unit: str
    """The unit of the published figures, one of `SCALES`."""
    series: Annotated[tuple[Series, ...], Meta(min_length=1, max_length=MOST)]
    note: str = ""
    """What to know before believing it."""
    counted: str = "tasks"
    """What the sizes count."""
    compare: Compare | None = None

    def __post_init__(self) -> None:
        """Check that unit and series go with what is read."""
        super().__post_init__()
        kind = READINGS[self.reading].unit
        units = [unit for unit, (of, _) in SCALES.items() if of is kind]
        if self.unit not in units:
            raise ValueError(f'unit "{self.unit}" of {self.reading}: expected one of {", ".join(units)}')
        names = [series.name for series in self.series]
        for series in self.series:
            problem = self._problem(series)
            if names.count(series.name) > 1:
                problem = "called like another: expected different labels"
            if problem:
                raise ValueError(f'series "{series.name}": {problem}')
        for name in (self.compare.this, self.compare.that) if self.compare else ():
            if name not in names:
                raise ValueError(f"compare: {unknown('series', name, names)}")

    def _problem(self, series: Series) -> str | None:
        reading, actions = self.reading, actions_of(READINGS[self.reading])
        if series.program and reading not in PROGRAM_READINGS:
            return f"of a program nothing but {', '.join(PROGRAM_READINGS)} is read"
        if series.action not in actions:
            return f"{reading} is read of {' or '.join(actions)} alone"
        if reading in TRACED and not series.trace:
            return f"{reading} needs trace = true"
        if reading in TRACED and series.action == BURST and series.read_after is None:
            return f"{reading} of a burst needs read_after, the seconds to its reading"
        return None


class Source(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Where the published figures come from."""

    article: str
    author: str = "not stated"
    year: int | None = None
    """None where it is not stated."""
    date: str = ""
    """The day or month, as YYYY-MM-DD or YYYY-MM, where one is stated."""
    site: str = ""
    """Its address."""
    machine: str = "not stated"
    version: str = "not stated"


class Experiment(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One file."""

    name: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9-]*\Z")]
    title: str
    about: str
    """What it is about, in a sentence or two."""
    method: str
    """How it is measured here, and where the published method misleads."""
    table: Annotated[tuple[Table, ...], Meta(min_length=1, max_length=MOST)]
    source: Source | None = None


@dataclass(frozen=True)
class Entry:
    """One line of a result: a table, a series, a size, and the cell that gives its figure."""

    table: Table
    series: Series
    size: int
    cell: Cell | None
    """None where there is no such engine."""
    published: float | None
    """In the table's unit."""


def entries(
    experiment: Experiment,
    *,
    quick: bool = False,
    sizes: Sequence[int] = (),
    hosts: Sequence[Host | None] = (None,),
) -> list[Entry]:
    """List the lines of the result, in the order of the file: each series on each host, None being this one.

    The sizes are those given here, or the file's: all of them, or its few for a quick look.
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
"""What a cell has as its series says it."""


def _cell(series: Series, size: int, host: Host | None) -> Cell:
    return Cell(
        size=size,
        older=sum(smaller for smaller in series.sizes if smaller < size) if series.older else 0,
        program=str(series.program) if series.program else None,
        host=host,
        environment=tuple(sorted(series.environment.items())),
        repeats=series.repeats or (1 if size >= MILLION else REPEATS),
        **{key: getattr(series, key) for key in SHARED},
    )
