"""What psutil tells of processes and of this machine, the same on every system.

psutil takes 11 ms to load, a twentieth of the time to the first frame: import this module only where it is
used. Code that runs on other hosts has readers of its own (`concwatch.portable.machine`), since nothing can
be installed there.
"""

import os
from collections.abc import Iterable
from typing import Any

import psutil

from concwatch.portable.machine.process_reader import Process
from concwatch.portable.machine.processes import descendants

_BUSY = ("user", "nice", "system", "irq", "softirq", "steal")
"""The kinds of CPU time that are spent on something; each system has some of them."""


class PsutilFigures:
    """Reads the figures of one process. A reading takes 0.08 ms, or 0.25 ms if there is only one a second.

    Args:
        pid: the process.

    Raises:
        ProcessLookupError: there is no such process.
    """

    def __init__(self, pid: int) -> None:
        try:
            self._process = psutil.Process(pid)
        except psutil.Error as error:
            raise ProcessLookupError(str(error)) from None

    def read(self, now: float) -> dict[str, Any] | None:
        """Return those of the figures of `process_reader.process_figures` that psutil has.

        None if the process has ended or access is denied.
        """
        try:
            with self._process.oneshot():
                memory, times = self._process.memory_info(), self._process.cpu_times()
                return {
                    "state": "T" if self._process.status() == psutil.STATUS_STOPPED else "",
                    "rss": memory.rss,
                    "virtual": memory.vms,
                    "threads": self._process.num_threads(),
                    "cpu_seconds": times.user + times.system,
                    "peak_rss": memory.rss,
                }
        except psutil.Error:
            return None

    def started(self) -> float | None:
        """Return when the process started, in seconds since the epoch; None if that cannot be read."""
        try:
            return float(self._process.create_time())
        except psutil.Error:
            return None


def running(pid: int) -> psutil.Process | None:
    """Return a running process, which a later one with the same pid does not equal; None if there is none."""
    try:
        process = psutil.Process(pid)
    except (psutil.Error, OSError, ValueError):
        return None
    return process if is_running(process) else None


def is_running(process: psutil.Process) -> bool:
    """Return whether a process is running; one that waits to be reaped has ended."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, OSError):
        return False


def find_process(pid: int) -> Process | None:
    """Return a running process; None if there is none with this pid."""
    process = running(pid)
    if process is None:
        return None
    try:
        with process.oneshot():
            state = "T" if process.status() == psutil.STATUS_STOPPED else "S"
            return Process(pid, process.ppid(), os.getpgid(pid), process.uids().effective, state)
    except (psutil.Error, OSError):
        return None


def pids() -> list[int]:
    """Return the pids of all processes."""
    return list(psutil.pids())


def children_of(parents: Iterable[int]) -> set[int]:
    """Return the pids of all descendants of ``parents``."""
    return descendants(
        parents, {each.pid: each.info["ppid"] for each in psutil.process_iter(["ppid"])}.items()
    )


def command_of(pid: int) -> list[str]:
    """Return a process's command line; empty if it cannot be read."""
    try:
        return list(psutil.Process(pid).cmdline())
    except (psutil.Error, OSError):
        return []


def program_of(pid: int) -> str:
    """Return the path of a process's executable.

    Raises:
        OSError: the process has ended, or access is denied.
    """
    try:
        return str(psutil.Process(pid).exe())
    except psutil.Error as error:
        raise ProcessLookupError(str(error)) from None


def variable_of(pid: int, name: str) -> str | None:
    """Return a variable of the environment that a process was started with; None if it is not set.

    Raises:
        OSError: the process has ended, or access is denied.
    """
    try:
        return psutil.Process(pid).environ().get(name)
    except psutil.Error as error:
        raise ProcessLookupError(str(error)) from None


def mapped_files(pid: int) -> list[str]:
    """Return the files that a process has mapped: none, because psutil cannot list them on macOS."""
    return []


def machine_memory() -> tuple[int, int]:
    """Return the machine's total and available memory in bytes."""
    memory = psutil.virtual_memory()
    return int(memory.total), int(memory.available)


def busy_seconds() -> float:
    """Return the CPU seconds used by all processes of this machine."""
    times = psutil.cpu_times()
    return float(sum(getattr(times, kind, 0.0) for kind in _BUSY))
