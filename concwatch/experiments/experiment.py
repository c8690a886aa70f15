"""An experiment as its file says: which engines, which sizes, what is read, and what was published."""

import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import msgspec

from concwatch.experiments.cell import Cell
from concwatch.experiments.readings import BURST, READINGS, UNITS
from concwatch.lab.catalog import CATALOG, find
from concwatch.worker.workloads import nearest, parse

SHIPPED = Path(__file__).parent / "published"
"""The folder of the experiments that come with concwatch."""

LARGEST_SIZE = 1_000_000_000
MILLION = 1_000_000
REPEATS = 3


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
    seconds: float | None = None
    """How long tasks are held, once all have started.  [1]"""


class Series(How, frozen=True, kw_only=True):
    """One line of a table over all sizes."""

    engine: str
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
    site: str = ""
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


def _said(table: Table, series: Series, key: str, default: _T) -> _T:
    for how in (series, table):
        value: _T | None = getattr(how, key)
        if value is not None:
            return value
    return default


def entries(experiment: Experiment, *, quick: bool = False, sizes: Sequence[int] = ()) -> list[Entry]:
    """List the lines of the result, in the order of the file.

    Args:
        experiment: what to list.
        quick: only the few sizes that the file gives for a quick look.
        sizes: take these in place of the file's.
    """
    known = {engine.name for engine in CATALOG}
    found = []
    for table in experiment.table:
        for series in table.series:
            all_sizes: tuple[int, ...] = _said(table, series, "sizes", ())
            few = _said(table, series, "quick", all_sizes[:1]) if quick else all_sizes
            for size in sizes or few:
                older = sum(smaller for smaller in all_sizes if smaller < size)
                cell = Cell(
                    engine=series.engine,
                    size=size,
                    action=_said(table, series, "action", BURST),
                    workload=_said(table, series, "workload", "sleep:10"),
                    trace=_said(table, series, "trace", False),
                    gc=_said(table, series, "gc", "default"),
                    threads=_said(table, series, "threads", None),
                    stack=_said(table, series, "stack", None),
                    chunks=_said(table, series, "chunks", 1),
                    older=older if _said(table, series, "older", False) else 0,
                    read_after=_said(table, series, "read_after", None),
                    seconds=_said(table, series, "seconds", 1.0),
                    repeats=_said(table, series, "repeats", 1 if size >= MILLION else REPEATS),
                )
                absent = series.optional and series.engine not in known
                published = series.published.get(size)
                found.append(Entry(table, series, size, None if absent else cell, published))
    return found


def shipped() -> list[Path]:
    """List the files that come with concwatch, by name."""
    return sorted(SHIPPED.glob("*.toml"))


def load(name: str) -> Experiment:
    """Read a shipped experiment by its name, or anybody's by the path of its file.

    Raises:
        ValueError: one line that names the file, the key and what was expected.
    """
    names = {path.stem: path for path in shipped()}
    path = names.get(name) or Path(name)
    if name not in names and not (path.suffix == ".toml" or "/" in name):
        raise ValueError(
            f'unknown experiment "{name[:60]}": expected one of {", ".join(names)}, '
            f"or the path of a .toml file{nearest(name[:60], names)}"
        )
    try:
        return decode(path.read_bytes(), path.name)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}: expected the file of an experiment") from None


def decode(data: bytes, file: str) -> Experiment:
    """Read an experiment from the text of its file.

    Raises:
        ValueError: one line that names the file, the key and what was expected.
    """
    try:
        plain = _with_numbers(tomllib.loads(data.decode()))
    except (ValueError, RecursionError) as error:
        # Besides what is not TOML: what is no text, and endless numbers and brackets.
        raise ValueError(f"{file}: not TOML: {' '.join(str(error).split())}") from None
    try:
        experiment = msgspec.convert(plain, Experiment)
    except msgspec.ValidationError as error:
        raise ValueError(f"{file}: {_explain(str(error))}") from None
    for problem in _problems(experiment):
        raise ValueError(f"{file}: {' '.join(problem.split())}")
    return experiment


