"""The limits on threads, one row a name, also those that do not bind here."""

import sys
from collections.abc import Iterable, Sequence

from msgspec import Struct

from concwatch.worker.walls import Wall

ALWAYS = ("vm.max_map_count", "pid_max", "threads-max", "cgroup pids.max", "ulimit -u")
"""The limits that are told of wherever one is, in this order."""


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
    """List every limit; of control groups within each other the one that binds."""
    found: dict[str, Wall] = {}
    for wall in walls:
        if wall.name not in found or wall.threads < found[wall.name].threads:
            found[wall.name] = wall
    rows = [_row(found.pop(name)) if name in found else ThreadLimit(name, note=_why(name)) for name in ALWAYS]
    return [*rows, *map(_row, found.values())]


def first_limit(limits: Iterable[ThreadLimit]) -> ThreadLimit | None:
    """Give the limit with the least room for threads."""
    known = [limit for limit in limits if limit.threads is not None]
    return min(known, key=lambda limit: limit.threads or 0, default=None)


def _row(wall: Wall) -> ThreadLimit:
    return ThreadLimit(wall.name, wall.value, wall.used, wall.free, wall.threads, wall.where or None)


def _why(name: str) -> str:
    if not sys.platform.startswith("linux"):
        return "unknown"
    return {"cgroup pids.max": "no limit", "ulimit -u": "does not bind this user"}.get(name, "unknown")
