"""Greenlets of gevent, counted as they are spawned; scans find them through weak references.

gevent calls a spawn callback for each `Greenlet` that is started, now or later. It has no list of them, so
each group has weak references to its own. These have no callbacks, which would double the cost. Their ends
are found by scans, as those of asyncio's tasks: a callback at the end of each (``rawlink``) would keep it
alive for another turn of the hub.
"""

from __future__ import annotations

import gc
import sys
from _functools import partial  # type: ignore[import-not-found]
from _weakref import ref
from sys import intern

from .awaits import MAX_DEPTH, Wait
from .counted_group import FREE_THREADED, is_ended
from .counting import COUNTS
from .hub_heartbeat import HUBS
from .names import printable
from .own_code import creating_line, is_own, name_of
from .wrappers import code_of_function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Optional, Set, Tuple

    from .awaits import Place, Pools
    from .counted_group import CountedGroup

    Members = Tuple[CountedGroup, List[Any]]
    """A group, and weak references to its greenlets."""

KIND = "gevent"

MAX_BLOCKS = 600_000
"""Memory blocks above which existing greenlets are not searched for, which would take over 20 ms."""

SLEEP = "sleep"
"""The function of ``gevent.hub`` that waits for a timer."""

UNCOUNTED = "greenlets are used without gevent, and are not counted"
"""Why the tasks of a process are unknown."""

SNAPSHOTS = sys.version_info < (3, 13)
"""Whether ``f_locals`` of a function is a dictionary in its frame, with copies of its variables."""


class Greenlets:
    """Counts the greenlets of gevent. Any thread may spawn some; no lock is ever held."""

    def __init__(self) -> None:
        self.outcomes = False
        """Whether it is counted how they end."""
        self._active = False
        """Whether greenlets may be counted."""
        self._class: Any = None
        """``gevent.Greenlet`` once its spawn callback has been added."""

    # Counting.

    def begin(self) -> None:
        """Allow greenlets to be counted, because scans follow, which remove the references to those gone."""
        self._active = True

    def install(self) -> None:
        """Count greenlets from now on, if that is allowed and gevent has been imported."""
        if not self._active:
            return
        found = getattr(sys.modules.get("gevent"), "Greenlet", None)
        if found is not None and found is not self._class:
            self._class = found
            found.add_spawn_callback(_spawned)

    def remove(self) -> None:
        """Stop counting. The next heartbeat of a hub removes the spawn callback.

        gevent may be iterating over its callbacks in another thread, and they must not change meanwhile.
        """
        self._active = False

    def remove_callback(self) -> None:
        """Remove the spawn callback if no greenlets are counted any more; called in a hub."""
        if not self._active and self._class is not None:
            self._class.remove_spawn_callback(_spawned)
            self._class = None

    def spawned(self, greenlet: Any) -> None:
        """Count and sample a greenlet that is about to start. Never raises."""
        if not self._active:
            return
        try:
            group = COUNTS.group_by(_key_of(greenlet), KIND)
            group.members.append(ref(greenlet))
            group.count()
            if self.outcomes:
                greenlet.rawlink(partial(COUNTS.count_outcome, group))
            if group.lines_due > 0 and COUNTS.sample(group, greenlet, creating_line(3)):
                HUBS.add(greenlet.parent)
            if group.lines_due <= 0 and not self.outcomes:
                COUNTS.fast[group.key] = (group.members.append, group.counter)
        except Exception:  # the agent never raises into the program
            pass

    def find_existing(self) -> None:
        """Add the greenlets that exist to their groups, without counting them."""
        hub = getattr(sys.modules.get("gevent.hub"), "Hub", None)
        kind = getattr(sys.modules.get("gevent"), "Greenlet", None)
        if kind is None or FREE_THREADED or not getattr(hub, "_hub_counter", 1):
            return
        if getattr(sys, "getallocatedblocks", int)() > MAX_BLOCKS:
            return
        kinds = _derived(kind)
        for greenlet in [one for one in gc.get_objects() if type(one) in kinds]:
            try:
                if greenlet and not is_ended(greenlet):
                    group = COUNTS.group_by(_key_of(greenlet), KIND)
                    group.members.append(ref(greenlet))
                    HUBS.add_later(greenlet.parent)
            except Exception:  # it has just ended
                continue
        greenlet = None


