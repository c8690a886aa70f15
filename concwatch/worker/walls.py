"""The operating system's limits on tasks: what they are, how much is used, and which one was hit."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional, Tuple

MAPS_A_THREAD = 3
"""Memory maps that one more thread needs: its stack, the guard page below it, and its share of arenas."""

A_THREAD_TAKES = {"vm.max_map_count": MAPS_A_THREAD}
"""How much of a limit one more thread takes, where that is not 1."""

RESERVED_PIDS = 300
"""Numbers that Linux gives to nobody again once it has been around."""

FIRST_PID_NAMESPACE, FIRST_USER_NAMESPACE = "pid:[4026531836]", "user:[4026531837]"
"""The namespaces of the machine itself, which Linux always gives these numbers."""

ABOVE_USER_LIMIT = 1 << 24 | 1 << 21
"""The capabilities, SYS_RESOURCE and SYS_ADMIN, either of which ``ulimit -u`` does not bind."""

DEFAULT_STACK = 2 << 20
"""Bytes of a thread's stack where ``ulimit -s`` sets no limit: the C library's own choice."""

ARENA = 64 << 20
"""Bytes of address space that GNU's C library sets aside for each of the first threads to allocate from."""

ARENAS_A_CORE = 8
"""How many such arenas it makes at most, the first thread's own included."""

STRICT_OVERCOMMIT = 2
"""``vm.overcommit_memory`` under which Linux promises no more memory than it has."""


class Wall:
    """One limit: its usual name, its value, and how much of it is used, in the limit's own unit."""

    __slots__ = ("a_thread", "name", "used", "value", "where")

    def __init__(
        self, name: str, value: int, used: int, a_thread: Optional[int] = None, where: str = ""
    ) -> None:
        """Take what a limit says.

        Args:
            name: what a person looks it up by.
            value: the limit.
            used: how much of it is used.
            a_thread: how much one more thread takes; None for what `A_THREAD_TAKES` says.
            where: the folder that sets it, if it is a control group's.
        """
        self.name = name
        self.value = value
        self.used = used
        self.a_thread = A_THREAD_TAKES.get(name, 1) if a_thread is None else a_thread
        self.where = where

    @property
    def free(self) -> int:
        """What is left of it."""
        return max(0, self.value - self.used)

    @property
    def threads(self) -> int:
        """How many more threads it has room for."""
        return self.free // self.a_thread


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


def count_maps(pid: str) -> int:
    """Count the memory maps of a process; at 65,000 this takes about 50 ms."""
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 16), b""))
    except OSError:
        return 0


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _load() -> Tuple[int, int]:
    """Give the number of threads on the whole machine, and the last process number given here."""
    try:
        with open("/proc/loadavg", "rb") as file:
            fields = file.read().split()
        return int(fields[3].split(b"/")[1]), int(fields[4])
    except (OSError, ValueError, IndexError):
        return 0, 0


def _threads_seen(user: str = "") -> int:
    """Count the threads that ``/proc`` shows; only those of one ``user``, if named by number."""
    total = 0
    try:
        names = os.listdir("/proc")
    except OSError:
        return 0
    for pid in filter(str.isdigit, names):
        status = _status(pid)
        if not user or status.get("Uid", "").split()[:1] == [user]:
            total += int(status.get("Threads", "0"))
    return total


def _user_threads() -> int:
    """Count the threads of this process's user, which is what ``ulimit -u`` limits."""
    return _threads_seen(str(os.getuid()))


def _numbers_used() -> int:
    """Count the process numbers that are taken, or reserved, in this process's own namespace."""
    threads, last = _load()
    if _link("/proc/self/ns/pid") not in ("", FIRST_PID_NAMESPACE):
        threads = _threads_seen()
    return threads + min(last, RESERVED_PIDS)


def cgroup_folders(controller: str, root: str = "/sys/fs/cgroup") -> List[str]:
    """List the folders, innermost first, in which ``controller`` can bind this process."""
    folders = []
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            for line in file:
                _, controllers, path = line.rstrip("\n").split(":", 2)
                if controllers and controller not in controllers.split(","):
                    continue
                base = root + "/" + controller if controllers else root
                while True:
                    folders.append(base + path.rstrip("/"))
                    if path in ("", "/"):
                        break
                    path = os.path.dirname(path)
    except (OSError, ValueError):
        return []
    return folders


def stack_size() -> int:
    """Give the bytes of stack that the system gives to a new thread."""
    return _soft_limit("RLIMIT_STACK") or DEFAULT_STACK


