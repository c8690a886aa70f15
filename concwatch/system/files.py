"""Atomic writing of files, and strict reading of the TOML files that users write."""

import contextlib
import os
from pathlib import Path
from typing import Any

from concwatch.portable.protocol.text import one_line
from concwatch.portable.protocol.units import format_bytes

MAX_SIZE = 1 << 18
"""Size of a TOML file in bytes."""
MAX_DOTS = 200
"""Dots in a line of TOML."""


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write ``content`` to a temporary file beside ``path``, then rename it to ``path``.

    A pipe or a device (``/dev/null``) is written to directly.

    Raises:
        OSError: the file could not be written; an existing one is unchanged.
    """
    data = content.encode() if isinstance(content, str) else content
    if _is_special(path):
        path.write_bytes(data)
        return
    part = _create_temporary(path)
    try:
        part.write_bytes(data)
        os.replace(part, _target(path))
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def new_path(folder: Path, stem: str, *suffixes: str) -> Path:
    """Return a path in ``folder`` with the first of ``suffixes`` whose name is unused with all of them.

    Args:
        folder: the folder.
        stem: the name without a suffix; if it is taken, ``-2`` and so on is appended.
        suffixes: the suffixes of files that share one name.
    """
    stems = (stem, *(f"{stem}-{number}" for number in range(2, 1000)))
    free = (each for each in stems if not any((folder / f"{each}{suffix}").exists() for suffix in suffixes))
    return folder / f"{next(free)}{suffixes[0]}"


def why_not_writable(path: Path) -> str | None:
    """Return why ``path`` cannot be written, or None; tries to create a temporary file beside it."""
    try:
        if path.is_dir():
            return "is a folder"
        if _is_special(path):
            return None if os.access(path, os.W_OK) else "cannot be written"
        with contextlib.suppress(FileNotFoundError):
            path.stat()  # a name that is too long
        _create_temporary(path).unlink()
    except (OSError, ValueError) as error:  # ValueError: a name with a null in it
        return str(getattr(error, "strerror", None) or error)
    return None


def is_same_file(one: Path, other: Path) -> bool:
    """Return whether two paths lead to the same existing file."""
    try:
        return one.samefile(other)
    except (OSError, ValueError):  # ValueError: a name with a null in it
        return False


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _target(path: Path) -> Path:
    """Return the file behind a symbolic link, which is replaced instead of the link."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _create_temporary(path: Path) -> Path:
    """Create an empty file with a unique name beside ``path``; raise an OSError if that fails."""
    part = _target(path).with_name(f".concwatch-{os.urandom(8).hex()}.part")
    part.touch(exist_ok=False)
    return part


def read_file(path: Path) -> bytes:
    """Read a file for `read_toml`, up to just over `MAX_SIZE`.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        return file.read(MAX_SIZE + 1)


def read_toml(data: bytes, file: str) -> dict[str, Any]:
    """Parse a TOML file.

    Args:
        data: the content.
        file: its name, for error messages.

    Raises:
        ValueError: it is too large or not valid TOML; the message is one line with the file and the line.
    """
    if len(data) > MAX_SIZE:
        raise ValueError(f"{file}: more than {format_bytes(MAX_SIZE)}; expected a small text file")
    for number, text in enumerate(data.split(b"\n"), 1):
        if text.count(b".") > MAX_DOTS:  # parsing a dotted key takes quadratic time
            raise ValueError(f"{file}: not TOML: more than {MAX_DOTS} dots in a line (at line {number})")
    import tomllib  # not at the top: most users have no file

    try:
        return tomllib.loads(data.decode("utf-8-sig"))  # some editors write a byte order mark
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ValueError(f"{file}: not TOML: not UTF-8 (at line {line})") from None
    except (ValueError, RecursionError) as error:
        # Also raised for excessively long numbers and deep nesting.
        last = data.rstrip().count(b"\n") + 1
        why = one_line(str(error)).replace("(at end of document)", f"(at line {last}, the last)")
        raise ValueError(f"{file}: not TOML: {why}") from None
