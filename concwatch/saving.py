"""Files that are written whole or not at all."""

import contextlib
import os
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Write ``content`` into a neighbour of ``path`` that takes its place once it is whole.

    What is no ordinary file (a pipe, ``/dev/null``) is written to as it stands.

    Raises:
        OSError: it could not be written; what was there before still is.
    """
    data = content.encode() if isinstance(content, str) else content
    if _is_special(path):
        path.write_bytes(data)
        return
    part = _part(path)
    try:
        part.write_bytes(data)
        os.replace(part, _target(path))
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def why_not_writable(path: Path) -> str | None:
    """Say why ``path`` could not be written, found out by trying beside it; None when it could."""
    try:
        if path.is_dir():
            return "is a folder"
        if _is_special(path):
            return None if os.access(path, os.W_OK) else "cannot be written"
        part = _part(path)
        part.touch()
        part.unlink()
    except (OSError, ValueError) as error:  # ValueError: a name with a null in it
        return str(getattr(error, "strerror", None) or error)
    return None


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _target(path: Path) -> Path:
    """Follow links: what a link points to is replaced, not the link."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _part(path: Path) -> Path:
    target = _target(path)
    return target.with_name(target.name + ".part")
