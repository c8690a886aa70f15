"""A system without ``/proc``, by psutil: its processes, memory and CPU time."""

import os

import psutil

from concwatch.system.processes import Process


def find_process(pid: int) -> Process | None:
    """Return a process that runs; None when it has ended or was never there."""
    try:
        found = psutil.Process(pid)
        status = found.status()
        if status == psutil.STATUS_ZOMBIE:
            return None
        state = "T" if status == psutil.STATUS_STOPPED else "S"
        return Process(pid, found.ppid(), os.getpgid(pid), found.uids().effective, state, found.create_time())
    except (psutil.Error, OSError):
        return None


def pids() -> list[int]:
    """Return the numbers of all processes."""
    return list(psutil.pids())


def command_of(pid: int) -> list[str]:
    """Return the words of a process's command line; none where it may not be looked at."""
    try:
        return list(psutil.Process(pid).cmdline())
    except (psutil.Error, OSError):
        return []


def program_of(pid: int) -> str:
    """Return the path of the program that a process runs.

    Raises:
        OSError: it may not be looked at, or has gone.
    """
    try:
        return str(psutil.Process(pid).exe())
    except psutil.Error as error:
        raise ProcessLookupError(str(error)) from None


def variable_of(pid: int, name: str) -> str | None:
    """Return a variable of the environment with which a process was started; None where there is none.

    Raises:
        OSError: it may not be looked at, or has gone.
    """
    try:
        return psutil.Process(pid).environ().get(name)
    except psutil.Error as error:
        raise ProcessLookupError(str(error)) from None


def process_figures(pid: int) -> dict[str, float] | None:
    """Return the figures of a process, as `concwatch.system.proc.process_figures` does."""
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            memory, times = process.memory_info(), process.cpu_times()
            return {
                "rss": memory.rss,
                "virtual": memory.vms,
                "threads": process.num_threads(),
                "cpu_seconds": times.user + times.system,
                "peak_rss": memory.rss,
            }
    except psutil.Error:
        return None


def machine_memory() -> tuple[int, int]:
    """Return the bytes of memory that the machine has, and those that are free or can be freed."""
    memory = psutil.virtual_memory()
    return int(memory.total), int(memory.available)


def busy_seconds() -> float:
    """Return the seconds of CPU that all programs of this machine have used."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle)
