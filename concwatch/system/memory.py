"""The memory that this machine has left, control groups included."""

from collections.abc import Callable
from contextlib import suppress
from itertools import product

import psutil
from msgspec import Struct

from concwatch.system.walls import cgroup_folders, read_fields, read_number

BUDGET = "memory budget"
"""The wall that concwatch itself sets."""

DEFAULT_SHARE = 0.8
"""Share of the available memory that workers may take unless told otherwise."""

SPARED = 0.05
"""Share of the memory available at the start that is left to the machine, whoever takes the rest."""

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


def memory_now() -> Memory:
    """Return what is available now; takes 0.2 to 0.4 ms."""
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


class MemoryBudget:
    """What all workers may take together: so many bytes, and never the last of what the machine has."""

    def __init__(self, size: int | None, look: Callable[[], Memory] = memory_now) -> None:
        """Look at the machine before any worker is started.

        Args:
            size: bytes of RSS; None for `DEFAULT_SHARE` of what is available.
            look: returns the machine's memory.
        """
        self._look = look
        self.start = self.now = look()
        """The machine's memory before any worker was started, and at the last look."""
        self.size = int(self.start.available * DEFAULT_SHARE) if size is None else size
        self.machine_room = self.start.available
        """Bytes that the machine has for workers: what they take themselves included."""

    def look(self, taken: int) -> None:
        """Look at the machine again, while workers take so many bytes."""
        with suppress(OSError):  # no file can be opened to look: what was seen last still stands
            self.now = self._look()
        self.machine_room = self.now.available + taken

    @property
    def room(self) -> float:
        """Bytes of RSS that all workers may take together, as the machine stands now."""
        return min(self.size, self._unspared)

    @property
    def bound(self) -> str:
        """What ends that room."""
        return BUDGET if self.size <= self._unspared else self.now.bound

    @property
    def _unspared(self) -> float:
        return self.machine_room - self.start.available * SPARED

    @property
    def nearly_gone(self) -> bool:
        """Whether hardly anything is left of what was available at the start."""
        return self.now.available <= self.start.available * SPARED
