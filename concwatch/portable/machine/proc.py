"""Figures from ``/proc`` and of control groups. Standard library: bridges on other hosts use it."""

from __future__ import annotations

import os
import sys
from math import inf
from time import perf_counter
from typing import NamedTuple

from concwatch.portable.machine.kernel_memory import kernel_stack_size
from concwatch.portable.machine.limits import cgroup_folders, read_fields, read_number, read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple

LINUX = sys.platform.startswith("linux")
"""Whether this is Linux, which has ``/proc``."""

CLOCK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
"""Clock ticks per second, the unit of CPU time."""

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096

_UNLIMITED = 1 << 60

PSS_INTERVAL, PSS_SOON, PSS_CHANGE, PSS_SHARE = 5.0, 1.0, 0.1, 0.005
"""Seconds between two readings of a process's PSS; after its RSS has changed by that share of it; and the
share of the time that these readings take at most."""

_LIMIT_AND_USAGE = (
    ("memory.max", "memory.current"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes"),
)
"""The files of a control group, version 2 and version 1."""


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
"""How the lines of a process's status begin that are read, in their order, and the length of the unit at the
end. A zombie has only the last one."""


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


def available_memory(total: int, available: int) -> Tuple[int, int, Optional[str]]:
    """Return a machine's memory as limited by the control groups of this process.

    Args:
        total: the machine's memory in bytes.
        available: the bytes that are free or can be freed.

    Returns:
        The limited total and available bytes, and the folder of the control group that limits the available
        ones, or None.
    """
    group = None
    for folder in cgroup_folders("memory"):
        found = limit_and_usage(folder)
        if found is None:
            continue
        limit, usage = found
        total = min(total, limit)
        if limit - usage >= available:
            continue  # not a limit, even without counting its cache; reading that takes longest
        left = max(0, limit - max(0, usage - droppable_cache(folder)))
        if left < available:
            available, group = left, folder
    return total, available, group


def limit_and_usage(folder: str) -> Optional[Tuple[int, int]]:
    """Return the memory limit of a control group and the bytes that it uses; None if it has no limit."""
    for limit_name, usage_name in _LIMIT_AND_USAGE:
        limit = read_number(f"{folder}/{limit_name}")
        usage = None if limit is None or limit >= _UNLIMITED else read_number(f"{folder}/{usage_name}")
        if limit is not None and usage is not None:
            return limit, usage
    return None


def droppable_cache(folder: str) -> int:
    """Return the part of a control group's usage that the kernel drops before it refuses memory."""
    rows = read_fields(f"{folder}/memory.stat")
    return int(rows.get("total_inactive_file", rows.get("inactive_file", "0")))


def machine_memory() -> Tuple[int, int]:
    """Return the machine's total and available memory in bytes."""
    rows = read_fields("/proc/meminfo")
    total, available = (int(rows.get(name, "0").split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
    return total, available


def busy_seconds() -> float:
    """Return the CPU seconds used by all processes of this machine."""
    fields = [int(field) for field in read_text("/proc/stat").partition("\n")[0].split()[1:]]
    user, nice, system, _idle, _iowait, *rest = fields
    # The rest: irq, softirq, steal; then guest times, which "user" already includes.
    return (user + nice + system + sum(rest[:3])) / CLOCK