def _with_numbers(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Give the same with the keys of every ``published`` table as numbers, where they are."""

    def convert(key: str, value: Any) -> Any:
        if key == "published" and isinstance(value, dict):
            return {int(size) if size.isdecimal() else size: figure for size, figure in value.items()}
        if isinstance(value, dict):
            return {inner: convert(inner, item) for inner, item in value.items()}
        if isinstance(value, list):
            return [convert("", item) for item in value]
        return value

    return {key: convert(key, value) for key, value in plain.items()}


_STRUCTS: dict[str, type[msgspec.Struct]] = {
    "": Experiment,
    "source": Source,
    "table": Table,
    "series": Series,
    "compare": Compare,
}

_TYPES = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "datetime": "a date",
    "date": "a date",
    "time": "a time",
}
"""A type as msgspec calls it → as a person does."""


def _explain(message: str) -> str:
    """Rewrite an error of msgspec's so that it begins with the key."""
    text, _, path = message.partition(" - at `")
    path = re.sub(r"^(key` in `)?\$\.?", "", path).rstrip("`")
    unknown = re.match(r"Object contains unknown field `(.*)`", text)
    missing = re.match(r"Object missing required field `(.*)`", text)
    if unknown:
        struct = re.sub(r"\[\d+\]$", "", path.rpartition(".")[2])
        fields = _STRUCTS[struct].__struct_fields__
        where = f"{path}.{unknown[1]}" if path else unknown[1]
        return f'unknown key "{where}": expected one of {", ".join(fields)}{nearest(unknown[1], fields)}'
    if missing:
        where = f"{path}.{missing[1]}" if path else missing[1]
        return f'key "{where}" is missing'
    wrong = re.fullmatch(r"Invalid enum value '(.*)'", text)
    if wrong:
        modes: list[str] = []
        for field in msgspec.structs.fields(How):
            if field.name == path.rpartition(".")[2]:
                modes = [mode for kind in get_args(field.type) for mode in get_args(kind)]
        return f'key "{path}": "{wrong[1]}": expected one of {", ".join(modes)}{nearest(wrong[1], modes)}'
    return f'key "{path}": {_in_words(text)}'


def _in_words(text: str) -> str:
    """Write "Expected `int | null`, got `str`" as "expected a whole number, got text"."""

    def name(match: re.Match[str]) -> str:
        kinds = [kind for kind in match[1].split(" | ") if kind != "null"]
        return " or ".join(_TYPES.get(kind, kind) for kind in kinds)

    text = re.sub(r"`([^`]*)`", name, text)
    return text[:1].lower() + text[1:]


def _problems(experiment: Experiment) -> Iterable[str]:
    """Say what is wrong beyond types, each as one line that begins with the key."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", experiment.name):
        yield f'key "name": "{experiment.name}": expected small letters, digits and hyphens'
    if not experiment.table:
        yield 'key "table": expected one at least'
    for table in experiment.table:
        where = f'table "{table.title}"'
        yield from _table_problems(table, where)
        for series in table.series:
            yield from _series_problems(table, series, f'{where}, series "{series.name}"')


def _table_problems(table: Table, where: str) -> Iterable[str]:
    if table.reading not in READINGS:
        yield (
            f'{where}: key "reading": unknown "{table.reading}": expected one of {", ".join(READINGS)}'
            f"{nearest(table.reading, READINGS)}"
        )
        return
    kind = READINGS[table.reading].kind
    fitting = [unit for unit, (of, _) in UNITS.items() if of == kind]
    if table.unit not in fitting:
        yield f'{where}: key "unit": "{table.unit}": expected one of {", ".join(fitting)}'
    if not table.series:
        yield f'{where}: key "series": expected one at least'
    names = [series.name for series in table.series]
    for name in names:
        if names.count(name) > 1:
            yield f'{where}: key "label": two series are called "{name}": expected different labels'
    for name in (table.compare.this, table.compare.that) if table.compare else ():
        if name not in names:
            yield f'{where}: key "compare": unknown series "{name}": expected one of {", ".join(names)}'


def _series_problems(table: Table, series: Series, where: str) -> Iterable[str]:
    if not series.optional:
        try:
            find([series.engine])
        except ValueError as error:
            yield f'{where}: key "engine": {error}'
    reading, action = READINGS[table.reading], _said(table, series, "action", BURST)
    if action not in reading.actions:
        yield f'{where}: key "action": "{table.reading}" is read of {" or ".join(reading.actions)} alone'
    if reading.traced and not _said(table, series, "trace", False):
        yield f'{where}: key "trace": "{table.reading}" needs trace = true'
    if reading.traced and action == BURST and _said(table, series, "read_after", None) is None:
        yield f'{where}: key "read_after": "{table.reading}" of a burst needs the seconds to its reading'
    try:
        parse(_said(table, series, "workload", "sleep:10"))
    except ValueError as error:
        yield f'{where}: key "workload": {error}'
    for key in ("sizes", "quick"):
        sizes = _said(table, series, key, ())
        wrong = sizes_problem(sizes)
        if wrong:
            yield f'{where}: key "{key}": {wrong}'
    if not _said(table, series, "sizes", ()):
        yield f'{where}: key "sizes": expected one number of tasks at least'
    for key, least, largest in _BOUNDS:
        value = _said(table, series, key, least)
        if not least <= value <= largest:
            yield f'{where}: key "{key}": {value}: expected a number from {least} to {largest:,}'
    for size, figure in series.published.items():
        if size < 1 or not (math.isfinite(figure) and figure > 0):
            yield f'{where}: key "published": {size} = {figure}: expected a size and a figure above 0'


_BOUNDS: tuple[tuple[str, int, int], ...] = (
    ("repeats", 1, 100),
    ("threads", 1, 100_000),
    ("stack", 0, 1 << 40),
    ("chunks", 1, 1_000),
    ("read_after", 0, 3_600),
    ("seconds", 0, 3_600),
)


def sizes_problem(sizes: Sequence[int]) -> str | None:
    """Say what is wrong with a list of sizes, or None."""
    for size in sizes:
        if not 1 <= size <= LARGEST_SIZE:
            return f"{size}: expected sizes from 1 to {LARGEST_SIZE:,}"
    for before, after in pairwise(sizes):
        if after <= before:
            return f"{after} after {before}: expected ascending sizes"
    return None
