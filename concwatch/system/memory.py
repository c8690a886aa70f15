"""The memory that this machine has left, control groups included."""

from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct

from concwatch.system.proc import LINUX, available_memory, machine_memory

BUDGET = "memory budget"
"""The wall that concwatch itself sets."""

DEFAULT_SHARE = 0.8
"""Share of the available memory that workers may take without another budget."""

RESERVED = 0.05
"""Share of the memory available at the start that is left to the machine, whoever takes the rest."""


class Memory(Struct, frozen=True):
    """The memory that this process and its children may still take, in bytes."""

    total: int
    available: int
    bound: str
    """What binds: ``"memory"`` for the machine's, ``"cgroup memory"`` where a control group has less."""
    group: str | None = None
    """The folder of the control group that binds, if one does."""


def memory_now() -> Memory:
    """Return what is available now; takes 0.2 to 0.4 ms.

    Raises:
        OSError: it cannot be read, such as by a process that can open no file.
    """
    if LINUX:
        total, available = machine_memory()
        if not total:
            raise OSError("the machine's memory cannot be read")
        return bound_memory(*available_memory(total, available))
    from concwatch.system import psutil_fallback  # psutil takes 3 ms to load

    return bound_memory(*psutil_fallback.machine_memory(), None)


def bound_memory(total: int, available: int, group: str | None) -> Memory:
    """Return the memory that a control group binds, if its folder is given."""
    return Memory(total, available, "cgroup memory" if group else "memory", group)


class MemoryBudget:
    """What all workers may take together: so many bytes, and never the last of what the machine has."""

    def __init__(self, size: int | None, read: Callable[[], Memory] = memory_now) -> None:
        """Look at the machine before any worker is started.

        Args:
            size: bytes of RSS; None for `DEFAULT_SHARE` of what is available.
            look: returns the machine's memory.
        """
        self._read_memory = read
        self._requested = size
        self._begin(read())

    def _begin(self, memory: Memory) -> None:
        self.start = self.now = memory
        """The machine's memory before any worker was started, and at the last look."""
        self.size = int(memory.available * DEFAULT_SHARE) if self._requested is None else self._requested
        self.machine_room = memory.available
        """Bytes that the machine has for workers: what they take themselves included."""

    def update(self, taken: int) -> None:
        """Look at the machine again, while workers take so many bytes."""
        with suppress(OSError):  # no file can be opened to look: what was seen last still stands
            self.now = self._read_memory()
        if not self.known:
            self._begin(self.now)
        self.machine_room = self.now.available + taken

    @property
    def known(self) -> bool:
        """Whether the machine has said what it has: another host does so once it has answered."""
        return bool(self.start.total)

    @property
    def room(self) -> float:
        """Bytes of RSS that all workers may take together, as the machine stands now."""
        return min(self.size, self._unreserved)

    @property
    def bound(self) -> str:
        """What ends that room."""
        return BUDGET if self.size <= self._unreserved else self.now.bound

    @property
    def _unreserved(self) -> float:
        return self.machine_room - self.start.available * RESERVED

    @property
    def nearly_gone(self) -> bool:
        """Whether hardly anything is left of what was available at the start."""
        return self.now.available <= self.start.available * RESERVED
