"""Readings of a process: memory, CPU and threads, taken from outside it."""

import os
import time
from typing import Any

from msgspec import Struct

from concwatch.system.proc import CLOCK, LINUX, process_figures

_TICK = 1 / CLOCK
"""The system's unit of CPU time, in seconds."""


class Reading(Struct, frozen=True):
    """One reading of a process."""

    rss: int
    """Resident memory in bytes."""
    cpu: float
    """Share of one core used since the last reading; 1.0 is a whole core."""
    threads: int
    virtual: int = 0
    """Address space in bytes."""
    cpu_seconds: float = 0.0
    """CPU seconds used so far."""
    peak_rss: int = 0
    """Highest RSS so far, in bytes; equal to ``rss`` on systems other than Linux."""


class CpuShare:
    """Computes the share of a core that a process uses from its CPU seconds.

    Args:
        time: the time of the first reading, in seconds on any clock.
        cpu_seconds: the CPU seconds at that reading.
    """

    def __init__(self, time: float, cpu_seconds: float) -> None:
        self._last = time, cpu_seconds

    def at(self, time: float, cpu_seconds: float) -> float:
        """Return the share since the last reading that is at least one clock tick old."""
        before, used = self._last
        if time - before >= _TICK:
            self._last = time, cpu_seconds
        return max(0.0, cpu_seconds - used) / max(_TICK, time - before)


class Sampler:
    """Takes readings of one process, each in about 0.1 ms.

    Args:
        pid: the process; None for this one.

    Raises:
        OSError: there is no such process, or access is denied.
    """

    def __init__(self, pid: int | None = None) -> None:
        self._pid = pid or os.getpid()
        figures = _figures(self._pid)
        if figures is None:
            raise ProcessLookupError(f"process {self._pid} has gone")
        self._share = CpuShare(time.monotonic(), figures["cpu_seconds"])

    def read(self) -> Reading | None:
        """Return a reading; None if the process has ended or access is denied."""
        try:
            figures = _figures(self._pid)
        except OSError:
            return None
        if figures is None:
            return None
        return Reading(cpu=self._share.at(time.monotonic(), figures["cpu_seconds"]), **figures)


def _figures(pid: int) -> "dict[str, Any] | None":
    if LINUX:
        return process_figures(pid)
    from concwatch.system import psutil_fallback  # psutil takes 3 ms to load

    return psutil_fallback.process_figures(pid)
