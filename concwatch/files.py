"""Files: those that people write, read strictly; and those of ours, written whole or not at all."""

import contextlib
import os
from pathlib import Path
from typing import Any

from concwatch.text import one_line
from concwatch.units import format_bytes

MAX_SIZE = 1 << 18
"""Bytes of a file that a person writes."""
MAX_DOTS = 200
"""In a line of TOML."""


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write ``content`` into a neighbour of ``path`` that takes its place once it is whole.

    What is no ordinary file (a pipe, ``/dev/null``) is written to as it stands.

    Raises:
        OSError: it could not be written; what was there before still is.
    """
    data = content.encode() if isinstance(content, str) else content
    if _is_special(path):
        path.write_bytes(data)
        return
    part = _make_part(path)
    try:
        part.write_bytes(data)
        os.replace(part, _target(path))
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def new_path(folder: Path, stem: str, *suffixes: str) -> Path:
    """Return a path in ``folder`` with the first of ``suffixes``, such that no file has its name with any.

    Args:
        folder: where the file is to be.
        stem: its name; if that is taken, ``-2`` and so on are added.
        suffixes: those of the files that are to stand there together.
    """
    stems = (stem, *(f"{stem}-{number}" for number in range(2, 1000)))
    free = (each for each in stems if not any((folder / f"{each}{suffix}").exists() for suffix in suffixes))
    return folder / f"{next(free)}{suffixes[0]}"


def why_not_writable(path: Path) -> str | None:
    """Return why ``path`` could not be written, found out by trying beside it; None when it could."""
    try:
        if path.is_dir():
            return "is a folder"
        if _is_special(path):
            return None if os.access(path, os.W_OK) else "cannot be written"
        with contextlib.suppress(FileNotFoundError):
            path.stat()  # a name that is too long
        _make_part(path).unlink()
    except (OSError, ValueError) as error:  # ValueError: a name with a null in it
        return str(getattr(error, "strerror", None) or error)
    return None


def is_same_file(one: Path, other: Path) -> bool:
    """Return whether two paths lead to the same file, by whatever names or links."""
    try:
        return one.samefile(other)
    except (OSError, ValueError):  # one is not there, or has a name with a null in it
        return False


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _target(path: Path) -> Path:
    """Follow links: what a link points to is replaced, not the link."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _make_part(path: Path) -> Path:
    """Make an empty neighbour of ``path``, under a name that nobody else has.

    Raises:
        OSError: there can be none.
    """
    part = _target(path).with_name(f".concwatch-{os.urandom(8).hex()}.part")
    part.touch(exist_ok=False)
    return part


def read_file(path: Path) -> bytes:
    """Read a file for `read_toml`; of one that is too large only so much as tells that.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return file.read(MAX_SIZE + 1)


def read_toml(data: bytes, file: str) -> dict[str, Any]:
    """Read the tables of a file from its text.

    Raises:
        ValueError: one line that names the file, and its line, and says why it is not TOML, or too large.
    """
    if len(data) > MAX_SIZE:
        raise ValueError(f"{file}: more than {format_bytes(MAX_SIZE)}: expected a file that a person writes")
    for number, text in enumerate(data.split(b"\n"), 1):
        if text.count(b".") > MAX_DOTS:  # to read keys of so many parts takes the square of their number
            raise ValueError(f"{file}: not TOML: more than {MAX_DOTS} dots in a line (at line {number})")
    import tomllib  # only here: most have no file

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
