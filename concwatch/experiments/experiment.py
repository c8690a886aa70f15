"""An experiment as its file says: which engines, which sizes, what is read, and what was published."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from concwatch.experiments.cell import Cell
from concwatch.experiments.readings import BURST
from concwatch.hosts.host import Host
from concwatch.lab.catalog import AT, CATALOG, ON

MILLION = 1_000_000
REPEATS = 3

DEFAULTS: dict[str, Any] = {
    "action": BURST, "workload": "sleep:10", "trace": False, "gc": "default", "threads": None,
    "stack": None, "chunks": 1, "read_after": None, "seconds": 1.0,
}  # fmt: skip
"""How a run is made where neither series nor table says it."""


class How(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How a run is made. What a series does not say its table says; what neither says has a default."""

    workload: str | None = None
    """What each task does, as everywhere in concwatch.  [sleep:10]"""
    action: Literal["burst", "hold"] | None = None
    """See `concwatch.experiments.readings.ACTIONS`.  [burst]"""
    sizes: tuple[int, ...] | None = None
    """Numbers of tasks, ascending. Needed."""
    quick: tuple[int, ...] | None = None
    """Those for ``--quick``.  [the smallest of the sizes]"""
    repeats: int | None = None
    """Runs of each cell.  [3; 1 from a million tasks on]"""
    trace: bool | None = None
    """Whether allocations are traced.  [false]"""
    gc: Literal["default", "frozen", "off"] | None = None
    """The garbage collector's mode.  [default]"""
    threads: int | None = None
    """Threads of a pool.  [Python's own number]"""
    stack: int | None = None
    """Bytes of stack of each thread.  [the system's own size]"""
    chunks: int | None = None
    """In how many parts a burst runs, each begun when the last has ended.  [1]"""
    older: bool | None = None
    """Whether as many older tasks as all smaller sizes together stand unbegun meanwhile.  [false]"""
    read_after: float | None = None
    """Seconds from a burst's creation to the reading of what is traced."""
    environment: dict[str, str] | None = None
    """Variables that the worker or program, and the build of it, have besides what they inherit."""
    seconds: float | None = None
    """How long tasks are held, once all have started.  [1]"""


class Series(How, frozen=True, kw_only=True):
    """One line of a table over all sizes."""

    engine: str
    """Its name, which may end in the version of what runs it: ``asyncio@3.14``, ``java-virtual@21``."""
    program: str | None = None
    """The file of a program that is run in a worker's place, beside the experiment's: see
    `concwatch.experiments.program.run_program`. Its tasks are those of the engine."""
    label: str = ""
    """What it is called.  [the engine's name]"""
    published: dict[int, float] = {}
    """Size → the figure as published, in the table's unit."""
    optional: bool = False
    """Whether there need not be such an engine: then the published figures stand alone."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.label or self.engine


class Compare(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Two series of a table whose figures its closing sentence puts side by side, by name."""

    this: str
    that: str
    size: int | None = None
    """At which size.  [the largest that both were measured at]"""


class Table(How, frozen=True, kw_only=True):
    """One published table or figure, or one of ours."""

    title: str
    reading: str
    """What is read, one of `READINGS`."""
    unit: str
    """The unit of the published figures, one of `UNITS`."""
    series: tuple[Series, ...]
    note: str = ""
    """What to know before believing it."""
    counted: str = "tasks"
    """What the sizes count."""
    compare: Compare | None = None


class Source(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
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


class Experiment(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One file."""

    name: str
    title: str
    about: str
    """What it is about, in a sentence or two."""
    method: str
    """How it is measured here, and where the published method misleads."""
    table: tuple[Table, ...]
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


_T = TypeVar("_T")


def said(table: Table, series: Series, key: str, default: _T) -> _T:
    """Return what the series says of ``key``, else its table, else the default."""
    for how in (series, table):
        value: _T | None = getattr(how, key)
        if value is not None:
            return value
    return default


def entries(
    experiment: Experiment,
    *,
    quick: bool = False,
    sizes: Sequence[int] = (),
    hosts: Sequence[Host | None] = (None,),
) -> list[Entry]:
    """List the lines of the result, in the order of the file.

    Args:
        experiment: what to list.
        quick: only the few sizes that the file gives for a quick look.
        sizes: take these in place of the file's.
        hosts: where it is run, None being this machine: each series once on each.
    """
    names = {engine.name for engine in CATALOG}
    found = []
    for table in experiment.table:
        for series, host in product(table.series, hosts):
            all_sizes: tuple[int, ...] = said(table, series, "sizes", ())
            few = said(table, series, "quick", all_sizes[:1]) if quick else all_sizes
            for size in sizes or few:
                older = sum(smaller for smaller in all_sizes if smaller < size)
                cell = Cell(
                    engine=series.engine,
                    size=size,
                    host=host,
                    older=older if said(table, series, "older", False) else 0,
                    program=series.program,
                    environment=tuple(sorted(said(table, series, "environment", {}).items())),
                    repeats=said(table, series, "repeats", 1 if size >= MILLION else REPEATS),
                    **{key: said(table, series, key, default) for key, default in DEFAULTS.items()},
                )
                absent = series.optional and series.engine.partition(AT)[0] not in names
                published = series.published.get(size)
                named = replace(series, label=f"{series.name}{ON}{host.name}") if host else series
                found.append(Entry(table, named, size, None if absent else cell, published))
    return found
