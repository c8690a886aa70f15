"""What this machine can hold: its memory, the share that concwatch may use, and which wall comes first."""

from collections.abc import Iterable
from itertools import product

import psutil
from msgspec import Struct

from concwatch.worker.walls import Wall, cgroup_folders, read_fields, read_number

DEFAULT_SHARE = 0.8
"""Share of the available memory that workers may take unless told otherwise."""

_UNLIMITED = 1 << 60

_LIMIT_AND_USAGE = (
    ("memory.max", "memory.current"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes"),
)
"""The files of a control group of version 2, and of version 1."""


class Memory(Struct, frozen=True):
    """The memory that this process and its children may still take, in bytes."""

    total: int
    available: int
    bound: str
    """What binds: ``"memory"`` for the machine's, ``"cgroup memory"`` where a control group has less."""
    group: str | None = None
    """The folder of the control group that binds, if one does."""


class Fit(Struct, frozen=True):
    """How many tasks this machine would hold, and which wall comes first."""

    tasks: int
    wall: str


def memory_now() -> Memory:
    """Look at what is available now, control groups included; takes 0.2 to 0.4 ms."""
    system = psutil.virtual_memory()
    total, available, group = int(system.total), int(system.available), None
    for folder, (limit_name, usage_name) in product(cgroup_folders("memory"), _LIMIT_AND_USAGE):
        limit = read_number(f"{folder}/{limit_name}")
        usage = None if limit is None or limit >= _UNLIMITED else read_number(f"{folder}/{usage_name}")
        if limit is None or usage is None:
            continue
        total = min(total, limit)
        if limit - usage >= available:
            continue  # it does not bind, whatever of its usage is cache: that takes the longest to read
        rows = read_fields(f"{folder}/memory.stat")
        cache = int(rows.get("total_inactive_file", rows.get("inactive_file", 0)))  # dropped before refusing
        left = max(0, limit - max(0, usage - cache))
        if left < available:
            available, group = left, folder
    return Memory(total, available, "cgroup memory" if group else "memory", group)


def fits(bytes_per_task: float, room: int, walls: Iterable[Wall] = (), bound: str = "memory") -> Fit:
    """Tell how many tasks fit.

    Args:
        bytes_per_task: RSS in bytes of one task; at least 1.
        room: bytes that tasks may take in all.
        walls: limits on threads as they were with no task live; none for tasks that need no thread each.
        bound: the name of what ends the memory.
    """
    best = Fit(int(room / max(1.0, bytes_per_task)), bound)
    for wall in walls:
        if wall.threads < best.tasks:
            best = Fit(wall.threads, wall.name)
    return best
