"""The processes of this machine as concwatch itself reads them; what it sends to hosts has `processes`."""

from typing import TYPE_CHECKING

from concwatch.system import processes
from concwatch.system.proc import LINUX, Process

if TYPE_CHECKING:
    import psutil

    from concwatch.system.process_table import ProcessTable


def process_table() -> "ProcessTable":
    """Return the process table of this system: ``/proc``, or psutil where there is none."""
    # With 94 processes, psutil takes 1.7 to 6 ms to find the descendants of one, not 1.2, twice a second; it
    # cuts a title such as "nginx: master process" into words, takes a guess at an executable that may not be
    # read, and has the kernel visit all pages to tell the mapped files.
    if LINUX:
        return processes
    from concwatch.system import by_psutil  # loads psutil

    return by_psutil


def find_process(pid: int) -> Process | None:
    """Return a running process; None if there is none with this pid. Takes 0.13 ms."""
    from concwatch.system import by_psutil  # loads psutil

    return by_psutil.find_process(pid)


def running(pid: int) -> "psutil.Process | None":
    """Return a running process, which `is_running` tells from later ones with its pid; None without one."""
    from concwatch.system import by_psutil  # loads psutil

    return by_psutil.running(pid)


def is_running(process: "psutil.Process") -> bool:
    """Return whether a process is running, and not another one with its pid. Takes 0.04 ms."""
    from concwatch.system import by_psutil  # loads psutil

    return by_psutil.is_running(process)
