"""The figures of a process, read from outside."""

import time
from typing import Any

import psutil
from msgspec import Struct

from concwatch.system.proc import CLOCK, LINUX, process_figures

_TICK = 1 / CLOCK
"""Seconds that the system counts CPU time in."""


class Reading(Struct, frozen=True):
    """One look at a process."""

    rss: int
    """Bytes of memory that are resident."""
    cpu: float
    """Share of one core used since the last look; 1.0 is a whole core."""
    threads: int
    virtual: int = 0
    """Bytes of address space, whether touched or not."""
    cpu_seconds: float = 0.0
    """Seconds of CPU that it has used so far."""
    peak_rss: int = 0
    """Bytes: the highest RSS that it ever had, where the system keeps that figure (Linux), else ``rss``."""


class CpuShare:
    """Turns the CPU seconds of a process into the share of a core used since the last look."""

    def __init__(self, time: float, cpu_seconds: float) -> None:
        """Begin with a first look at ``time``, in seconds on any clock."""
        self._last = time, cpu_seconds

    def at(self, time: float, cpu_seconds: float) -> float:
        """Return the share since the last look that was a tick of the system's ago, at least."""
        before, used = self._last
        if time - before >= _TICK:
            self._last = time, cpu_seconds
        return max(0.0, cpu_seconds - used) / max(_TICK, time - before)


class Sampler:
    """Reads one process again and again; one look costs about 0.1 ms."""

    def __init__(self, pid: int | None = None) -> None:
        """Watch process ``pid``, or this one.

        Raises:
            psutil.Error: there is no such process.
        """
        self._process = psutil.Process(pid)
        self._share = CpuShare(time.monotonic(), self._cpu_seconds())

    def read(self) -> Reading | None:
        """Return what is so now; None when the process has gone or may not be looked at."""
        try:
            figures = self._figures()
        except (psutil.Error, OSError):
            return None
        if figures is None:
            return None
        return Reading(cpu=self._share.at(time.monotonic(), figures["cpu_seconds"]), **figures)

    def _figures(self) -> "dict[str, Any] | None":
        if LINUX:
            return process_figures(self._process.pid)
        with self._process.oneshot():
            memory = self._process.memory_info()
            return {
                "rss": memory.rss,
                "virtual": memory.vms,
                "threads": self._process.num_threads(),
                "cpu_seconds": self._cpu_seconds(),
                "peak_rss": memory.rss,
            }

    def _cpu_seconds(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)
