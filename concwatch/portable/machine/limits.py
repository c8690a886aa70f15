"""The operating system's limits on threads: their values, their use, and which one was hit."""

from __future__ import annotations

import os
import sys

from concwatch.portable.machine.open_files import process_limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional, Tuple

MAPS_PER_THREAD = 3
"""Memory maps of one more thread: its stack, its guard page, and its share of arenas."""

UNITS_PER_THREAD = {"vm.max_map_count": MAPS_PER_THREAD}
"""Units of a limit that one more thread takes, if not 1."""

RESERVED_PIDS = 300
"""The pids that Linux does not reuse once the numbers have wrapped around."""

FIRST_PID_NAMESPACE, FIRST_USER_NAMESPACE = "pid:[4026531836]", "user:[4026531837]"
"""The initial namespaces, which always have these numbers."""

ABOVE_USER_LIMIT = 1 << 24 | 1 << 21
"""The capabilities SYS_RESOURCE and SYS_ADMIN: a process with either is exempt from ``ulimit -u``."""

DEFAULT_STACK = 2 << 20
"""Bytes of a thread's stack if ``ulimit -s`` is unlimited: the C library's default."""

ARENA = 64 << 20
"""Bytes of address space that glibc reserves for the arena of each of the first threads."""

ARENAS_PER_CORE = 8
"""The maximum number of arenas per core, including the main thread's."""

STRICT_OVERCOMMIT = 2
"""The value of ``vm.overcommit_memory`` under which Linux commits no more memory than it has."""


class SystemLimit:
    """One limit and its use.

    Args:
        name: such as ``ulimit -u``.
        value: the limit.
        used: how much of it is used.
        per_thread: how much of it one more thread takes; None for the default of a limit of this name.
        where: the folder of the control group that sets it, if one does.
    """

    __slots__ = ("name", "per_thread", "used", "value", "where")

    def __init__(
        self, name: str, value: int, used: int, per_thread: Optional[int] = None, where: str = ""
    ) -> None:
        self.name = name
        self.value = value
        self.used = used
        self.per_thread = UNITS_PER_THREAD.get(name, 1) if per_thread is None else per_thread
        self.where = where

    @property
    def free(self) -> int:
        """How much of it is left."""
        return max(0, self.value - self.used)

    @property
    def threads(self) -> int:
        """How many more threads it allows."""
        return self.free // self.per_thread


def boot_id() -> Optional[str]:
    """Return what identifies this start of this machine, also to its containers; None if it is unknown."""
    return read_text("/proc/sys/kernel/random/boot_id") or None


def read_text(path: str) -> str:
    """Return the stripped text of a small file; empty if it cannot be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read().decode("utf-8", "replace").strip()
    except OSError:
        return ""


def read_number(path: str) -> Optional[int]:
    """Return the integer in a file; None if it holds none, such as "max"."""
    try:
        return int(read_text(path))
    except ValueError:
        return None


def read_fields(path: str) -> Dict[str, str]:
    """Parse a file such as ``/proc/meminfo``: map the first word of each line to the rest."""
    rows = [line.replace(":", " ", 1).split(None, 1) for line in read_text(path).split("\n")]
    return {row[0]: row[1] for row in rows if len(row) == 2}


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
    """Return the number of threads on the machine, and the last pid assigned."""
    fields = read_text("/proc/loadavg").split()
    return (int(fields[3].split("/")[1]), int(fields[4])) if len(fields) == 5 else (0, 0)


def _threads_seen(user: str = "") -> int:
    """Count the threads in ``/proc``, of all users or of the one whose number is given."""
    total = 0
    try:
        names = os.listdir("/proc")
    except OSError:
        return 0
    for pid in filter(str.isdigit, names):
        status = read_fields(f"/proc/{pid}/status")
        if not user or status.get("Uid", "").split()[:1] == [user]:
            total += int(status.get("Threads", "0"))
    return total


def _user_threads() -> int:
    """Count the threads of this process's user, which is what ``ulimit -u`` limits."""
    return _threads_seen(str(os.getuid()))


def _numbers_used() -> int:
    """Count the pids that are in use or reserved in this process's namespace."""
    threads, last = _load()
    if _link("/proc/self/ns/pid") not in ("", FIRST_PID_NAMESPACE):
        threads = _threads_seen()
    return threads + min(last, RESERVED_PIDS)


ROOT_GROUP = "/sys/fs/cgroup"
"""The folder of the root of all control groups."""