GREENLETS = Greenlets()
"""The greenlets of this process."""

HUBS.closed = GREENLETS.remove_callback


def _spawned(greenlet: Any, fast: Any = COUNTS.fast, ref: Any = ref) -> None:
    """Count a greenlet; gevent calls this in the program. Never raises."""
    try:
        append, counter = fast[id(greenlet._run.__code__)]
        append(ref(greenlet))
        next(counter)
    except Exception:  # the function is new, to be sampled, or not a plain one
        GREENLETS.spawned(greenlet)


def _derived(kind: Any) -> Set[Any]:
    """Return a class and all that are derived from it."""
    found = {kind}
    new = [kind]
    while new:
        derived = [one for one in type.__subclasses__(new.pop()) if one not in found]
        found.update(derived)
        new += derived
    return found


def _key_of(greenlet: Any) -> Any:
    """Return the code of the function that a greenlet runs, or its name if it has none."""
    run = greenlet._run
    thread: Any = getattr(run, "__self__", None)
    if hasattr(type(thread), "_bootstrap"):  # a thread of a program that gevent has patched
        run = getattr(thread, "_target", None) or type(thread).run
    return code_of_function(run) or intern(getattr(run, "__qualname__", "") or type(run).__qualname__)


# Scans.


def all_members() -> List[Members]:
    """Return the groups of greenlets, with copies of the references to these."""
    return [(group, list(group.members)) for group in list(COUNTS.groups.values()) if group.members]


# Where they wait.


class GreenletWait(Wait):
    """Where a greenlet waits, from its saved stack; gevent's compiled functions are not on it."""

    __slots__ = ()

    def __init__(self, greenlet: Any) -> None:
        self._task = greenlet
        frame = self.end = greenlet.gr_frame
        self.frames = []
        while frame is not None and len(self.frames) < MAX_DEPTH:
            self.frames.append((frame.f_code, frame, ""))
            frame = frame.f_back
        self.frames.reverse()
        if self.end is None:  # it is running, or has not started
            code = _key_of(greenlet)
            self.frames = [(code, None, "")] if hasattr(code, "co_firstlineno") else []
        own = [at for at, (code, _, _) in enumerate(self.frames) if is_own(code.co_filename)]
        self.at = own[-1] if own else max(0, len(self.frames) - 1)

    def place(self, at: Optional[int] = None) -> Place:
        """Return where it waits; see `Wait.place`."""
        if not self.frames:
            return "", ""
        code, frame, _ = self.frames[self.at if at is None else at]
        line = code.co_firstlineno if frame is None else frame.f_lineno
        return printable(f"{code.co_filename}:{line}"), name_of(code)

    def on(self, pools: Pools) -> Tuple[str, Any]:
        """Return the name of the function that the program's own line has called, if that is not compiled."""
        called = [code for code, _, _ in self.frames[self.at + 1 :]]
        return (name_of(called[0]) if called else ""), None

    def tasks(self) -> List[Any]:
        """Return an empty list: for which greenlets it waits is not known."""
        return []

    def sleeps(self) -> Optional[float]:
        """Return for how many seconds at most it sleeps; None if it does something else."""
        sleep = getattr(sys.modules.get("gevent.hub"), SLEEP, None)
        if not self.frames or self.frames[-1][0] is not getattr(sleep, "__code__", None):
            return None
        frame = self.frames[-1][1]
        variables = frame.f_locals
        seconds = variables.get("seconds")
        if SNAPSHOTS:  # the copies would keep the objects alive
            variables.clear()
        return float(seconds)


# Greenlets without gevent.


def why_uncounted() -> str:
    """Return why tasks are not counted that this process may have; an empty string if all are."""
    module = sys.modules.get("greenlet._greenlet")
    if module is None or "gevent" in sys.modules or COUNTS.created():
        return ""
    # One for each thread that has used greenlets. Importing the package is not enough: many libraries do.
    used = getattr(module, "get_total_main_greenlets", lambda: 1)
    return UNCOUNTED if used() else ""
