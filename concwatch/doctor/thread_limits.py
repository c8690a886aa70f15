"""The limits on threads, one row a name, also those that do not bind here."""

import sys
from collections.abc import Iterable, Sequence

from msgspec import Struct

from concwatch.system.walls import Wall

UNKNOWN = "unknown"
ALWAYS = {
    "vm.max_map_count": UNKNOWN,
    "pid_max": UNKNOWN,
    "threads-max": UNKNOWN,
    "cgroup pids.max": "no limit",
    "ulimit -u": "does not bind this user",
}
"""The limits that are told of wherever one is, in this order → why Linux has no value for one."""


class ThreadLimit(Struct, frozen=True):
    """One limit in its own unit (maps, numbers, threads; bytes of memory), and what it is in threads."""

    name: str
    value: int | None = None
    """None when it does not bind, or is not known."""
    used: int | None = None
    free: int | None = None
    threads: int | None = None
    """How many more threads it has room for."""
    where: str | None = None
    """The folder of the control group that sets it."""
    note: str = ""
    """Why there is no value."""


def thread_limits(walls: Sequence[Wall]) -> list[ThreadLimit]:
    """Return every limit; of control groups within each other the one that binds."""
    tightest = {wall.name: wall for wall in sorted(walls, key=lambda wall: wall.threads, reverse=True)}
    names = dict.fromkeys((*ALWAYS, *(wall.name for wall in walls)))
    return [_limit(name, tightest.get(name)) for name in names]


def _limit(name: str, wall: Wall | None) -> ThreadLimit:
    if wall is None:
        return ThreadLimit(name, note=ALWAYS[name] if sys.platform.startswith("linux") else UNKNOWN)
    return ThreadLimit(name, wall.value, wall.used, wall.free, wall.threads, wall.where or None)


def first_limit(limits: Iterable[ThreadLimit]) -> ThreadLimit | None:
    """Return the limit with the least room for threads."""
    known = [limit for limit in limits if limit.threads is not None]
    return min(known, key=lambda limit: limit.threads or 0, default=None)
