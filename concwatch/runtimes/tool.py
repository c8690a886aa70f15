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
    """What to do when it is not there; ``{version}`` stands for the version that is wanted."""
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
    version_wanted: str = ""
    """The only version that will do, such as ``21``; none for any that is not too old."""
    stated: tuple[str, str] = ("", "")
    """A file beside its ``bin``, or a pattern of such, and the key under which that states the version, for
    those slow to tell; no key where the file states nothing else."""

    def unfit(self, version: str) -> bool:
        """Whether a version is too old, or not the wanted one."""
        found, wanted = numbers(version), numbers(self.version_wanted)
        return found < self.least or found[: len(wanted)] != wanted

    def needed(self, found: str) -> str:
        """Return what is needed and what to do, in a line; ``found`` says what is there instead."""
        least = ".".join(map(str, self.least))
        version = self.version_wanted or (f"{least} or newer" if least else "")
        source = self.brought_by.replace("{version}", self.version_wanted or least)
        return f"needs {f'{self.name} {version}'.rstrip()}{found}: {source}"


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
    instead = ""
    for path in _candidates(tool):
        stated = _stated(tool, path)
        if stated is None or not tool.unfit(stated):
            return Found(path, stated)
        instead = f", found {stated} at {path}"
    return tool.needed(instead)
