"""Processes as the system lists them, read by the standard library: also on other hosts.

Where there is no ``/proc``, `concwatch.system.psutil_fallback` asks psutil.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import NamedTuple

from concwatch.system.proc import LINUX
from concwatch.system.walls import read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Optional

_ENDED = ("Z", "X")
"""The states of a process that has ended and waits for its parent."""


class Process(NamedTuple):
    """A process that runs."""

    pid: int
    parent: int
    group: int
    user: int
    state: str
    """One letter, as ``ps`` has it: ``T`` is stopped."""
    started: float
    """When, on whatever clock: another process with the same pid has another time."""


def find_process(pid: int) -> Process | None:
    """Return a process that runs; None when it has ended or was never there."""
    if not LINUX:
        found: Optional[Process] = _fallback().find_process(pid)
        return found
    fields = read_text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if len(fields) < 20 or fields[0] in _ENDED:
        return None
    try:
        user = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None
    return Process(pid, int(fields[1]), int(fields[2]), user, fields[0], float(fields[19]))


def _fallback() -> Any:
    """Return the module that asks psutil; no other host has need of it, so it is not sent there."""
    return import_module("concwatch.system.psutil_fallback")


def pids() -> list[int]:
    """Return the numbers of all processes."""
    if LINUX:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return list(_fallback().pids())


def children_of(parents: Iterable[int]) -> set[int]:
    """Return the processes that run below any of ``parents``."""
    children: dict[int, list[int]] = {}
    for pid in pids():
        found = find_process(pid)
        if found is not None:
            children.setdefault(found.parent, []).append(pid)
    below: set[int] = set()
    unseen = list(parents)
    while unseen:
        fresh = [pid for pid in children.get(unseen.pop(), ()) if pid not in below]
        below.update(fresh)
        unseen += fresh
    return below


def command_of(pid: int) -> list[str]:
    """Return the words of a process's command line; none where it may not be looked at."""
    if LINUX:
        return read_text(f"/proc/{pid}/cmdline").split("\0")[:-1]
    return list(_fallback().command_of(pid))


def program_of(pid: int) -> str:
    """Return the path of the program that a process runs.

    Raises:
        OSError: it may not be looked at, or has gone.
    """
    if LINUX:
        return os.readlink(f"/proc/{pid}/exe").replace(" (deleted)", "")
    return str(_fallback().program_of(pid))


def variable_of(pid: int, name: str) -> str | None:
    """Return a variable of the environment with which a process was started; None where there is none.

    Raises:
        OSError: it may not be looked at, or has gone.
    """
    if LINUX:
        with open(f"/proc/{pid}/environ", "rb") as file:
            entries = file.read().decode(errors="replace").split("\0")
        return dict(entry.partition("=")[::2] for entry in entries).get(name)
    value: Optional[str] = _fallback().variable_of(pid, name)
    return value


def mapped_files(pid: int) -> list[str]:
    """Return the files that a process has mapped into its memory."""
    if not LINUX:
        return []
    parts = (line.split(None, 5) for line in read_text(f"/proc/{pid}/maps").splitlines())
    return list(dict.fromkeys(words[5] for words in parts if len(words) == 6 and words[5].startswith("/")))