def cgroup_folders(controller: str, root: str = ROOT_GROUP, own: str = "/proc/self/cgroup") -> List[str]:
    """Return the folders of the control groups of a process for ``controller``, innermost first.

    Args:
        controller: such as ``memory``.
        root: the folder of the root group.
        own: the process's file ``cgroup``; by default that of this process.
    """
    folders = []
    for line in read_text(own).splitlines():
        _, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if not colon or (controllers and controller not in controllers.split(",")):
            continue
        base = f"{root}/{controller}" if controllers else root
        folders.append(base + path.rstrip("/"))
        while path not in ("", "/"):
            path = os.path.dirname(path)
            folders.append(base + path.rstrip("/"))
    return folders


def stack_size() -> int:
    """Return the size of a new thread's stack in bytes."""
    return process_limits("RLIMIT_STACK")[0] or DEFAULT_STACK


def _bound_as_user() -> bool:
    """Return whether ``ulimit -u`` applies to this process: root and some capabilities are exempt."""
    user = os.getuid()
    if _link("/proc/self/ns/user") in ("", FIRST_USER_NAMESPACE):
        powers = int(read_fields("/proc/self/status").get("CapEff", "0"), 16)
        return user != 0 and not powers & ABOVE_USER_LIMIT
    rows = [map(int, line.split()) for line in read_text("/proc/self/uid_map").splitlines()]
    return [other + user - first for first, other, count in rows if first <= user < first + count] != [0]


def _bytes(fields: Dict[str, str], name: str) -> int:
    """Return a field in bytes, which ``/proc`` gives in kB."""
    return 1024 * int(fields.get(name, "0").split()[0])


def _arenas_to_come(threads: int) -> int:
    """Return how many more arenas glibc will create in a process that has ``threads`` threads."""
    try:
        gnu = os.confstr("CS_GNU_LIBC_VERSION")
        most = int(os.environ.get("MALLOC_ARENA_MAX", "0")) or ARENAS_PER_CORE * len(os.sched_getaffinity(0))
    except (OSError, ValueError):  # another library, or a variable that is no number
        return 0
    return max(0, most - threads) if gnu else 0


def _memory_limits(pid: str) -> List[SystemLimit]:
    """Return the limits on committed memory, in bytes; stacks count towards them even if unused."""
    limits = []
    space, _ = process_limits("RLIMIT_AS")
    if space is not None:
        status = read_fields(f"/proc/{pid}/status")
        used = _bytes(status, "VmSize") + ARENA * _arenas_to_come(int(status.get("Threads", "1")))
        limits.append(SystemLimit("ulimit -v memory", space, used, stack_size()))
    if read_number("/proc/sys/vm/overcommit_memory") == STRICT_OVERCOMMIT:
        memory = read_fields("/proc/meminfo")
        if "CommitLimit" in memory:
            limit, committed = _bytes(memory, "CommitLimit"), _bytes(memory, "Committed_AS")
            limits.append(SystemLimit("memory commit limit", limit, committed, stack_size()))
    return limits


def system_limits(pid: str = "self") -> List[SystemLimit]:
    """Return all limits on the threads of process ``pid`` on Linux; none on other systems.

    On other systems ``ulimit -u`` counts processes, not threads.
    """
    if not sys.platform.startswith("linux"):
        return []
    limits = []
    for name, path, used in (
        ("vm.max_map_count", "/proc/sys/vm/max_map_count", count_maps(pid)),
        ("pid_max", "/proc/sys/kernel/pid_max", _numbers_used()),
        ("threads-max", "/proc/sys/kernel/threads-max", _load()[0]),
    ):
        value = read_number(path)
        if value is not None:
            limits.append(SystemLimit(name, value, used))
    for folder in cgroup_folders("pids"):
        value = read_number(folder + "/pids.max")
        if value is not None:
            count = read_number(folder + "/pids.current") or 0
            limits.append(SystemLimit("cgroup pids.max", value, count, where=folder))
    limit = process_limits("RLIMIT_NPROC")[0] if _bound_as_user() else None
    if limit is not None:
        limits.append(SystemLimit("ulimit -u", limit, _user_threads()))
    return limits + _memory_limits(pid)


UNKNOWN_LIMIT = "unknown"
"""The name of a limit that could not be determined."""


def limit_hit(pid: str = "self") -> Tuple[str, Optional[int]]:
    """Return the name and value of the limit that refused ``pid`` a thread; ``("unknown", None)`` if unclear.

    Python raises the same "can't start new thread" for all of them, so it is the one that allows the fewest
    more threads. It need not be zero, since other threads may have ended meanwhile.
    """
    limits = system_limits(pid)
    if limits:
        limit = min(limits, key=lambda limit: limit.threads)
        if limit.threads <= max(64, limit.value // limit.per_thread // 100):
            return limit.name, limit.value
    return UNKNOWN_LIMIT, None
