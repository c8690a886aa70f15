"""Processes that tests start: whether one is running, which are workers, and waiting for their end."""

import contextlib
import time

import psutil

PATIENCE = 60.0
"""Seconds to wait on a loaded machine."""


def alive(process) -> bool:
    """Return whether a process, given by itself or by its pid, is running; a zombie is not."""
    try:
        process = process if isinstance(process, psutil.Process) else psutil.Process(process)
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def assert_ended(processes, seconds=PATIENCE) -> None:
    """Wait until none of the processes, or pids, is running."""
    processes = list(processes)
    end = time.monotonic() + seconds
    while left := [process for process in processes if alive(process)]:
        assert time.monotonic() < end, f"still running: {left}"
        time.sleep(0.01)


def workers_of(process, recursive=False) -> list[psutil.Process]:
    """Return the workers that a process has started, by itself or its pid, without its other children.

    Others are the shell that will remove its workers' control groups, for a moment, and the process that
    estimates kernel memory where there are no such groups.
    """
    workers = []
    with contextlib.suppress(psutil.NoSuchProcess):
        process = process if isinstance(process, psutil.Process) else psutil.Process(process)
        for child in process.children(recursive):
            with contextlib.suppress(psutil.Error):
                if "concwatch.portable.worker" in " ".join(child.cmdline()):
                    workers.append(child)
    return workers
