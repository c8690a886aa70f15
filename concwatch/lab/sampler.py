"""What the operating system says of one process, read from outside."""

import os

import psutil
from msgspec import Struct


class Reading(Struct, frozen=True):
    """One look at a process."""

    rss: int
    """Bytes of memory it has resident."""
    cpu: float
    """Share of one core used since the last look; 1.0 is a whole core."""
    threads: int
    """Threads it has."""
    virtual: int = 0
    """Bytes of address space it has taken, whether touched or not."""


class Sampler:
    """Reads one process again and again; one look costs about 0.15 ms."""

    def __init__(self, pid: int | None = None) -> None:
        """Watch process ``pid``, or this one.

        Raises:
            psutil.Error: there is no such process.
        """
        self._process = psutil.Process(pid)
        self._process.cpu_percent()

    def read(self) -> Reading | None:
        """Look at it now; None when it has gone or may not be looked at."""
        try:
            with self._process.oneshot():
                memory = self._process.memory_info()
                return Reading(
                    rss=memory.rss,
                    cpu=self._process.cpu_percent() / 100,
                    threads=self._process.num_threads(),
                    virtual=memory.vms,
                )
        except (psutil.Error, OSError):
            return None

    def peak_rss(self) -> int | None:
        """Give the highest RSS it ever had, in bytes, where the system keeps that figure (Linux)."""
        try:
            with open(f"/proc/{self._process.pid}/status", encoding="ascii", errors="replace") as file:
                for line in file:
                    if line.startswith("VmHWM:"):
                        return int(line.split()[1]) * 1024
        except (OSError, ValueError):
            pass
        return None


def cores() -> int:
    """Give the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
