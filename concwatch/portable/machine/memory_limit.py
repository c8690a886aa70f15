"""The memory limit of a process's control groups, and how much of it is used.

Standard library: bridges on other hosts use it.
"""

from __future__ import annotations

from math import inf
from time import monotonic, perf_counter

from concwatch.portable.machine.kernel_memory import READ_SHARE
from concwatch.portable.machine.limits import ROOT_GROUP, cgroup_folders
from concwatch.portable.machine.machine_reader import droppable_cache, limit_and_usage
from concwatch.portable.machine.process_reader import LINUX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional, Tuple

READ_INTERVAL = 5.0
"""The least seconds between two readings."""


class MemoryLimit:
    """Reads the limit that leaves a process the least memory, of those of its control groups.

    Args:
        pid: the process.
        root: the folder of the root group.
        proc: the folder with one for each process.
    """

    def __init__(self, pid: int, root: str = ROOT_GROUP, proc: str = "/proc") -> None:
        self._own, self._root = f"{proc}/{pid}/cgroup", root
        self._tightest: Optional[Tuple[int, int]] = None
        self._read_due = -inf

    def fields(self) -> Dict[str, Any]:
        """Return the fields of a reading: ``memory_limit``, and ``memory_used`` of it, in bytes.

        What is used is that of all processes of the group, without the file pages that the kernel drops
        first. Both are None without a limit.
        """
        now = monotonic()
        if now >= self._read_due:
            began = perf_counter()
            self._tightest = self._read()
            self._read_due = now + max(READ_INTERVAL, (perf_counter() - began) / READ_SHARE)
        limit, used = self._tightest or (None, None)
        return {"memory_limit": limit, "memory_used": used}

    def _read(self) -> Optional[Tuple[int, int]]:
        """Return the limit and what is used of it."""
        limits = []
        for folder in cgroup_folders("memory", self._root, self._own):
            found = limit_and_usage(folder)
            if found is not None:
                limit, usage = found
                limits.append((limit, max(0, usage - droppable_cache(folder))))
        return min(limits, key=lambda found: found[0] - found[1], default=None)


def memory_limit_of(pid: int) -> Optional[MemoryLimit]:
    """Return the reader of a process; None on systems other than Linux, which have no control groups."""
    return MemoryLimit(pid) if LINUX else None
