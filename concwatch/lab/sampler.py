"""What the operating system says of a process, and of the machine, read from outside."""

import math
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
    try:
        times = psutil.cpu_times()
    except OSError:
        return Load(time.monotonic(), math.nan, time.process_time(), os.cpu_count() or 1)
    waiting = times.idle + getattr(times, "iowait", 0.0)
    # Time of guests is counted as the user's already.
    guests = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    return Load(time.monotonic(), sum(times) - waiting - guests, time.process_time(), os.cpu_count() or 1)


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
