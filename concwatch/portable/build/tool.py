"""A compiler or interpreter that a runtime needs: where to find it, and how to install it.

Standard library, Python 3.9: a bridge finds the tools of its host with it, too.
"""

import os
import re
import shutil
from pathlib import Path
from typing import Callable, List, NamedTuple, Optional, Tuple, Union


class Tool(NamedTuple):
    """One program of a language's toolchain."""

    name: str
    """The name of the program."""
    install_hint: str
    """How to install it; ``{version}`` stands for the version needed."""
    homes: Tuple[str, ...] = ()
    """Environment variables with a folder whose ``bin`` is searched first."""
    folders: Tuple[str, ...] = ()
    """Glob patterns of folders that are searched after ``PATH``, in each the highest version first."""
    version: Tuple[str, ...] = ("--version",)
    """Arguments that print its version; none if it cannot."""
    pattern: str = r"(\d+(?:\.\d+)+)"
    """Matches its version, as the first group, in that output."""
    least: Tuple[int, ...] = ()
    """The oldest version supported."""
    version_wanted: str = ""
    """The only version accepted, such as ``21``; empty for any version supported."""
    version_file: Tuple[str, str] = ("", "")
    """A file, or a glob pattern, beside its ``bin`` that has the version, and the version's key in that file;
    for tools that are slow to print it. An empty key if the file has nothing else."""

    def fits(self, version: str) -> bool:
        """Return whether a version is not too old, and the one wanted if there is one."""
        found, exact = _numbers(version), _numbers(self.version_wanted)
        return found >= tuple(self.least) and found[: len(exact)] == exact

    def requirement(self, found: str) -> str:
        """Return one line with what is needed, what was ``found`` instead, and how to install it."""
        least = ".".join(map(str, self.least))
        version = self.version_wanted or (f"{least} or newer" if least else "")
        source = self.install_hint.replace("{version}", self.version_wanted or least)
        return f"needs {f'{self.name} {version}'.rstrip()}{found}: {source}"

    def places(self) -> List[str]:
        """Return the paths of all programs of its name, in the order in which they are preferred."""
        import glob  # not needed for the first frame

        first = [os.path.join(os.environ[home], "bin") for home in self.homes if os.environ.get(home)]
        path = os.environ.get("PATH", os.defpath).split(os.pathsep)
        others = [
            folder
            for pattern in self.folders
            for folder in sorted(glob.glob(os.path.expanduser(pattern)), key=_numbers, reverse=True)
        ]
        found = (shutil.which(self.name, path=folder) for folder in (*first, *path, *others) if folder)
        return list(dict.fromkeys(filter(None, found)))


class Found(NamedTuple):
    """A tool that was found."""

    path: str
    version: Optional[str] = None
    """Its version, if it is known."""


def find(tool: Tool, ask: Optional[Callable[[Tool, str], str]] = None) -> Union[Found, str]:
    """Find a tool; return one line on how to install it if it is missing.

    Args:
        tool: the tool.
        ask: called with the tool and its path if no file states its version. Returns the version, or raises
            ValueError if it prints none. Without, no tool is run.
    """
    instead = ""
    for path in tool.places():
        version = _stated_version(tool, path)
        if version is None and ask is not None and tool.version:
            try:
                version = ask(tool, path)
            except ValueError as error:
                instead = f", {error}"
                continue
        if version is None or tool.fits(version):
            return Found(path, version)
        instead = f", found {version} at {path}"
    return tool.requirement(instead)


def _numbers(version: str) -> Tuple[int, ...]:
    """Return the numbers in a version: ``(21, 0, 3)``."""
    return tuple(map(int, re.findall(r"\d+", version)))[:4]


def _stated_version(tool: Tool, path: str) -> Optional[str]:
    """Return the version that a file has, if any."""
    file, key = tool.version_file
    if not file:
        return None
    files = sorted(Path(path).resolve().parent.parent.glob(file), key=lambda found: _numbers(str(found)))
    try:
        text = files[-1].read_text(encoding="utf-8", errors="replace")
    except (OSError, IndexError):
        return None
    begins = re.escape(f"{key}=") if key else ""
    match = re.search(rf'^{begins}"?([^"\n]+)', text, re.MULTILINE)
    return match[1] if match else None
