"""What the kernel holds for a process beside its RSS: stacks of threads, page tables, and kernel objects.

Control groups are charged for all of it. Standard library: bridges on other hosts use it.

- **Kernel stacks**: the threads of the process times the size of a kernel stack, which is ``KernelStack`` of
  ``/proc/meminfo`` divided by the threads of the machine. Exact.
- **Page tables**: ``VmPTE`` of ``/proc/PID/status``. Exact.
- **Kernel objects**: slab memory and socket buffers. Exact for a process in a control group of its own (see
  `concwatch.portable.machine.control_group`); else estimated from its threads and open files
  (`EstimatedObjects`).
"""

from __future__ import annotations

import os
from math import inf, log2
from time import monotonic, perf_counter

from concwatch.portable.machine.limits import read_fields, read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096

READ_SHARE, READ_INTERVAL = 0.005, 0.1
"""Share of the time that slow readings of kernel objects take at most, and the least seconds between two."""

_stack_size: Optional[int] = None


def kernel_stack_size() -> int:
    """Return the bytes of a thread's kernel stack, which is the same for all; 0 if it is unknown.

    It is a power of two of pages. The quotient is a little larger, since the kernel keeps some for reuse.
    """
    global _stack_size
    if _stack_size is None:
        threads = read_text("/proc/loadavg").split()[3:4]
        stacks = int(read_fields("/proc/meminfo").get("KernelStack", "0").split()[0]) * 1024
        each = stacks / int(threads[0].split("/")[1]) if threads and stacks else 0
        _stack_size = _PAGE << max(0, round(log2(each / _PAGE))) if each else 0
    return _stack_size


class ObjectSizes:
    """The bytes of kernel objects for one more thread, and for one more open file that is a socket."""

    __slots__ = ("socket", "thread")

    def __init__(self, thread: float, socket: float) -> None:
        self.thread, self.socket = thread, socket


class KernelObjects:
    """Reads the bytes of kernel objects of one process."""

    way = ""
    """How they are known: ``control group`` or ``estimated``."""

    def at(self, figures: Dict[str, Any]) -> Optional[int]:
        """Return their bytes now; ``figures`` are those of `proc.memory_figures`."""
        raise NotImplementedError

    def fields(self, figures: Dict[str, Any]) -> Dict[str, Any]:
        """Return their bytes now and how they are known, as fields of a reading."""
        return {"kernel_objects": self.at(figures), "objects_known": self.way}

    def close(self) -> None:
        """Release what is needed to read them: the process has ended."""


class EstimatedObjects(KernelObjects):
    """Those of any process, estimated from its threads and open files.

    Args:
        pid: the process.
        sizes: returns what one thread and one socket take on this machine; None until that is known.
    """

    way = "estimated"

    def __init__(self, pid: int, sizes: Callable[[], Optional[ObjectSizes]]) -> None:
        self._folder = f"/proc/{pid}/fd"
        self._sizes = sizes
        self._read_at, self._seconds, self._files = -inf, 0.0, 0

    def at(self, figures: Dict[str, Any]) -> Optional[int]:
        """Return their bytes: those of threads now, and of open files as they were counted last."""
        sizes = self._sizes()
        if sizes is None:
            return None
        now = monotonic()
        if now >= self._read_at + max(READ_INTERVAL, self._seconds / READ_SHARE):
            began = perf_counter()
            self._files = _open_files(self._folder)
            self._read_at, self._seconds = now, perf_counter() - began
        threads: int = figures["threads"]
        return round(threads * sizes.thread + self._files * sizes.socket)


def _open_files(folder: str) -> int:
    """Return the number of open files of a process, from its folder ``/proc/PID/fd``; 0 if unknown."""
    try:
        # Since Linux 6.2 the size of the folder is their number; before, it is 0.
        return os.stat(folder).st_size or len(os.listdir(folder))
    except OSError:
        return 0
