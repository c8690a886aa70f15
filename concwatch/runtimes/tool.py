"""A compiler or interpreter that a runtime needs: where to find it, and how to install it."""

import re
from pathlib import Path

from msgspec import Struct

from concwatch.hosts.build_steps import is_fit, numbers, tool_paths


class Tool(Struct, frozen=True):
    """One program of a language's toolchain."""

    name: str
    """The name of the program."""
    install_hint: str
    """How to install it; ``{version}`` stands for the version needed."""
    homes: tuple[str, ...] = ()
    """Environment variables with a folder whose ``bin`` is searched first."""
    folders: tuple[str, ...] = ()
    """Glob patterns of folders that are searched after ``PATH``."""
    version: tuple[str, ...] = ("--version",)
    """Arguments that print its version; none if it cannot."""
    pattern: str = r"(\d+(?:\.\d+)+)"
    """Matches its version, as the first group, in that output."""
    least: tuple[int, ...] = ()
    """The oldest version supported."""
    version_wanted: str = ""
    """The only version accepted, such as ``21``; empty for any version supported."""
    version_file: tuple[str, str] = ("", "")
    """A file, or a glob pattern, beside its ``bin`` that has the version, and the version's key in that file;
    for tools that are slow to print it. An empty key if the file has nothing else."""

    def unfit(self, version: str) -> bool:
        """Return whether a version is too old, or not the one wanted."""
        return not is_fit(version, self.least, self.version_wanted)

    def requirement(self, found: str) -> str:
        """Return one line with what is needed, what was ``found`` instead, and how to install it."""
        least = ".".join(map(str, self.least))
        version = self.version_wanted or (f"{least} or newer" if least else "")
        source = self.install_hint.replace("{version}", self.version_wanted or least)
        return f"needs {f'{self.name} {version}'.rstrip()}{found}: {source}"


class Found(Struct, frozen=True):
    """A tool that was found."""

    path: str
    version: str | None = None
    """Its version, if a file has it."""


def _stated_version(tool: Tool, path: str) -> str | None:
    """Return the version that a file has, if any."""
    file, key = tool.version_file
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
    """Find a tool without running it; return one line on how to install it if it is missing."""
    instead = ""
    for path in tool_paths(tool.name, tool.homes, tool.folders):
        stated = _stated_version(tool, path)
        if stated is None or not tool.unfit(stated):
            return Found(path, stated)
        instead = f", found {stated} at {path}"
    return tool.requirement(instead)
