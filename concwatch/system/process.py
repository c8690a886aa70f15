"""The figures of a process, read from outside."""

import os
import time

import psutil
from msgspec import Struct

_TICK = 1 / os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0.01
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


class Sampler:
    """Reads one process again and again; one look costs about 0.1 ms."""

    def __init__(self, pid: int | None = None) -> None:
        """Watch process ``pid``, or this one.

        Raises:
            psutil.Error: there is no such process.
        """
        self._process = psutil.Process(pid)
        self._last = (time.monotonic(), self._cpu_seconds())

    def read(self) -> Reading | None:
        """Return what is so now; None when the process has gone or may not be looked at."""
        try:
            with self._process.oneshot():
                memory = self._process.memory_info()
                peak = self._peak_rss() or memory.rss
                now, seconds = time.monotonic(), self._cpu_seconds()
                before, used = self._last
                if now - before >= _TICK:
                    self._last = now, seconds
                return Reading(
                    rss=memory.rss,
                    cpu=max(0.0, seconds - used) / max(_TICK, now - before),
                    threads=self._process.num_threads(),
                    virtual=memory.vms,
                    cpu_seconds=seconds,
                    peak_rss=max(peak, memory.rss),
                )
        except (psutil.Error, OSError):
            return None

    def _cpu_seconds(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def _peak_rss(self) -> int | None:
        try:
            with open(f"/proc/{self._process.pid}/status", "rb") as file:
                _, found, rest = file.read().partition(b"VmHWM:")
        except OSError:
            return None
        return int(rest.split(maxsplit=1)[0]) * 1024 if found else None
