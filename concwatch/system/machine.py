"""The machine: its description, its cores and their load; and concwatch's version."""

import math
import os
import platform
import time

from msgspec import Struct

from concwatch.system.memory import memory_now


class Load(Struct, frozen=True):
    """CPU time used up to a moment; the difference of two gives the load between them."""

    time: float
    """Seconds on a monotonic clock."""
    busy: float
    """CPU seconds used by all processes of this machine."""
    own: float
    """CPU seconds used by concwatch itself."""
    cores: int
    """Number of cores."""

    def busy_since(self, before: "Load") -> float:
        """Return the share of all cores in use since ``before``."""
        return min(1.0, max(0.0, self.busy - before.busy) / self._capacity(before))

    def others_since(self, before: "Load", lane: float) -> float:
        """Return the share of all cores that neither concwatch nor one lane has used since ``before``.

        Args:
            before: an earlier load.
            lane: CPU seconds that the lane has used since.
        """
        used = self.busy - before.busy - (self.own - before.own) - lane
        return min(1.0, max(0.0, used) / self._capacity(before))

    def _capacity(self, before: "Load") -> float:
        return max(1e-3, self.time - before.time) * self.cores


def load_now() -> Load:
    """Return the load now; takes about 0.02 ms. ``busy`` is NaN if no file can be opened."""
    from concwatch.system.by_psutil import busy_seconds  # not before the first frame

    try:
        busy = busy_seconds()
    except (OSError, ValueError):
        busy = math.nan
    return Load(time.monotonic(), busy, time.process_time(), os.cpu_count() or 1)


def cores() -> int:
    """Return the number of cores available to this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def program_version() -> str:
    """Return concwatch's version."""
    from importlib.metadata import PackageNotFoundError, version  # takes 12 ms: not at startup

    try:
        return version("concwatch")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "0+checkout"


def describe_machine() -> dict[str, object]:
    """Return a description of this machine, for JSON; memory in bytes."""
    memory = memory_now()
    return {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "cores": cores(),
        "memory_total": memory.total,
        "memory_available": memory.available,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }
