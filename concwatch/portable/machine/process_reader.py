"""The figures of one process, from ``/proc``: RSS and other memory, CPU time, start, threads."""

from __future__ import annotations

import os
import sys
from math import inf
from time import perf_counter
from typing import NamedTuple

from concwatch.portable.machine.kernel_memory import kernel_stack_size
from concwatch.portable.machine.limits import read_fields, read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

LINUX = sys.platform.startswith("linux")
"""Whether this is Linux, which has ``/proc``."""

CLOCK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
"""Clock ticks per second, the unit of CPU time."""

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096

PSS_INTERVAL = 5.0
"""Seconds between two readings of a process's PSS."""

PSS_CHANGE, PSS_SOON = 0.1, 1.0
"""The share by which RSS must have changed for the next reading to be sooner, and the seconds until then."""

PSS_SHARE = 0.005
"""The most of the time that these readings take."""


class Process(NamedTuple):
    """A running process."""

    pid: int
    parent: int
    group: int
    user: int
    state: str
    """One letter, as in ``ps``: ``T`` is stopped."""


class ProcFile:
    """A small file of ``/proc`` that stays open: reading it again takes a quarter of the time of opening it.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY)

    def text(self) -> str:
        """Return its text now; empty if it cannot be read, as that of a process that has ended."""
        try:
            return os.pread(self._descriptor, 1 << 14, 0).decode("utf-8", "replace")
        except OSError:
            return ""

    def __del__(self) -> None:
        """Close it."""
        if hasattr(self, "_descriptor"):
            os.close(self._descriptor)


def process_figures(pid: int) -> Optional[Dict[str, Any]]:
    """Return the figures of a process; None if it has ended or access is denied. Takes about 0.05 ms.

    Those of `memory_figures`, and ``cpu_seconds``, the CPU time used so far.
    """
    figures = memory_figures(read_text(f"/proc/{pid}/status"))
    used = cpu_seconds(read_text(f"/proc/{pid}/stat"))
    return None if figures is None or used is None else {**figures, "cpu_seconds": used}


def memory_figures(status: str) -> Optional[Dict[str, Any]]:
    """Return the state, the memory and the threads of a process; None for an empty text.

    ``state`` is one letter, that of its first thread: ``T`` is stopped. ``rss``, ``virtual``, ``peak_rss``,
    ``page_tables`` and ``kernel_stack`` (that of all ``threads``) are in bytes, and so are the
    ``anonymous`` and the ``shared`` part of ``rss``, which are None before Linux 4.5; the rest of it are
    pages of files. ``status`` is the text of ``/proc/PID/status``.
    """
    if not status:
        return None
    found: List[Optional[int]] = []
    start = 0
    for line, unit in _STATUS_LINES:
        at = status.find(line, start)
        if at < 0:
            found.append(None)
        else:
            start = status.find("\n", at + 1)
            found.append(int(status[at + len(line) : start - unit]))
    virtual, peak, rss, anonymous, shared, page_tables, threads = found
    rss, threads = (rss or 0) * 1024, threads or 0
    return {
        "state": status[status.find("\nState:") + 8 :][:1],
        "rss": rss,
        "virtual": (virtual or 0) * 1024,
        "threads": threads,
        "peak_rss": max(rss, (peak or 0) * 1024),
        "page_tables": (page_tables or 0) * 1024,
        "kernel_stack": threads * kernel_stack_size(),
        "anonymous": None if anonymous is None else anonymous * 1024,
        "shared": None if shared is None else shared * 1024,
    }


_KB = len(" kB")

_STATUS_LINES = (
    ("\nVmSize:", _KB), ("\nVmHWM:", _KB), ("\nVmRSS:", _KB), ("\nRssAnon:", _KB), ("\nRssShmem:", _KB),
    ("\nVmPTE:", _KB), ("\nThreads:", 0),
)  # fmt: skip
"""The beginnings of the lines of a process's status that are read, in their order, and the length of the unit
at their end. A zombie has only the last line."""


def machine_shared_memory() -> int:
    """Return the bytes of the machine's shared memory, that of tmpfs included. Takes 0.04 ms."""
    return int(read_fields("/proc/meminfo").get("Shmem", "0").split()[0]) * 1024


class SharedGrowth:
    """Measures how much of a process's shared memory was allocated since the first reading.

    A process has shared memory in its RSS once it has touched it, even if that existed before: a file in a
    tmpfs, or the segment of another process. So a rise counts as far as the machine's shared memory rises.

    Args:
        read: returns the bytes of the machine's shared memory.
    """

    def __init__(self, read: Callable[[], int] = machine_shared_memory) -> None:
        self._read = read
        self._shared: Optional[int] = None
        self._of_machine = 0
        self._fields = {"shared_grown": 0}

    def fields(self, figures: Dict[str, Any]) -> Dict[str, Any]:
        """Return ``shared_grown`` in bytes as a field of a reading; empty if shared memory is unknown.

        ``figures`` are those of `memory_figures`. The machine is only read if they have changed.
        """
        shared = figures.get("shared")
        if shared is None:
            return {}
        if shared != self._shared:
            of_machine = self._read()
            rise = 0 if self._shared is None else shared - self._shared
            allocated = min(rise, max(0, of_machine - self._of_machine))
            self._fields = {"shared_grown": max(0, self._fields["shared_grown"] + allocated)}
            self._shared, self._of_machine = shared, of_machine
        return self._fields


def proportional_memory(pid: int) -> Optional[int]:
    """Return a process's PSS in bytes: its memory, each page divided by the processes that share it.

    None if the system does not tell. The kernel visits all pages: about a millisecond for a gigabyte.
    """
    rows = read_fields(f"/proc/{pid}/smaps_rollup")
    return int(rows["Pss"].split()[0]) * 1024 if "Pss" in rows else None


class PssReader:
    """Reads the PSS of a process so seldom that it takes little of the time.

    Args:
        pid: the process.
        read: returns the PSS in bytes.
    """

    def __init__(self, pid: int, read: Callable[[int], Optional[int]] = proportional_memory) -> None:
        self._pid, self._read = pid, read
        self._pss: Optional[int] = None
        self._read_at, self._read_rss, self._seconds = -inf, 0, 0.0

    def at(self, now: float, rss: int) -> Optional[int]:
        """Return the PSS that was read last; None if the system does not tell.

        Args:
            now: seconds.
            rss: the bytes of RSS: PSS is read more often while they change.
        """
        changed = abs(rss - self._read_rss) > PSS_CHANGE * rss
        interval = max(PSS_SOON if changed else PSS_INTERVAL, self._seconds / PSS_SHARE)
        if now >= self._read_at + interval:
            began = perf_counter()
            pss = self._read(self._pid) if LINUX else None
            self._pss = self._pss if pss is None else pss
            self._read_at, self._read_rss, self._seconds = now, rss, perf_counter() - began
        return self._pss


def cpu_seconds(stat: str) -> Optional[float]:
    """Return the CPU seconds that a process has used, from the text of ``/proc/PID/stat``; None if empty.

    The kernel adds up those of all threads: 0.5 ms for 10,000.
    """
    fields = stat.rpartition(")")[2].split(None, 13)
    return (int(fields[11]) + int(fields[12])) / CLOCK if len(fields) > 12 else None


def start_time(stat: str) -> Optional[float]:
    """Return when a process started, in seconds since the epoch, from the text of ``/proc/PID/stat``.

    None if the text is empty. The kernel tells the start of the machine in whole seconds.
    """
    fields = stat.rpartition(")")[2].split(None, 20)
    booted = read_fields("/proc/stat").get("btime")
    return int(booted) + int(fields[19]) / CLOCK if booted and len(fields) > 19 else None
