"""What building a worker consists of, here as on another host. Standard library, Python 3.9."""

from __future__ import annotations

import glob
import os
import re
import shutil

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Iterable, List, Mapping, Sequence, Tuple

VERSION_TIMEOUT = 20.0
"""Seconds that a tool may take to report its version."""

BUILD_TIMEOUT = 300.0
"""Seconds that each command of a build may take; fetching packages over a slow line is part of it."""

MAX_LINES = 20
"""Lines of a build's output that are reported at most."""

MAX_LINE = 300
"""Characters of a line of it that are reported at most."""

_ERROR = re.compile(r"\berror\b|cannot|undefined|fatal|no such", re.IGNORECASE)
"""Matches the line of a build's output that explains why it failed."""


def numbers(version: str) -> Tuple[int, ...]:
    """Return the numbers in a version: ``(21, 0, 3)``."""
    return tuple(map(int, re.findall(r"\d+", version)))[:4]


def is_fit(version: str, least: Iterable[int], wanted: str) -> bool:
    """Return whether a version is not older than ``least``, and one of ``wanted`` if that is not empty."""
    found, exact = numbers(version), numbers(wanted)
    return found >= tuple(least) and found[: len(exact)] == exact


def tool_paths(name: str, homes: Iterable[str], folders: Iterable[str]) -> List[str]:
    """Return the paths of all programs of a name, in the order in which they are preferred.

    Args:
        name: the program.
        homes: environment variables with a folder whose ``bin`` is searched first, before ``PATH``.
        folders: glob patterns of folders that are searched last, in each the highest version first.
    """
    first = [os.path.join(os.environ[home], "bin") for home in homes if os.environ.get(home)]
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    others = [
        folder
        for pattern in folders
        for folder in sorted(glob.glob(os.path.expanduser(pattern)), key=numbers, reverse=True)
    ]
    found = (shutil.which(name, path=folder) for folder in (*first, *path, *others) if folder)
    return list(dict.fromkeys(filter(None, found)))


def fill_in(command: Sequence[str], values: Mapping[str, str]) -> List[str]:
    """Return a command whose placeholders, as ``{source}``, are replaced by their values."""
    words = list(command)
    for name, value in values.items():
        words = [word.replace(f"{{{name}}}", value) for word in words]
    return words


def report_output(text: str, report: Callable[[str], None]) -> None:
    """Report the first lines of a build's output, one by one."""
    lines = _lines(text)
    for line in lines[:MAX_LINES]:
        report(line[:MAX_LINE])
    if len(lines) > MAX_LINES:
        report(f"… and {len(lines) - MAX_LINES} more lines")


def failure(text: str) -> str:
    """Return the message of a build that failed with this output."""
    return f"build failed: {next(filter(_ERROR.search, _lines(text)), last_line(text))[:MAX_LINE]}"


def last_line(text: str) -> str:
    """Return the last line of a command's output."""
    return (_lines(text) or ["no output"])[-1][:MAX_LINE]


def _lines(text: str) -> List[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
