"""Processes, memory and CPU time of systems without ``/proc``, by psutil."""

import os
from typing import Any

import psutil

from concwatch.portable.machine.proc import Process


def find_process(pid: int) -> Process | None:
    """Return a running process; None if there is none with this pid."""
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
    """Return the pids of all processes."""
    return list(psutil.pids())


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


def process_figures(pid: int) -> dict[str, Any] | None:
    """Return the same figures as `concwatch.portable.machine.proc.process_figures`."""
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            memory, times = process.memory_info(), process.cpu_times()
            return {
                "state": "T" if process.status() == psutil.STATUS_STOPPED else "",
                "rss": memory.rss,
                "virtual": memory.vms,
                "threads": process.num_threads(),
                "cpu_seconds": times.user + times.system,
                "peak_rss": memory.rss,
            }
    except psutil.Error:
        return None


def start_time(pid: int) -> float | None:
    """Return when a process started, in seconds since the epoch; None if it has ended."""
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return None


def machine_memory() -> tuple[int, int]:
    """Return the machine's total and available memory in bytes."""
    memory = psutil.virtual_memory()
    return int(memory.total), int(memory.available)


def busy_seconds() -> float:
    """Return the CPU seconds used by all processes of this machine."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle)
