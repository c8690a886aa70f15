"""Figures from ``/proc`` and of control groups. Standard library: bridges on other hosts use it."""

from __future__ import annotations

import os
import sys
from math import inf
from time import perf_counter
from typing import NamedTuple

from concwatch.system.kernel_memory import kernel_stack_size
from concwatch.system.limits import cgroup_folders, read_fields, read_number, read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional, Tuple

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
    started: float
    """Start time on any clock; it tells processes apart that had the same pid."""


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
    ``page_tables`` and ``kernel_stack`` (that of all ``threads``) are in bytes. ``status`` is the text of
    ``/proc/PID/status``.
    """
    if not status:
        return None
    rss, threads = _status_number(status, "VmRSS") * 1024, _status_number(status, "Threads")
    return {
        "state": status[status.find("\nState:") + 8 :][:1],
        "rss": rss,
        "virtual": _status_number(status, "VmSize") * 1024,
        "threads": threads,
        "peak_rss": max(rss, _status_number(status, "VmHWM") * 1024),
        "page_tables": _status_number(status, "VmPTE") * 1024,
        "kernel_stack": threads * kernel_stack_size(),
    }


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


def _status_number(status: str, name: str) -> int:
    """Return a number of a process's status; 0 for a zombie, which has no memory."""
    start = status.find(f"\n{name}:")
    return int(status[start + len(name) + 2 : status.find("\n", start + 1)].split()[0]) if start >= 0 else 0


def cpu_seconds(stat: str) -> Optional[float]:
    """Return the CPU seconds that a process has used, from the text of ``/proc/PID/stat``; None if empty.

    The kernel adds up those of all threads: 0.5 ms for 10,000.
    """
    fields = stat.rpartition(")")[2].split(None, 13)
    return (int(fields[11]) + int(fields[12])) / CLOCK if len(fields) > 12 else None


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
        for limit_name, usage_name in _LIMIT_AND_USAGE:
            limit = read_number(f"{folder}/{limit_name}")
            usage = None if limit is None or limit >= _UNLIMITED else read_number(f"{folder}/{usage_name}")
            if limit is None or usage is None:
                continue
            total = min(total, limit)
            if limit - usage >= available:
                continue  # not a limit, even without counting its cache; reading that takes longest
            rows = read_fields(f"{folder}/memory.stat")
            # The kernel drops this part of the usage before it refuses memory.
            cache = int(rows.get("total_inactive_file", rows.get("inactive_file", "0")))
            left = max(0, limit - max(0, usage - cache))
            if left < available:
                available, group = left, folder
    return total, available, group


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
