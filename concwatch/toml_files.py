"""TOML files that people write: read strictly, and what is wrong with one told in a person's words."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec

from concwatch.text import nearest, one_line
from concwatch.units import format_bytes

LARGEST = 1 << 18
"""Bytes of a file."""
MOST_DOTS = 200
"""In a line."""

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


def shipped_files(folder: Path) -> list[Path]:
    """List the files of ``folder`` that come with concwatch, by name."""
    return sorted(folder.glob("*.toml"))


def read_named(name: str, folder: Path) -> tuple[bytes, str]:
    """Read the experiment of ``folder`` that has this name, or the file of any by its path.

    Returns:
        The text, and the file's name.

    Raises:
        ValueError: one line that says what there is, or why it cannot be read.
    """
    names = {path.stem: path for path in shipped_files(folder)}
    path = names.get(name) or Path(name)
    if name not in names and not (path.suffix == ".toml" or "/" in name):
        raise ValueError(
            f'unknown experiment "{name[:60]}": expected one of {", ".join(names)}, '
            f"or the path of a .toml file{nearest(name[:60], names)}"
        )
    try:
        return read_file(path), path.name
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}: expected the file of an experiment") from None


def read_file(path: Path) -> bytes:
    """Read a file for `read_toml`; of one that is too large only so much as tells that.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return file.read(LARGEST + 1)


def read_toml(data: bytes, file: str) -> dict[str, Any]:
    """Read the tables of a file from its text.

    Raises:
        ValueError: one line that names the file, and its line, and says why it is not TOML, or too large.
    """
    if len(data) > LARGEST:
        raise ValueError(f"{file}: more than {format_bytes(LARGEST)}: expected a file that a person writes")
    for number, text in enumerate(data.split(b"\n"), 1):
        if text.count(b".") > MOST_DOTS:  # to read keys of so many parts takes the square of their number
            raise ValueError(f"{file}: not TOML: more than {MOST_DOTS} dots in a line (at line {number})")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))  # some editors put a mark before the text
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ValueError(f"{file}: not TOML: no UTF-8 (at line {line})") from None
    except (ValueError, RecursionError) as error:
        # Besides what is not TOML: endless numbers and brackets.
        last = data.rstrip().count(b"\n") + 1
        why = one_line(str(error)).replace("(at end of document)", f"(at line {last}, the last)")
        raise ValueError(f"{file}: not TOML: {why}") from None


def explain(message: str, structs: Mapping[str, type[msgspec.Struct]]) -> str:
    """Rewrite an error of ``msgspec.convert`` so that it begins with the key.

    Args:
        message: the error's text.
        structs: what each table is read as, by its key; the whole file by an empty string.
    """
    text, _, path = message.partition(" - at `")
    path = re.sub(r"^(key` in `)?\$\.?", "", path).rstrip("`")
    unknown = re.match(r"Object contains unknown field `(.*)`", text)
    missing = re.match(r"Object missing required field `(.*)`", text)
    if unknown:
        struct = re.sub(r"\[\d+\]$", "", path.rpartition(".")[2])
        fields = structs[struct].__struct_fields__
        where = f"{path}.{unknown[1]}" if path else unknown[1]
        return f'unknown key "{where}": expected one of {", ".join(fields)}{nearest(unknown[1], fields)}'
    if missing:
        where = f"{path}.{missing[1]}" if path else missing[1]
        return f'key "{where}" is missing'
    wrong = re.fullmatch(r"Invalid enum value '(.*)'", text)
    if wrong:
        words = _words(path.rpartition(".")[2], structs)
        return f'key "{path}": "{wrong[1]}": expected one of {", ".join(words)}{nearest(wrong[1], words)}'
    return f'key "{path}": {_in_words(text)}'


def _words(key: str, structs: Mapping[str, type[msgspec.Struct]]) -> list[str]:
    """Return the words that ``key`` takes, in the first table that has it."""
    for struct in structs.values():
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
