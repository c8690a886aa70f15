"""A compiler or interpreter that must be on the machine: where it is looked for, and what brings it."""

import glob
import os
import re
import shutil
from pathlib import Path

from msgspec import Struct


class Tool(Struct, frozen=True):
    """One program of a language's toolchain."""

    name: str
    """The program."""
    brought_by: str
    """What to do when it is not there."""
    homes: tuple[str, ...] = ()
    """Environment variables that name a folder in whose ``bin`` it may be; these come first."""
    folders: tuple[str, ...] = ()
    """Patterns of folders that are looked in after ``PATH``."""
    version: tuple[str, ...] = ("--version",)
    """Arguments with which it tells its version; none for one that does not tell."""
    pattern: str = r"(\d+(?:\.\d+)+)"
    """The version, as the first group, in what it tells."""
    least: tuple[int, ...] = ()
    """The oldest version that will do."""
    stated: tuple[str, str] = ("", "")
    """A file beside its ``bin``, or a pattern of such, and the key under which that states the version, for
    those slow to tell; no key where the file states nothing else."""


class Found(Struct, frozen=True):
    """A tool that is there."""

    path: str
    stated: str | None = None
    """Its version, where a file states it."""


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version: ``(21, 0, 3)``."""
    return tuple(map(int, re.findall(r"\d+", version)))[:4]


def _candidates(tool: Tool) -> list[str]:
    homes = [os.path.join(os.environ[home], "bin") for home in tool.homes if os.environ.get(home)]
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    others = [
        folder
        for pattern in tool.folders
        for folder in sorted(glob.glob(os.path.expanduser(pattern)), key=numbers, reverse=True)
    ]
    found = (shutil.which(tool.name, path=folder) for folder in (*homes, *path, *others) if folder)
    return list(dict.fromkeys(filter(None, found)))


def _stated(tool: Tool, path: str) -> str | None:
    """Read the version that a file states, or nothing."""
    file, key = tool.stated
    if not file:
        return None
    files = sorted(Path(path).resolve().parent.parent.glob(file), key=lambda found: numbers(str(found)))
    try:
        text = files[-1].read_text(encoding="utf-8", errors="replace")
    except (OSError, IndexError):
        return None
    begins = re.escape(f"{key}=") if key else ""
    match = re.search(rf'^{begins}"?([^"\n]+)', text, re.MULTILINE)
    return match[1] if match else None


def find(tool: Tool) -> Found | str:
    """Look for a tool without running anything; else say what to do, in a line."""
    too_old = ""
    for path in _candidates(tool):
        stated = _stated(tool, path)
        if stated is None or numbers(stated) >= tool.least:
            return Found(path, stated)
        too_old = f", found {stated} at {path}"
    least = f" {'.'.join(map(str, tool.least))} or newer" if tool.least else ""
    return f"needs {tool.name}{least}{too_old}: {tool.brought_by}"
