"""Readings of a process: memory, CPU and threads, taken from outside it."""

import math
import os
import time
from typing import Any, Protocol

from msgspec import Struct

from concwatch.portable.machine.cpu_quota import Throttling
from concwatch.portable.machine.kernel_memory import KernelObjects
from concwatch.portable.machine.memory_limit import MemoryLimit
from concwatch.portable.machine.process_reader import (
    CLOCK,
    LINUX,
    ProcFile,
    PssReader,
    SharedGrowth,
    cpu_seconds,
    memory_figures,
    start_time,
)

_TICK = 1 / CLOCK
"""The system's unit of CPU time, in seconds."""

_THREAD_INTERVAL = 1e-4
"""Seconds between two readings of a process's CPU time, for each of its threads: the kernel adds up that of
all threads, which takes up to 0.4 µs each."""


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
    """CPU seconds used so far; extrapolated by up to 0.1 ms per thread with more than 1,000 threads."""
    peak_rss: int = 0
    """Highest RSS so far, in bytes; equal to ``rss`` on systems other than Linux."""
    pss: int | None = None
    """Memory with what is shared divided, in bytes, as it was read last; None if it is not read."""
    kernel_stack: int | None = None
    page_tables: int | None = None
    kernel_objects: int | None = None
    """Bytes that the kernel holds for it, by what they are; None if unknown."""
    objects_known: str = ""
    """How the last are known: ``control group``, ``estimated``, or not at all."""
    cpu_quota: float | None = None
    """The cores that the tightest of its control groups allows all processes in it; None for no quota."""
    throttled: float | None = None
    """Seconds for which that quota has throttled its group since the first reading; None if unknown."""
    memory_limit: int | None = None
    memory_used: int | None = None
    """The memory limit of its control groups that leaves the least, and what its group uses; None without."""
    started: float | None = None
    """When the process started, in seconds since the epoch; None if unknown."""
    anonymous: int | None = None
    shared: int | None = None
    """The parts of RSS that are anonymous and shared memory, in bytes; None if the system does not tell."""
    shared_grown: int | None = None
    """Bytes of shared memory allocated since the first reading; None if unknown."""

    @property
    def file_pages(self) -> int | None:
        """Bytes of RSS that are pages of mapped files, which the system may drop; None if unknown."""
        if self.anonymous is None or self.shared is None:
            return None
        return max(0, self.rss - self.anonymous - self.shared)

    @property
    def held(self) -> int:
        """Bytes by whose growth memory is judged: without pages of files; RSS if the system does not tell."""
        if self.anonymous is None:
            return self.rss
        return self.anonymous + ((self.shared if self.shared_grown is None else self.shared_grown) or 0)

    state: str = ""
    """One letter, as in ``ps``: ``T`` is stopped; empty if unknown."""

    @property
    def kernel(self) -> int | None:
        """Bytes that the kernel holds for it; None if a part of them is unknown."""
        parts = (self.kernel_stack, self.page_tables, self.kernel_objects)
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None

    @property
    def memory(self) -> int:
        """Bytes of RSS and of kernel memory, as far as that is known."""
        return self.rss + (self.kernel or 0)


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


class FigureReader(Protocol):
    """Reads the figures of one process that it has itself; the others are those of its control groups."""

    def read(self, now: float) -> dict[str, Any] | None:
        """Return the figures at a time, in seconds; None if the process has ended or access is denied.

        Raises:
            OSError: they cannot be read now.
        """

    def started(self) -> float | None:
        """Return when the process started, in seconds since the epoch; None if unknown."""


class ProcFigures:
    """Reads the figures of a process from ``/proc``.

    It is read ten times a second. With psutil that takes 0.075 ms, not 0.020, and the screen with four idle
    lanes 1.16 to 1.26 times its CPU time; nor does psutil tell page tables and the parts of RSS.

    Args:
        pid: the process.

    Raises:
        OSError: there is no such process, or access is denied.
    """

    def __init__(self, pid: int) -> None:
        self._status, self._stat = (ProcFile(f"/proc/{pid}/{name}") for name in ("status", "stat"))
        # The last reading of the CPU time: time, CPU seconds, threads; and the share of a core before it.
        self._cpu_read, self._cpu_share, self._used = (-math.inf, 0.0, 0), 0.0, 0.0

    def read(self, now: float) -> dict[str, Any] | None:
        """Return `memory_figures`, and ``cpu_seconds``; None if the process has ended."""
        figures = memory_figures(self._status.text())
        used = self._cpu_seconds(now, figures["threads"]) if figures else None
        return None if figures is None or used is None else {**figures, "cpu_seconds": used}

    def started(self) -> float | None:
        """Return when the process started, in seconds since the epoch; None if unknown."""
        return start_time(self._stat.text())

    def _cpu_seconds(self, now: float, threads: int) -> float | None:
        """Return the CPU seconds, extrapolated if they were read just before with as many threads."""
        found: float | None
        read_at, read, counted = self._cpu_read
        if now - read_at < threads * _THREAD_INTERVAL and abs(threads - counted) <= threads / 100:
            found = read + self._cpu_share * (now - read_at)
        else:
            found = cpu_seconds(self._stat.text())
            if found is None:
                return None
            self._cpu_share = (found - read) / max(_TICK, now - read_at)
            self._cpu_read = now, found, threads
        self._used = max(self._used, found)  # it may have been extrapolated too far
        return self._used


def figures_of(pid: int) -> FigureReader:
    """Return the reader of a process that is read each tick; raises OSError if there is no such process."""
    if LINUX:
        return ProcFigures(pid)
    from concwatch.system.by_psutil import PsutilFigures

    return PsutilFigures(pid)


class Sampler:
    """Takes readings of one process, each in about 0.02 ms.

    Args:
        pid: the process; None for this one.
        pss: reads its PSS, if that is wanted.
        objects: reads the kernel objects that it uses, if that is possible.
        throttling: reads for how long its CPU quota has throttled it, if that is possible.
        limit: reads its memory limit, if that is possible.
        figures: reads its other figures; None for `figures_of` it.

    Raises:
        OSError: there is no such process, or access is denied.
    """

    def __init__(
        self,
        pid: int | None = None,
        pss: PssReader | None = None,
        objects: KernelObjects | None = None,
        throttling: Throttling | None = None,
        limit: MemoryLimit | None = None,
        figures: FigureReader | None = None,
    ) -> None:
        self._pss, self._objects, self._throttling, self._limit = pss, objects, throttling, limit
        self._shared = SharedGrowth()
        pid = pid or os.getpid()
        self._figures = figures or figures_of(pid)
        first = self._figures.read(now := time.monotonic())
        if first is None:
            raise ProcessLookupError(f"process {pid} has gone")
        self._share = CpuShare(now, first["cpu_seconds"])
        self._started = self._figures.started()

    def read(self) -> Reading | None:
        """Return a reading; None if the process has ended or access is denied."""
        now = time.monotonic()
        try:
            figures = self._figures.read(now)
        except OSError:
            return None
        if figures is None:
            return None
        pss = self._pss.at(now, figures["rss"]) if self._pss else None
        objects = self._objects.fields(figures) if self._objects else {}
        throttled = self._throttling.fields() if self._throttling else {}
        limit = self._limit.fields() if self._limit else {}
        cpu = self._share.at(now, figures["cpu_seconds"])
        known = {**figures, **objects, **throttled, **limit, **self._shared.fields(figures)}
        return Reading(cpu=cpu, pss=pss, started=self._started, **known)

    def close(self) -> None:
        """Release what the readings need: the process has ended and been reaped."""
        if self._objects:
            self._objects.close()
