"""The memory available to workers, control groups included, and their budget."""

from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct

from concwatch.portable.machine.machine_reader import available_memory, machine_memory
from concwatch.portable.machine.process_reader import LINUX

BUDGET = "memory budget"
"""The name of the limit that concwatch itself sets."""

DEFAULT_SHARE = 0.8
"""Share of the available memory that is the default budget."""

RESERVED = 0.05
"""Share of the memory available at the start that workers never take, whatever the budget."""


class Memory(Struct, frozen=True):
    """The memory of this process and its children, in bytes."""

    total: int
    available: int
    bound: str
    """What limits it: ``"memory"`` (the machine's), or ``"cgroup memory"`` (a control group's)."""
    group: str | None = None
    """The folder of the control group that limits it, if one does."""


def memory_now() -> Memory:
    """Return the memory now; takes 0.2 to 0.4 ms.

    Raises:
        OSError: it cannot be read, for example because no file can be opened.
    """
    if LINUX:  # The first frame shows it, and psutil would delay that by a twentieth, to read the same file.
        total, available = machine_memory()
        if not total:
            raise OSError("the machine's memory cannot be read")
        return bound_memory(*available_memory(total, available))
    from concwatch.system import by_psutil

    return bound_memory(*by_psutil.machine_memory(), None)


def bound_memory(total: int, available: int, group: str | None) -> Memory:
    """Return the memory, limited by a control group if its folder is given."""
    return Memory(total, available, "cgroup memory" if group else "memory", group)


class MemoryBudget:
    """The memory that all workers may take together. Create it before any worker is started.

    Args:
        size: the budget in bytes, of RSS and kernel memory; None for `DEFAULT_SHARE` of the available memory.
        read: returns the machine's memory.
    """

    def __init__(self, size: int | None, read: Callable[[], Memory] = memory_now) -> None:
        self._read_memory = read
        self._requested = size
        self._begin(read())

    def _begin(self, memory: Memory) -> None:
        self.start = self.now = memory
        """The machine's memory before any worker was started, and at the last update."""
        self.size = int(memory.available * DEFAULT_SHARE) if self._requested is None else self._requested
        self.machine_room = memory.available
        """Bytes available to workers on the machine, including what they already take."""

    def update(self, taken: int) -> None:
        """Read the machine's memory again, while workers take ``taken`` bytes of it."""
        with suppress(OSError):  # no file can be opened: keep the last reading
            self.now = self._read_memory()
        if not self.known:
            self._begin(self.now)
        self.machine_room = self.now.available + taken

    @property
    def known(self) -> bool:
        """Whether the memory is known; another host's is unknown until the host has answered."""
        return bool(self.start.total)

    @property
    def room(self) -> float:
        """Bytes that all workers may take together, given the machine's memory now."""
        return min(self.size, self._unreserved)

    @property
    def bound(self) -> str:
        """The name of the limit that limits `room`."""
        return BUDGET if self.size <= self._unreserved else self.now.bound

    @property
    def _unreserved(self) -> float:
        return self.machine_room - self.start.available * RESERVED

    @property
    def nearly_gone(self) -> bool:
        """Whether no more than `RESERVED` of the memory available at the start is left."""
        return self.now.available <= self.start.available * RESERVED
