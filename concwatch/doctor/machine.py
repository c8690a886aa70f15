"""The machine: memory, cores and what else bounds tasks, as far as the system tells."""

import os
import platform
import sys

import psutil
from msgspec import Struct

from concwatch.system.machine import cores
from concwatch.system.memory import DEFAULT_SHARE, memory_now
from concwatch.system.open_files import process_limits
from concwatch.system.walls import cgroup_folders, read_number, read_text, stack_size


class Machine(Struct, frozen=True):
    """Memory in bytes. None is what this system does not tell."""

    system: str
    kernel: str
    architecture: str
    memory_total: int
    memory_available: int
    memory_bound: str
    """``"memory"`` for the machine's own, ``"cgroup memory"`` where a control group has less left."""
    memory_group: str | None
    """The folder of the control group that binds, if one does."""
    budget: int
    """What all workers may take together unless told otherwise."""
    swap_total: int | None
    swap_free: int | None
    overcommit: int | None
    """``vm.overcommit_memory``: 0 guess, 1 promise everything, 2 promise no more than there is."""
    cores: int
    """Cores that this process may use."""
    cores_all: int | None
    quota: float | None
    """Cores' worth of time that a control group allows; None for all of it."""
    stack: int | None
    """Address space that the stack of one thread takes; what is not touched costs no memory."""
    open_files: int | None
    """The soft limit on open files; workers that fetch raise it to the hard one."""
    open_files_hard: int | None


def look_at_machine(budget: int | None = None) -> Machine:
    """Look at it now; ``budget`` is what workers may take together, None for the usual share."""
    memory = memory_now()
    swap_total, swap_free = _swap()
    soft, hard = process_limits("RLIMIT_NOFILE")
    return Machine(
        system=platform.system() or "unknown",
        kernel=platform.release() or "unknown",
        architecture=platform.machine() or "unknown",
        memory_total=memory.total,
        memory_available=memory.available,
        memory_bound=memory.bound,
        memory_group=memory.group,
        budget=int(memory.available * DEFAULT_SHARE) if budget is None else budget,
        swap_total=swap_total,
        swap_free=swap_free,
        overcommit=read_number("/proc/sys/vm/overcommit_memory"),
        cores=cores(),
        cores_all=os.cpu_count(),
        quota=_quota(),
        stack=stack_size() if sys.platform.startswith("linux") else None,
        open_files=soft,
        open_files_hard=hard,
    )


def _swap() -> tuple[int | None, int | None]:
    try:
        swap = psutil.swap_memory()
    except (OSError, RuntimeError, psutil.Error):  # not every system or container tells
        return None, None
    return int(swap.total), int(swap.free)


def _quota() -> float | None:
    """Return the cores' worth of time that the tightest control group allows; "max" and -1 are no quota."""
    found = []
    for folder in cgroup_folders("cpu"):
        version1 = (f"{folder}/cpu.cfs_quota_us", f"{folder}/cpu.cfs_period_us")
        words = read_text(f"{folder}/cpu.max").split() or [read_text(path) for path in version1]
        if len(words) == 2 and all(map(str.isdecimal, words)) and int(words[1]):
            found.append(int(words[0]) / int(words[1]))
    return min(found, default=None)
