"""The file of an experiment: where it is found, how it is read, and what is wrong with it."""

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import msgspec

from concwatch.experiments.experiment import Compare, Experiment, Series, Source, Table, said
from concwatch.experiments.program import PROGRAM_READINGS, find_runtime
from concwatch.experiments.readings import BURST, READINGS, TRACED, actions_of
from concwatch.files import read_file, read_toml
from concwatch.lab.catalog import known
from concwatch.measure.units import SCALES
from concwatch.text import nearest, one_line
from concwatch.worker.workloads import parse

SHIPPED = Path(__file__).parent / "published"
"""The folder of the experiments that come with concwatch."""

PROGRAMS = Path(__file__).parent / "programs"
"""The folder of their programs."""

LARGEST_SIZE = 1_000_000_000
MOST = 100
"""Tables of an experiment, series of a table, and sizes of a series."""


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
        data = read_file(path)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}: expected the file of an experiment") from None
    return decode(data, path.name, Path(name).parent)


def decode(data: bytes, file: str, folder: Path = PROGRAMS) -> Experiment:
    """Read an experiment from the text of its file, whose programs are in ``folder`` or come with concwatch.

    Raises:
        ValueError: one line that names the file, the key and what was expected.
    """
    try:
        experiment = msgspec.convert(_prepared(read_toml(data, file), folder), Experiment)
    except RecursionError:
        raise ValueError(f"{file}: not an experiment: tables within tables without end") from None
    except msgspec.ValidationError as error:
        raise ValueError(f"{file}: {one_line(_explain(str(error)))}") from None
    for problem in _problems(experiment):
        raise ValueError(f"{file}: {one_line(problem)}")
    return experiment


def _prepared(plain: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the same with keys of ``published`` tables as numbers, where they are, and programs' paths."""

    def convert(key: str, value: Any) -> Any:
        if key == "published" and isinstance(value, dict):
            return {int(size) if size.isdecimal() else size: figure for size, figure in value.items()}
        if key == "program" and isinstance(value, str):
            own = folder / value
            return str(own if os.path.isfile(own) or "/" in value else PROGRAMS / value)
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
    """Rewrite an error of ``msgspec.convert`` so that it begins with the key."""
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
        words = _words(path.rpartition(".")[2])
        return f'key "{path}": "{wrong[1]}": expected one of {", ".join(words)}{nearest(wrong[1], words)}'
    return f'key "{path}": {_in_words(text)}'


def _words(key: str) -> list[str]:
    """Return the words that ``key`` takes, in the first table that has it."""
    for struct in _STRUCTS.values():
        for field in msgspec.structs.fields(struct):
            words = [word for kind in get_args(field.type) for word in get_args(kind)]
            if field.name == key and words:
                return words
    return []


def _in_words(text: str) -> str:
    """Write "Expected `int | null`, got `str`" as "expected a whole number, got text"."""

    def name(match: re.Match[str]) -> str:
        kinds = [kind for kind in match[1].split(" | ") if kind != "null"]
        return " or ".join(_TYPES.get(kind, kind) for kind in kinds)

    text = re.sub(r"`([^`]*)`", name, text)
    return text[:1].lower() + text[1:]


def _problems(experiment: Experiment) -> Iterable[str]:
    """Return what is wrong beyond types, each as one line that begins with the key."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", experiment.name):
        yield f'key "name": "{experiment.name}": expected small letters, digits and hyphens'
    if not experiment.table:
        yield 'key "table": expected one at least'
    if len(experiment.table) > MOST:
        yield f'key "table": {len(experiment.table):,} of them: expected {MOST} at most'
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
    kind = READINGS[table.reading].unit
    fitting = [unit for unit, (of, _) in SCALES.items() if of is kind]
    if table.unit not in fitting:
        yield f'{where}: key "unit": "{table.unit}": expected one of {", ".join(fitting)}'
    if not table.series:
        yield f'{where}: key "series": expected one at least'
    if len(table.series) > MOST:
        yield f'{where}: key "series": {len(table.series):,} of them: expected {MOST} at most'
        return
    names = [series.name for series in table.series]
    for name in names:
        if names.count(name) > 1:
            yield f'{where}: key "label": two series are called "{name}": expected different labels'
    if table.compare and table.compare.size is not None and table.compare.size < 1:
        yield f'{where}: key "compare.size": {table.compare.size}: expected a size of both series'
    for name in (table.compare.this, table.compare.that) if table.compare else ():
        if name not in names:
            yield f'{where}: key "compare": unknown series "{name}": expected one of {", ".join(names)}'


def _series_problems(table: Table, series: Series, where: str) -> Iterable[str]:
    if not series.optional:
        try:
            known(series.engine)
        except ValueError as error:
            yield f'{where}: key "engine": {error}'
    if series.program is not None:
        yield from _program_problems(table, series, where)
    reading, action = READINGS[table.reading], said(table, series, "action", BURST)
    if action not in actions_of(reading):
        yield f'{where}: key "action": "{table.reading}" is read of {" or ".join(actions_of(reading))} alone'
    if reading.name in TRACED and not said(table, series, "trace", False):
        yield f'{where}: key "trace": "{table.reading}" needs trace = true'
    if reading.name in TRACED and action == BURST and said(table, series, "read_after", None) is None:
        yield f'{where}: key "read_after": "{table.reading}" of a burst needs the seconds to its reading'
    try:
        parse(said(table, series, "workload", "sleep:10"))
    except ValueError as error:
        yield f'{where}: key "workload": {error}'
    environment: dict[str, str] = said(table, series, "environment", {})
    for name, text in environment.items():
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or "\0" in text:
            yield f'{where}: key "environment": "{name}": expected a variable\'s name and its text'
    for key in ("sizes", "quick"):
        sizes = said(table, series, key, ())
        wrong = sizes_problem(sizes)
        if wrong:
            yield f'{where}: key "{key}": {wrong}'
    if not said(table, series, "sizes", ()):
        yield f'{where}: key "sizes": expected one number of tasks at least'
    for key, least, largest in _BOUNDS:
        value = said(table, series, key, least)
        if not least <= value <= largest:
            yield f'{where}: key "{key}": {value}: expected a number from {least} to {largest:,}'
    for size, figure in series.published.items():
        if size < 1 or not (math.isfinite(figure) and figure > 0):
            yield f'{where}: key "published": {size} = {figure}: expected a size and a figure above 0'


def _program_problems(table: Table, series: Series, where: str) -> Iterable[str]:
    assert series.program is not None
    program = Path(series.program)
    if not os.path.isfile(program):
        yield f'{where}: key "program": "{program.name}": expected a file beside the experiment\'s'
    elif find_runtime(program, series.engine, 1) is None:
        yield f'{where}: key "program": "{program.name}": expected a known suffix, or an executable'
    if table.reading not in PROGRAM_READINGS:
        yield f'{where}: key "reading": of a program nothing but {", ".join(PROGRAM_READINGS)} is read'


_BOUNDS: tuple[tuple[str, int, int], ...] = (
    ("repeats", 1, 100),
    ("threads", 1, 100_000),
    ("stack", 0, 1 << 40),
    ("chunks", 1, 1_000),
    ("read_after", 0, 3_600),
    ("seconds", 0, 3_600),
)


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
