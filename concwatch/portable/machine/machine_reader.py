"""Memory and CPU time of the whole machine, from ``/proc``, as limited by its control groups."""

from __future__ import annotations

from concwatch.portable.machine.limits import cgroup_folders, read_fields, read_number, read_text
from concwatch.portable.machine.process_reader import CLOCK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Tuple

_UNLIMITED = 1 << 60

_LIMIT_AND_USAGE = (
    ("memory.max", "memory.current"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes"),
)
"""The files of a control group, version 2 and version 1."""


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
