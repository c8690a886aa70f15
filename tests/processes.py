"""Processes that tests start: whether one is running, and waiting for its end."""

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
