"""Greenlets of gevent, counted as they are spawned; scans find them through weak references.

gevent calls a spawn callback for each `Greenlet` that is started, now or later. It has no list of them, so
each group has weak references to its own. These have no callbacks, which would cost more; those of greenlets
that are gone are removed when there are many. Their ends are found by scans, as those of asyncio's tasks: a
callback at the end of each (``rawlink``) would keep it alive for another turn of the hub.
"""

from __future__ import annotations

import gc
import sys
from _functools import partial  # type: ignore[import-not-found]
from _weakref import ref
from itertools import islice

from ..basics.guard import guarded
from ..basics.own_code import creating_line
from ..basics.primitives import allocate_lock
from ..blocking.hub_heartbeat import HUBS
from ..counting.counted_group import FREE_THREADED, GEVENT, is_ended
from ..counting.counting import COUNTS
from ..counting.wrappers import key_of_greenlet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Set

    from ..counting.counted_group import CountedGroup

LEAST_DUE = 1_000
"""References that are added to a group, at least, before those of greenlets that are gone are removed."""

MAX_BLOCKS = 600_000
"""Memory blocks above which existing greenlets are not searched for, which would take over 20 ms."""


class Greenlets:
    """Counts the greenlets of gevent. Any thread may spawn some; no lock is ever held."""

    def __init__(self) -> None:
        self._class: Any = None
        """``gevent.Greenlet`` once its spawn callback has been added."""
        self._removing = allocate_lock()

    def install(self) -> None:
        """Make gevent call the agent for each greenlet, if it has been imported."""
        found = getattr(sys.modules.get("gevent"), "Greenlet", None)
        if found is not None and found is not self._class:
            self._class = found
            found.add_spawn_callback(_spawned)

    @guarded("greenlets")
    def remove_callback(self) -> None:
        """Remove the spawn callback if no session counts any more; the heartbeat of a hub calls this.

        gevent may be iterating over its callbacks in another thread, and they must not change meanwhile.
        """
        if not COUNTS.scanned and self._class is not None:
            self._class.remove_spawn_callback(_spawned)
            self._class = None

    @guarded("greenlets")
    def spawned(self, greenlet: Any) -> None:
        """Count and sample a greenlet that is about to start. Never raises."""
        if not COUNTS.scanned:
            return
        group = COUNTS.table.group_by(key_of_greenlet(greenlet), GEVENT)
        group.members.append(ref(greenlet))
        group.count()
        if COUNTS.outcomes:
            greenlet.rawlink(partial(COUNTS.count_outcome, group))
        if group.lines_due > 0 and COUNTS.sample(group, greenlet, creating_line(4)):
            HUBS.add(greenlet.parent)
        if group.lines_due <= 0 and not COUNTS.outcomes:
            left = self._remove_gone(group)
            counter = group.counter if FREE_THREADED else islice(group.counter, left)
            COUNTS.fast[group.key] = (group.members.append, counter)

    def _remove_gone(self, group: CountedGroup) -> int:
        """Remove the references to greenlets that are gone, if there may be many.

        Returns:
            How many references may be added before the next time.
        """
        members = group.members
        known = len(members)
        may_be_gone = known - 2 * (group.live + group.retained) >= LEAST_DUE
        if (known >= group.members_due or may_be_gone) and self._removing.acquire(False):
            try:  # other threads may add some meanwhile
                members[:known] = [one for one in members[:known] if one() is not None]
                group.members_due = LEAST_DUE + 2 * len(members)
            finally:
                self._removing.release()
        return max(LEAST_DUE // 2, group.members_due - len(members))

    def find_existing(self) -> None:
        """Add the greenlets that exist to their groups, without counting them."""
        self._removing = allocate_lock()  # in a forked child, the previous one may be held
        hub = getattr(sys.modules.get("gevent.hub"), "Hub", None)
        kind = getattr(sys.modules.get("gevent"), "Greenlet", None)
        if kind is None or FREE_THREADED or not getattr(hub, "_hub_counter", 1):
            return
        if getattr(sys, "getallocatedblocks", int)() > MAX_BLOCKS:
            return
        kinds = _derived(kind)
        for greenlet in [one for one in gc.get_objects() if type(one) in kinds]:
            if greenlet and not is_ended(greenlet):
                self._add_existing(greenlet)
        greenlet = None

    @guarded("greenlets")
    def _add_existing(self, greenlet: Any) -> None:
        group = COUNTS.table.group_by(key_of_greenlet(greenlet), GEVENT)
        group.members.append(ref(greenlet))
        HUBS.add_later(greenlet.parent)


GREENLETS = Greenlets()
"""The greenlets of this process."""

HUBS.closed = GREENLETS.remove_callback


def _spawned(greenlet: Any, fast: Any = COUNTS.fast, ref: Any = ref) -> None:
    """Count a greenlet; gevent calls this in the program. Never raises."""
    try:
        append, counter = fast[id(greenlet._run.__code__)]
        next(counter)  # it ends when references are to be removed
        append(ref(greenlet))
    except Exception:  # the function is new, to be sampled, or not a plain one
        try:
            GREENLETS.spawned(greenlet)
        except RecursionError:  # there is no room on the stack even for that call
            pass


def _derived(kind: Any) -> Set[Any]:
    """Return a class and all that are derived from it."""
    found = {kind}
    new = [kind]
    while new:
        derived = [one for one in type.__subclasses__(new.pop()) if one not in found]
        found.update(derived)
        new += derived
    return found
