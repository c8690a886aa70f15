"""What Linux says in ``/proc`` and of control groups, read by the standard library: also on other hosts."""

from __future__ import annotations

import os
import sys

from concwatch.system.walls import cgroup_folders, read_fields, read_number, read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Optional, Tuple

LINUX = sys.platform.startswith("linux")
"""Whether there is anything to read."""

CLOCK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
"""Parts of a second in which CPU time is counted."""

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096

_UNLIMITED = 1 << 60

_LIMIT_AND_USAGE = (
    ("memory.max", "memory.current"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes"),
)
"""The files of a control group of version 2, and of version 1."""


def process_figures(pid: int) -> Optional[Dict[str, float]]:
    """Return the figures of a process, None when it has gone or may not be looked at; takes about 0.06 ms.

    Bytes ``rss``, ``virtual`` and ``peak_rss`` (the highest RSS that it ever had), the number of ``threads``,
    and ``cpu_seconds`` that it has used so far.
    """
    stat = read_text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    sizes = read_text(f"/proc/{pid}/statm").split()
    peak = read_fields(f"/proc/{pid}/status").get("VmHWM", "0").split()[0]
    if len(stat) < 18 or len(sizes) < 2:
        return None
    rss = int(sizes[1]) * _PAGE
    return {
        "rss": rss,
        "virtual": int(sizes[0]) * _PAGE,
        "threads": int(stat[17]),
        "cpu_seconds": (int(stat[11]) + int(stat[12])) / CLOCK,
        "peak_rss": max(rss, int(peak) * 1024),
    }


def available_memory(total: int, available: int) -> Tuple[int, int, Optional[str]]:
    """Return what this process may take of a machine's memory, by the control groups that it is in.

    Args:
        total: bytes that the machine has.
        available: those that are free, or can be freed.

    Returns:
        Both as this process finds them, and the folder of the control group that binds, if one does.
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
                continue  # it does not bind, whatever of its usage is cache: that takes the longest to read
            rows = read_fields(f"{folder}/memory.stat")
            # What is dropped before memory is refused.
            cache = int(rows.get("total_inactive_file", rows.get("inactive_file", "0")))
            left = max(0, limit - max(0, usage - cache))
            if left < available:
                available, group = left, folder
    return total, available, group


def machine_memory() -> Tuple[int, int]:
    """Return the bytes of memory that the machine has, and those that are free or can be freed."""
    rows = read_fields("/proc/meminfo")
    total, available = (int(rows.get(name, "0").split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
    return total, available


def busy_seconds() -> float:
    """Return the seconds of CPU that all programs of this machine have used."""
    fields = [int(field) for field in read_text("/proc/stat").partition("\n")[0].split()[1:]]
    user, nice, system, _idle, _iowait, *rest = fields
    # Of the rest the first three are interrupts and what other machines took; guests are the user's already.
    return (user + nice + system + sum(rest[:3])) / CLOCK
