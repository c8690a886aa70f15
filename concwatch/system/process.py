"""The figures of a process, read from outside."""

import os
import time
from typing import Any

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
            OSError: there is no such process, or it may not be looked at.
        """
        self._pid = pid or os.getpid()
        figures = _figures(self._pid)
        if figures is None:
            raise ProcessLookupError(f"process {self._pid} has gone")
        self._share = CpuShare(time.monotonic(), figures["cpu_seconds"])

    def read(self) -> Reading | None:
        """Return what is so now; None when the process has gone or may not be looked at."""
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
