"""Loading of experiment files, with errors that name the key and the expected value."""

import os
import re
from pathlib import Path
from typing import get_args

import msgspec

from concwatch.measure.experiments.experiment import (
    CellOptions,
    Compare,
    Experiment,
    ExperimentSeries,
    ExperimentTable,
    Publication,
)
from concwatch.portable.protocol.text import one_line, suggest
from concwatch.system.files import read_file, read_toml

SHIPPED = Path(__file__).parent / "published"
"""The folder of the experiments that come with concwatch."""

PROGRAMS = Path(__file__).parent / "programs"
"""The folder of their programs."""


def shipped() -> list[Path]:
    """List the shipped files, sorted by name."""
    return sorted(SHIPPED.glob("*.toml"))


def load(name: str) -> Experiment:
    """Load a shipped experiment by its name, or another one by the path of its file.

    Raises:
        ValueError: one line that names the file, the key and what was expected.
    """
    names = {path.stem: path for path in shipped()}
    path = names.get(name) or Path(name)
    if name not in names and not (path.suffix == ".toml" or "/" in name):
        raise ValueError(
            f'unknown experiment "{name[:60]}"; expected one of {", ".join(names)}, '
            f"or the path of a .toml file{suggest(name[:60], names)}"
        )
    try:
        data = read_file(path)
    except OSError as error:
        raise ValueError(f'experiment file "{path}" cannot be read ({error.strerror})') from None
    return decode(data, path.name, Path(name).parent)


def decode(data: bytes, file: str, folder: Path = PROGRAMS) -> Experiment:
    """Parse an experiment's file, whose programs are in ``folder`` or shipped with concwatch.

    Raises:
        ValueError: one line that names the file, the key and what was expected.
    """

    def convert(kind: type, text: object) -> object:
        if not isinstance(text, str):
            raise ValueError("it must be text")
        return _find_program(folder, text) if kind is Path else kind(text)

    read = read_toml(data, file)
    if isinstance(read.get("table"), list):
        read["table"] = [_inherited(table) for table in read["table"]]
    try:
        return msgspec.convert(read, Experiment, str_keys=True, dec_hook=convert)
    except RecursionError:
        raise ValueError(f"{file}: not an experiment: tables are nested too deeply") from None
    except msgspec.ValidationError as error:
        raise ValueError(f"{file}: {one_line(_explain(str(error)))}") from None


def _inherited(table: object) -> object:
    """Return a table whose series have inherited its options."""
    if not isinstance(table, dict) or not isinstance(table.get("series"), list):
        return table
    options = {key: table[key] for key in CellOptions.__struct_fields__ if key in table}
    series = [{**options, **each} if isinstance(each, dict) else each for each in table["series"]]
    return {**table, "series": series}


def _find_program(folder: Path, name: str) -> Path:
    own = folder / name
    found = own if os.path.isfile(own) or "/" in name else PROGRAMS / name
    if not os.path.isfile(found):
        raise ValueError(f'"{name}"; expected a file beside the experiment\'s')
    return found


_STRUCTS: dict[str, type[msgspec.Struct]] = {
    "": Experiment,
    "source": Publication,
    "table": ExperimentTable,
    "series": ExperimentSeries,
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
"""A type's name in msgspec's errors → in ours."""


def _explain(message: str) -> str:
    """Rewrite an error of ``msgspec.convert`` to begin with the key."""
    text, at, path = message.rpartition(" - at `")
    text, path = (text, path) if at else (message, "")
    path = re.sub(r"^(key` in `)?\$\.?", "", path).rstrip("`")
    field = re.fullmatch(r"Object (contains unknown|missing required) field `(.*)`", text, re.DOTALL)
    if field:
        key = f"{path}.{field[2]}".lstrip(".")
        if field[1] == "missing required":
            return f'key "{key}" is missing'
        fields = _STRUCTS[re.sub(r"\[\d+\]$", "", path.rpartition(".")[2])].__struct_fields__
        return f'unknown key "{key}"; expected one of {", ".join(fields)}{suggest(field[2], fields)}'
    wrong = re.fullmatch(r"Invalid enum value '(.*)'", text, re.DOTALL)
    if wrong:
        words = get_args(CellOptions.__annotations__[path.rpartition(".")[2]])
        return f'key "{path}": "{wrong[1]}"; expected one of {", ".join(words)}{suggest(wrong[1], words)}'
    text, changed = re.subn(r"^Expected `([^`]*)`(?:, got `([^`]*)`)?", _in_words, text)
    return f'key "{path}"{"" if changed else ":"} {text}'


def _in_words(found: re.Match[str]) -> str:
    """Write "Expected `int | null`, got `str`" as "must be a whole number, not text"."""

    def name(kinds: str) -> str:
        return " or ".join(_TYPES.get(kind, kind) for kind in kinds.split(" | ") if kind != "null")

    return f"must be {name(found[1])}" + (f", not {name(found[2])}" if found[2] else "")