def _soft_limit(name: str) -> Optional[int]:
    """Give a soft limit of this process, or None where there is none."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return None
    number = getattr(resource, name, None)
    if number is None:
        return None
    soft, _ = resource.getrlimit(number)
    return None if soft == resource.RLIM_INFINITY else soft


def _user_limit() -> Optional[int]:
    return _soft_limit("RLIMIT_NPROC") if _bound_as_user() else None


def _bound_as_user() -> bool:
    """Tell whether ``ulimit -u`` binds this process: not the machine's superuser, nor who has its powers."""
    inside = _link("/proc/self/ns/user") not in ("", FIRST_USER_NAMESPACE)
    if not inside:
        powers = int(_status("self").get("CapEff", "0"), 16)
        return os.getuid() != 0 and not powers & ABOVE_USER_LIMIT
    try:
        with open("/proc/self/uid_map", encoding="ascii") as file:
            rows = [[int(word) for word in line.split()] for line in file]
    except (OSError, ValueError):
        return True
    user = os.getuid()
    outside = [other + user - first for first, other, count in rows if first <= user < first + count]
    return outside != [0]


def _kib(path: str) -> Dict[str, int]:
    """Read a file such as ``/proc/meminfo``: name → KiB."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            rows = [line.split() for line in file]
        return {row[0].rstrip(":"): int(row[1]) for row in rows if row[2:] == ["kB"]}
    except (OSError, ValueError):
        return {}


def _arenas_to_come(threads: int) -> int:
    """Tell how many arenas will be made for the next threads of a process that has so many."""
    try:
        gnu = os.confstr("CS_GNU_LIBC_VERSION")
        most = int(os.environ.get("MALLOC_ARENA_MAX", "0")) or ARENAS_A_CORE * len(os.sched_getaffinity(0))
    except (OSError, ValueError):  # another library, or a variable that is no number
        return 0
    return max(0, most - threads) if gnu else 0


def _memory_walls(pid: str) -> List[Wall]:
    """List the limits, in bytes, on memory that is promised and need not be touched, as stacks are."""
    walls = []
    space = _soft_limit("RLIMIT_AS")
    if space is not None:
        used = 1024 * _kib(f"/proc/{pid}/status").get("VmSize", 0)
        used += ARENA * _arenas_to_come(int(_status(pid).get("Threads", "1")))
        walls.append(Wall("ulimit -v memory", space, used, stack_size()))
    if _number("/proc/sys/vm/overcommit_memory") == STRICT_OVERCOMMIT:
        memory = _kib("/proc/meminfo")
        if "CommitLimit" in memory:
            promised = 1024 * memory.get("Committed_AS", 0)
            walls.append(Wall("memory commit limit", 1024 * memory["CommitLimit"], promised, stack_size()))
    return walls


def thread_walls(pid: str = "self") -> List[Wall]:
    """List the limits on the threads of process ``pid``: all that Linux has; of other systems none is known.

    Elsewhere ``ulimit -u`` counts processes, not threads.
    """
    if not sys.platform.startswith("linux"):
        return []
    walls = []
    for name, path, used in (
        ("vm.max_map_count", "/proc/sys/vm/max_map_count", count_maps(pid)),
        ("pid_max", "/proc/sys/kernel/pid_max", _numbers_used()),
        ("threads-max", "/proc/sys/kernel/threads-max", _load()[0]),
    ):
        value = _number(path)
        if value is not None:
            walls.append(Wall(name, value, used))
    for folder in cgroup_folders("pids"):
        value = _number(folder + "/pids.max")
        if value is not None:
            count = _number(folder + "/pids.current") or 0
            walls.append(Wall("cgroup pids.max", value, count, where=folder))
    limit = _user_limit()
    if limit is not None:
        walls.append(Wall("ulimit -u", limit, _user_threads()))
    return walls + _memory_walls(pid)


UNKNOWN_WALL = "unknown"
"""The name of a limit that nobody could find."""


def wall_hit(pid: str = "self") -> Tuple[str, Optional[int]]:
    """Tell which limit refused process ``pid`` its last thread: ``("unknown", None)`` if none is near.

    Python says the same "can't start new thread" for all of them, so the one with the least room left, in
    threads, must be it. A few threads' room is spared, since another may have ended meanwhile.
    """
    walls = thread_walls(pid)
    if walls:
        wall = min(walls, key=lambda wall: wall.threads)
        if wall.threads <= max(64, wall.value // wall.a_thread // 100):
            return wall.name, wall.value
    return UNKNOWN_WALL, None
