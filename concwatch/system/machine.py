"""The machine as a whole: what it is, its cores, how busy they are; and this program's version."""

import math
import os
import platform
import time

from msgspec import Struct

from concwatch.system.memory import memory_now
from concwatch.system.proc import LINUX, busy_seconds


class Load(Struct, frozen=True):
    """CPU time used so far, to be compared with a later look."""

    time: float
    """When: seconds on a clock that never goes back."""
    busy: float
    """Seconds of CPU that all programs of this machine have used."""
    own: float
    """Those that concwatch itself has used."""
    cores: int
    """Cores of this machine."""

    def busy_since(self, before: "Load") -> float:
        """Return the share of all cores in use since ``before``."""
        return min(1.0, max(0.0, self.busy - before.busy) / self._capacity(before))

    def others_since(self, before: "Load", lane: float) -> float:
        """Return the share of all cores that neither concwatch nor one lane has used since ``before``.

        Args:
            before: an earlier look.
            lane: seconds of CPU that the lane has used meanwhile.
        """
        used = self.busy - before.busy - (self.own - before.own) - lane
        return min(1.0, max(0.0, used) / self._capacity(before))

    def _capacity(self, before: "Load") -> float:
        return max(1e-3, self.time - before.time) * self.cores


def load_now() -> Load:
    """Return what has been used so far, busy as NaN where no file can be opened; takes about 0.1 ms."""
    return Load(time.monotonic(), _busy_seconds(), time.process_time(), os.cpu_count() or 1)


def _busy_seconds() -> float:
    try:
        if LINUX:
            return busy_seconds()
    except (OSError, ValueError):
        return math.nan
    from concwatch.system import psutil_fallback  # psutil takes 3 ms to load

    return psutil_fallback.busy_seconds()


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def program_version() -> str:
    """Return concwatch's own version."""
    from importlib.metadata import PackageNotFoundError, version  # 12 ms that the screen need not wait for

    try:
        return version("concwatch")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "0+checkout"


def describe_machine() -> dict[str, object]:
    """Return what this machine is; memory in bytes."""
    memory = memory_now()
    return {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "cores": cores(),
        "memory_total": memory.total,
        "memory_available": memory.available,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }
