"""The threads of this process by the function that they run, and the lines at which they wait."""

from __future__ import annotations

import os
import sys
from _weakref import ref

from ..basics.imports import imported_module
from ..basics.names import printable
from ..basics.own_code import is_own, name_of
from .counted_group import FREE_THREADED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Dict, List, Optional, Tuple

MAX_TARGETS = 20
"""The most targets per report; the threads of all others are combined in one."""

MAX_LABELS = 1_000
"""The most targets whose threads are counted over time."""

MAX_PLACES = 20
"""The most places in an answer."""

MAX_DEPTH = 100
"""The most frames of a thread that are examined."""

TIMER = "Timer"
"""The label of ``threading.Timer``."""

MAIN = "main"
"""The label of the main thread."""

THREADING = "threading.py"

RUN = "run"
"""The function of ``threading`` that calls a target."""

WAITS = ("wait", "wait_for", "acquire")
"""The functions of ``threading`` that wait for an event, a condition, a barrier or a semaphore."""


def all_threads() -> List[Any]:
    """Return the threads that ``threading`` knows, without those that gevent runs as greenlets.

    ``threading.enumerate`` would take a lock, which in a program that gevent has patched waits in a hub.
    """
    threading = imported_module("threading")
    if threading is None:
        return []
    found = [*threading._limbo.values(), *threading._active.values()]
    monkey = imported_module("gevent.monkey")
    if monkey is None or not monkey.is_module_patched("threading"):
        return found
    native = set(sys._current_frames())  # not the frames, one of which would refer to itself
    return [one for one in found if one.ident in native or thread_label(one) == MAIN]


def is_alive(thread: Any) -> bool:
    """Return whether a thread has started and not ended, without taking a lock."""
    return sys.modules["threading"]._active.get(thread.ident) is thread


def _target(thread: Any) -> Any:
    """Return the function that a thread runs; None if it has no target."""
    target = getattr(thread, "_target", None)
    return getattr(target, "func", target)  # a partial


def thread_label(thread: Any) -> str:
    """Return the name of the function that a thread runs, or what kind of thread it is."""
    target = _target(thread)
    if target is not None:
        name = getattr(target, "__qualname__", None) or type(target).__name__
        return printable(f"{getattr(target, '__module__', '')}.{name}")
    kind = type(thread)
    if kind.__module__ == "threading":
        return {"_MainThread": MAIN, "_DummyThread": "foreign"}.get(kind.__name__, kind.__name__)
    return printable(f"{kind.__module__}.{kind.__qualname__}")


def _place(thread: Any) -> Tuple[str, int]:
    """Return the file and line of the function that a thread runs; empty and 0 if it is not in Python."""
    target = _target(thread)
    if target is None and type(thread).__module__ != "threading":
        target = type(thread).run
    code: Optional[CodeType] = getattr(target, "__code__", None)
    return (printable(code.co_filename), code.co_firstlineno) if code is not None else ("", 0)


class ThreadCounts:
    """Counts the threads by target."""

    def __init__(self) -> None:
        self._seen: Dict[int, Any] = {}
        """By ``id``: weak references to the threads of the last reading."""
        self._created: Dict[str, int] = {}
        """How many threads of each of the first `MAX_LABELS` targets have been seen."""

    def read(self, threads: List[Any]) -> List[Dict[str, Any]]:
        """Return the ``threads`` of a tick, the most frequent first."""
        labels = {id(thread): thread_label(thread) for thread in threads}
        for thread in threads:
            known, label = self._seen.get(id(thread)), labels[id(thread)]
            is_new = known is None or known() is not thread
            if is_new and (label in self._created or len(self._created) < MAX_LABELS):
                self._created[label] = self._created.get(label, 0) + 1
        self._seen = {id(thread): ref(thread) for thread in threads}
        found = _count(threads, labels)
        for one in found:
            if one["name"] in self._created:
                one["created"] = self._created[one["name"]]
        return found


def _count(threads: List[Any], labels: Dict[int, str]) -> List[Dict[str, Any]]:
    counts: Dict[str, int] = {}
    first: Dict[str, Any] = {}
    for thread in threads:
        label = labels[id(thread)]
        counts[label] = counts.get(label, 0) + 1
        first.setdefault(label, thread)
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    found: List[Dict[str, Any]] = []
    for label, count in ranked[: MAX_TARGETS if len(ranked) <= MAX_TARGETS else MAX_TARGETS - 1]:
        file, line = _place(first[label])
        found.append({"name": label, "count": count, "file": file, "line": line})
    rest = sum([count for _, count in ranked[len(found) :]])
    return [*found, {"name": "others", "count": rest}] if rest else found


def pool_name(thread: Any) -> str:
    """Return the name of the executor that a thread of its own has been named after."""
    return printable(thread.name.rpartition("_")[0])


def find_thread_waits(name: str, of_pool: bool = False) -> Dict[str, Any]:
    """Return the fields of a report on where threads wait.

    Args:
        name: their target, or the name of the executor whose threads they are.
        of_pool: whether ``name`` is an executor.
    """
    label = pool_name if of_pool else thread_label
    wanted = {thread.ident for thread in all_threads() if label(thread) == name}
    places: Dict[Tuple[str, str], int] = {}
    looked = 0
    locks: Dict[Tuple[int, bool], int] = {}
    for ident, frame in sys._current_frames().items():  # the only way to the stacks of other threads
        if ident in wanted:
            where = place_of(frame)
            places[where] = places.get(where, 0) + 1
            looked += 1
            lock = _lock(frame)
            if lock:
                locks[lock] = locks.get(lock, 0) + 1
    frame = None  # type: ignore[assignment]  # it would keep its local variables alive
    ranked = sorted(places.items(), key=lambda item: -item[1])[:MAX_PLACES]
    return {
        "name": name,
        "pool": of_pool,
        "looked": looked,
        "locked": sum(count for (_, is_event), count in locks.items() if is_event or count == 1),
        "waits": [{"where": where, "in": inside, "tasks": count} for (where, inside), count in ranked],
    }


def _lock(frame: Optional[FrameType]) -> Optional[Tuple[int, bool]]:
    """Return the ``id`` of the lock of ``threading`` for which a thread waits, and whether it is an event.

    None if it waits with a time limit, does something else, or if that is not known.
    """
    called: Optional[FrameType] = None
    for _ in range(MAX_DEPTH):
        if frame is None or is_own(frame.f_code.co_filename):
            break
        in_threading = os.path.basename(frame.f_code.co_filename) == THREADING
        if in_threading and frame.f_code.co_name == RUN:
            break
        called, frame = frame if in_threading else None, frame.f_back
    if called is None or called.f_code.co_name not in WAITS or FREE_THREADED:  # the frame may end meanwhile
        return None
    # Reading these leaves nothing behind but what the function holds itself while it waits.
    values = called.f_locals
    lock = values.get("self")
    is_event = isinstance(lock, sys.modules["threading"].Event)
    return None if values.get("timeout") is not None else (id(lock), is_event)


def place_of(frame: Optional[FrameType]) -> Tuple[str, str]:
    """Return the innermost line in the program's own code, or in any code, and its function."""
    innermost = frame
    for _ in range(MAX_DEPTH):
        if frame is None or is_own(frame.f_code.co_filename):
            break
        frame = frame.f_back
    found = frame or innermost
    if found is None:
        return "", ""
    return f"{printable(found.f_code.co_filename)}:{found.f_lineno}", name_of(found.f_code)
