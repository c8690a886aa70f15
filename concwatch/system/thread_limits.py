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
"""The limits that are listed wherever one is, in this order → why Linux has no value for one."""


class ThreadLimit(Struct, frozen=True):
    """One limit in its own unit (maps, numbers, threads; bytes of memory); None where there is no value."""

    name: str
    value: int | None = None
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
    found = {
        name: ThreadLimit(name, note=note if sys.platform.startswith("linux") else UNKNOWN)
        for name, note in ALWAYS.items()
    } | {wall.name: ThreadLimit(wall.name) for wall in walls if wall.name not in ALWAYS}
    for wall in sorted(walls, key=lambda wall: wall.threads, reverse=True):
        where = wall.where or None
        found[wall.name] = ThreadLimit(wall.name, wall.value, wall.used, wall.free, wall.threads, where)
    return list(found.values())


def first_limit(limits: Iterable[ThreadLimit]) -> ThreadLimit | None:
    """Return the limit with the least room for threads."""
    known = [limit for limit in limits if limit.threads is not None]
    return min(known, key=lambda limit: limit.threads or 0, default=None)
