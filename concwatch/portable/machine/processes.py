"""The list of processes, from ``/proc``. Standard library: bridges on other hosts use it.

On systems without ``/proc``, `concwatch.system.psutil_fallback` is used.
"""

from __future__ import annotations

import os

from concwatch.portable.machine.limits import read_text
from concwatch.portable.machine.proc import LINUX, Process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Optional

_ENDED = ("Z", "X")
"""The states of a process that has ended but has not been reaped by its parent."""


def find_process(pid: int) -> Process | None:
    """Return a running process; None if there is none with this pid."""
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
    """Import the fallback, which is not sent to other hosts."""
    from concwatch.system import psutil_fallback

    return psutil_fallback


def pids() -> list[int]:
    """Return the pids of all processes."""
    if LINUX:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return list(_fallback().pids())


def _parent_of(pid: int) -> int | None:
    """Return the parent of a running process; None if there is none with this pid."""
    if LINUX:  # without its user, reading whom takes a quarter of the time
        fields = read_text(f"/proc/{pid}/stat").rpartition(")")[2].split(None, 2)
        return int(fields[1]) if len(fields) > 1 and fields[0] not in _ENDED else None
    found = find_process(pid)
    return None if found is None else found.parent


def children_of(parents: Iterable[int]) -> set[int]:
    """Return the pids of all descendants of ``parents``."""
    children: dict[int, list[int]] = {}
    for pid in pids():
        parent = _parent_of(pid)
        if parent is not None:
            children.setdefault(parent, []).append(pid)
    below: set[int] = set()
    unseen = list(parents)
    while unseen:
        fresh = [pid for pid in children.get(unseen.pop(), ()) if pid not in below]
        below.update(fresh)
        unseen += fresh
    return below


def command_of(pid: int) -> list[str]:
    """Return a process's command line; empty if it cannot be read."""
    if LINUX:
        return read_text(f"/proc/{pid}/cmdline").split("\0")[:-1]
    return list(_fallback().command_of(pid))


def program_of(pid: int) -> str:
    """Return the path of a process's executable.

    Raises:
        OSError: the process has ended, or access is denied.
    """
    if LINUX:
        return os.readlink(f"/proc/{pid}/exe").replace(" (deleted)", "")
    return str(_fallback().program_of(pid))


def variable_of(pid: int, name: str) -> str | None:
    """Return a variable of the environment that a process was started with; None if it is not set.

    Raises:
        OSError: the process has ended, or access is denied.
    """
    if LINUX:
        with open(f"/proc/{pid}/environ", "rb") as file:
            entries = file.read().decode(errors="replace").split("\0")
        return dict(entry.partition("=")[::2] for entry in entries).get(name)
    value: Optional[str] = _fallback().variable_of(pid, name)
    return value


def mapped_files(pid: int) -> list[str]:
    """Return the files that are mapped into a process's memory."""
    if not LINUX:
        return []
    parts = (line.split(None, 5) for line in read_text(f"/proc/{pid}/maps").splitlines())
    return list(dict.fromkeys(words[5] for words in parts if len(words) == 6 and words[5].startswith("/")))
