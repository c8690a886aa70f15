"""Measures on this machine what the kernel holds for one more thread and one more socket.

For processes that have no control group of their own. It runs in a process of its own, which ends after half
a second, and reads by how much the slab memory of the whole machine grows. Standard library: bridges on other
hosts use it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from math import inf
from time import monotonic

from concwatch.portable.machine.kernel_memory import ObjectSizes
from concwatch.portable.machine.limits import read_fields, system_limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, List, Optional

STEPS, STEP = 6, 100
"""How often threads and pairs of sockets are added, and how many each time. The steps with the least and the
most growth do not count, as other programs allocate meanwhile."""

LARGEST_SHARE = 0.1
"""The most of what a limit on threads leaves that it may use for a moment."""


def measure() -> ObjectSizes:
    """Return the bytes of kernel objects of one thread and of one socket, measured in this process.

    Raises:
        OSError, RuntimeError: the system allows too few sockets or threads.
    """
    import select
    import socket
    import threading

    if any(limit.threads * LARGEST_SHARE < STEPS * STEP for limit in system_limits()):
        raise RuntimeError("a limit allows too few threads")
    ended = threading.Event()
    threads = [threading.Thread(target=ended.wait, daemon=True) for _ in range(STEPS * STEP)]
    sockets: List[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0), backlog=STEP) as server, select.epoll() as poll:

        def connect() -> None:
            for one in (socket.create_connection(server.getsockname()), server.accept()[0]):
                sockets.append(one)
                poll.register(one)  # as event loops do

        left = iter(threads)
        try:
            return ObjectSizes(_each(lambda: next(left).start()), _each(connect) / 2)
        finally:
            ended.set()
            for one in sockets:
                one.close()


def _each(add: Callable[[], None]) -> float:
    """Return by how many bytes one call makes the slab memory of the machine grow."""
    grown = []
    for _ in range(STEPS):
        before = _slab()
        for _ in range(STEP):
            add()
        grown.append((_slab() - before) / STEP)
    counted = sorted(grown)[1:-1]
    return max(0.0, sum(counted) / len(counted))


def _slab() -> int:
    rows = read_fields("/proc/meminfo")
    return sum(int(rows[name].split()[0]) * 1024 for name in ("SUnreclaim", "SReclaimable"))


def main() -> None:
    """Print the bytes of a thread and of a socket."""
    sizes = measure()
    print(sizes.thread, sizes.socket)
    os._exit(0)  # threads that have not ended yet are not waited for


class Calibration:
    """Runs the measurement once, in the background, the first time that its result is asked for.

    Args:
        path: the folder or zip file of the package concwatch, which may be an open file of this process.
        delay: seconds after the first request until it is started.
    """

    def __init__(self, path: str, delay: float = 0.0) -> None:
        path = path.replace("/proc/self/", f"/proc/{os.getpid()}/")
        imports = "from concwatch.portable.machine.calibration import main"
        self._command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {path!r}); {imports}; main()"]
        self._due = inf
        self._delay = delay
        self._process: Optional[subprocess.Popen[str]] = None
        self._sizes: Optional[ObjectSizes] = None
        self._over = False

    def sizes(self) -> Optional[ObjectSizes]:
        """Return the sizes; None until they are known, and if they cannot be measured. Never waits."""
        if self._over:
            return self._sizes
        now = monotonic()
        self._due = min(self._due, now + self._delay)
        if self._process is None and now >= self._due:
            self._start()
        elif self._process is not None and self._process.poll() is not None:
            self._read(self._process)
        return self._sizes

    def _start(self) -> None:
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
        except (OSError, subprocess.SubprocessError):
            self._over = True

    def _read(self, process: subprocess.Popen[str]) -> None:
        self._over = True
        words = process.communicate()[0].split()
        if process.returncode == 0 and len(words) == 2:
            self._sizes = ObjectSizes(float(words[0]), float(words[1]))
