"""The machine: memory, cores and what else bounds tasks, as far as the system tells."""

import os
import platform
import sys

import psutil
from msgspec import Struct

from concwatch.doctor.files import read_number, read_text
from concwatch.lab.limits import DEFAULT_SHARE, memory_now
from concwatch.lab.limits import cgroup_folders as memory_folders
from concwatch.lab.sampler import cores
from concwatch.worker.walls import cgroup_folders, stack_size


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
    soft, hard = _open_files()
    return Machine(
        system=platform.system() or "unknown",
        kernel=platform.release() or "unknown",
        architecture=platform.machine() or "unknown",
        memory_total=memory.total,
        memory_available=memory.available,
        memory_bound=memory.bound,
        memory_group=_memory_group() if memory.bound != "memory" else None,
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


def _memory_group() -> str | None:
    """Give the folder of the control group that has the least memory left."""
    left = {}
    for folder, limit, usage in memory_folders():
        most, used = read_number(f"{folder}/{limit}"), read_number(f"{folder}/{usage}")
        if most is not None and used is not None:
            left[folder] = most - used
    return min(left, key=lambda folder: left[folder], default=None)


def _quota() -> float | None:
    """Give the cores' worth of time that the tightest control group allows."""
    found = []
    for folder in cgroup_folders("cpu"):
        quota, _, period = (read_text(f"{folder}/cpu.max") or "").partition(" ")
        found.append(_cores(quota, period))
        version1 = [read_text(f"{folder}/cpu.cfs_{name}_us") or "" for name in ("quota", "period")]
        found.append(_cores(*version1))
    return min((quota for quota in found if quota is not None), default=None)


def _cores(quota: str, period: str) -> float | None:
    """Divide microseconds of time by the period they are for; "max" and -1 are no quota."""
    if not (quota.isdecimal() and period.isdecimal() and int(period)):
        return None
    return int(quota) / int(period)


def _open_files() -> tuple[int | None, int | None]:
    """Give the soft and the hard limit on open files; None for one that is not there."""
    try:
        import resource
    except ImportError:  # Windows has none
        return None, None
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft, hard = (None if limit == resource.RLIM_INFINITY else int(limit) for limit in limits)
    return soft, hard
