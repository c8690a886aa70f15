"""The list of processes, from ``/proc``. Standard library: bridges on other hosts use it."""

from __future__ import annotations

import os

from concwatch.portable.machine.limits import read_text
from concwatch.portable.machine.process_reader import Process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Iterable, Iterator, List, Tuple

_ENDED = ("Z", "X")
"""The states of a process that has ended but has not been reaped by its parent."""


def find_process(pid: int) -> Process | None:
    """Return a running process; None if there is none with this pid."""
    fields = read_text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if len(fields) < 3 or fields[0] in _ENDED:
        return None
    try:
        user = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None
    return Process(pid, int(fields[1]), int(fields[2]), user, fields[0])


def pids() -> list[int]:
    """Return the pids of all processes."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _pids_and_parents() -> Iterator[Tuple[int, int]]:
    """Yield the pid and the parent of each running process."""
    for pid in pids():  # without its user, reading whom takes a quarter of the time
        fields = read_text(f"/proc/{pid}/stat").rpartition(")")[2].split(None, 2)
        if len(fields) > 1 and fields[0] not in _ENDED:
            yield pid, int(fields[1])


def children_of(parents: Iterable[int]) -> set[int]:
    """Return the pids of all descendants of ``parents``."""
    return descendants(parents, _pids_and_parents())


def descendants(parents: Iterable[int], pids_and_parents: Iterable[Tuple[int, int]]) -> set[int]:
    """Return the pids of all descendants of ``parents``, given the parent of each process."""
    children: Dict[int, List[int]] = {}
    for pid, parent in pids_and_parents:
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
    return read_text(f"/proc/{pid}/cmdline").split("\0")[:-1]


def program_of(pid: int) -> str:
    """Return the path of a process's executable.

    Raises:
        OSError: the process has ended, or access is denied.
    """
    return os.readlink(f"/proc/{pid}/exe").replace(" (deleted)", "")


def variable_of(pid: int, name: str) -> str | None:
    """Return a variable of the environment that a process was started with; None if it is not set.

    Raises:
        OSError: the process has ended, or access is denied.
    """
    with open(f"/proc/{pid}/environ", "rb") as file:
        entries = file.read().decode(errors="replace").split("\0")
    return dict(entry.partition("=")[::2] for entry in entries).get(name)


def mapped_files(pid: int) -> list[str]:
    """Return the files that are mapped into a process's memory."""
    parts = (line.split(None, 5) for line in read_text(f"/proc/{pid}/maps").splitlines())
    return list(dict.fromkeys(words[5] for words in parts if len(words) == 6 and words[5].startswith("/")))
