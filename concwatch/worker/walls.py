"""The operating system's limits on tasks: what they are, how much is used, and which one was hit."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional, Tuple

MAPS_A_THREAD = 3
"""Memory maps that one more thread needs: its stack, the guard page below it, and its share of arenas."""


class Wall:
    """One limit: its usual name, its value, and how much of it is used, in the limit's own unit."""

    __slots__ = ("name", "used", "value")

    def __init__(self, name: str, value: int, used: int) -> None:
        self.name = name
        self.value = value
        self.used = used

    @property
    def free(self) -> int:
        """What is left of it."""
        return max(0, self.value - self.used)


def _number(path: str) -> Optional[int]:
    try:
        with open(path, "rb") as file:
            return int(file.read(64))
    except (OSError, ValueError):  # not on this system, or "max"
        return None


def _status(pid: str) -> Dict[str, str]:
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            return dict(line.split(":", 1) for line in file if ":" in line)
    except OSError:
        return {}


def _maps(pid: str) -> int:
    """Count the memory maps of a process; at 65,000 this takes about 50 ms."""
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 16), b""))
    except OSError:
        return 0


def _system_threads() -> int:
    try:
        with open("/proc/loadavg", "rb") as file:
            return int(file.read().split()[3].split(b"/")[1])
    except (OSError, ValueError, IndexError):
        return 0


def _user_threads() -> int:
    """Count the threads of this process's user, which is what ``ulimit -u`` limits."""
    total = 0
    user = str(os.getuid())
    for pid in filter(str.isdigit, os.listdir("/proc")):
        status = _status(pid)
        if status.get("Uid", "").split()[:1] == [user]:
            total += int(status.get("Threads", "0"))
    return total


def _cgroup_folders() -> List[str]:
    """List the folders, innermost first, whose ``pids.max`` can bind this process."""
    folders = []
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            for line in file:
                _, controllers, path = line.rstrip("\n").split(":", 2)
                if controllers and "pids" not in controllers.split(","):
                    continue
                root = "/sys/fs/cgroup/pids" if controllers else "/sys/fs/cgroup"
                while True:
                    folders.append(root + path.rstrip("/"))
                    if path in ("", "/"):
                        break
                    path = os.path.dirname(path)
    except (OSError, ValueError):
        return []
    return folders


def thread_walls(pid: str = "self") -> List[Wall]:
    """List the limits on the threads of process ``pid``, as far as this system tells them (Linux: all)."""
    walls = []
    if sys.platform.startswith("linux"):
        threads = _system_threads()
        maps = _number("/proc/sys/vm/max_map_count")
        if maps is not None:
            walls.append(Wall("vm.max_map_count", maps, _maps(pid)))
        for name, path in (
            ("pid_max", "/proc/sys/kernel/pid_max"),
            ("threads-max", "/proc/sys/kernel/threads-max"),
        ):
            value = _number(path)
            if value is not None:
                walls.append(Wall(name, value, threads))
        for folder in _cgroup_folders():
            value = _number(folder + "/pids.max")
            if value is not None:
                walls.append(Wall("cgroup pids.max", value, _number(folder + "/pids.current") or 0))
    limit = _user_limit()
    if limit is not None:
        walls.append(Wall("ulimit -u", limit, _user_threads() if sys.platform.startswith("linux") else 0))
    return walls


def _user_limit() -> Optional[int]:
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    # The superuser is not bound by it.
    return None if soft == resource.RLIM_INFINITY or os.geteuid() == 0 else soft


def wall_hit() -> Tuple[str, Optional[int]]:
    """Tell which limit refused the last thread: its name and value; ``("unknown", None)`` if none is near.

    Python says the same "can't start new thread" for all of them, so the one with the least room left, in
    threads, must be it. A few threads' room is spared, since another may have ended meanwhile.
    """
    room = [
        (wall.free // MAPS_A_THREAD if wall.name == "vm.max_map_count" else wall.free, wall)
        for wall in thread_walls()
    ]
    if room:
        least, wall = min(room, key=lambda pair: pair[0])
        if least <= max(64, wall.value // 100):
            return wall.name, wall.value
    return "unknown", None
