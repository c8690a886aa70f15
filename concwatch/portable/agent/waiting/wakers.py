"""Find out whether anything can wake a task; if so, its lifetime is unknown, however long it has lived.

If a task is stuck, nothing else holds its event, or all tasks of its function wait for the same one. A
session waits for an object that something else holds, such as its connection; the workers of a pool wait for
the next item in one queue, and the rest of a batch for a semaphore that other tasks will release.
"""

from __future__ import annotations

import gc
import sys
from _weakref import getweakrefcount

from ..basics.own_code import is_of
from ..counting.awaits import FunctionType, Wait, is_task, referents
from ..counting.wrappers import INLINE_FRAMES, CellType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Callable, Dict, List, Optional, Set, Tuple

MAX_TASKS = 50
"""The most tasks of a group that are examined."""

MAX_OBJECTS = 300
"""The most objects per task that are examined."""

LAYERS = 3
"""References that are followed from a task's variables."""

TRIO_IO = ("_epoll_wait", "_wait_common", "to_thread_run_sync", "_nested_child_finished")
"""Functions of trio that wait for a file, a thread or other tasks."""

ACQUIRING, WAITING = "acquire", "wait"
"""The methods that wait for a lock, and for an event."""

ANYTHING = -1
"""Used instead of the ``id`` of what a task waits for, if that is unknown."""

_SKIPPED = (type(sys), type, type(gc.get_referents), str, int, float, bytes, type(None))
"""Types of objects that do not belong to one task."""

_probe = {0: object()}
_OURS = sys.getrefcount(_probe[0])
"""The number of references to an object that counting them adds."""


class Wakers:
    """Examines some tasks. It keeps none of their objects alive."""

    def __init__(self) -> None:
        self._wakers: List[Tuple[str, int]] = []
        """The method in which each examined task waits, and its object's ``id``; 0 if nothing can wake it."""

    @property
    def examined(self) -> int:
        """How many tasks were examined."""
        return len(self._wakers)

    def wakeable(self, is_released: Callable[[int], bool]) -> int:
        """Return how many of them something else may wake.

        They wait for something that something besides the task holds; if that is a lock, ``is_released``
        returns True for its ``id``, and if it is an event, no other one waits for it.
        """
        return sum(
            one != 0
            and (method != ACQUIRING or is_released(one))
            and (method != WAITING or self._wakers.count((method, one)) == 1)
            for method, one in self._wakers
        )

    def add_stuck(self) -> None:
        """Count a task that waits for ever, unless enough have been examined."""
        if len(self._wakers) < MAX_TASKS:
            self._wakers.append(("", 0))

    def add_unknown(self) -> None:
        """Count a task of which it is not known what may wake it, unless enough have been examined."""
        if len(self._wakers) < MAX_TASKS:
            self._wakers.append(("", ANYTHING))

    def add(self, task: Any, coro: Any) -> None:
        """Examine a task with its coroutine, unless enough have been examined."""
        if len(self._wakers) >= MAX_TASKS:
            return
        sources, waker, method = _path(task, coro)
        if waker is None:  # such as uvloop's own coroutines
            self.add_unknown()
        else:
            self._wakers.append((method, waker if waker in _held_by_others(sources) else 0))


def _path(task: Any, coro: Any) -> Tuple[List[Any], Optional[int], str]:
    """Return what a task runs, with the tasks that it awaits and theirs, and what it waits for.

    That is the ``id`` of the object whose method of asyncio or trio it runs, such as a queue, and the name of
    that; or else of a future. None if it is not known, and 0 if a task of trio sleeps for ever.
    """
    sources, wait = [task], Wait(coro, task)
    while True:
        for _, awaitable, frame_name in wait.frames:
            sources.append(awaitable)
            if not INLINE_FRAMES:
                sources.append(getattr(awaitable, frame_name))
        if not is_task(wait.end) or len(sources) > MAX_OBJECTS:
            break
        sources.append(wait.end)
        wait = Wait(wait.end.get_coro(), wait.end)
    if hasattr(task, "parent_nursery"):  # a task of trio
        if any(frame[0].co_name in TRIO_IO for frame in wait.frames):
            return sources, None, ""
        for frame in wait.frames:
            waker = _object(*frame) if is_of("trio", frame[0].co_filename) else 0
            if waker:
                return sources, waker, frame[0].co_name
        return sources, 0, ""
    if not hasattr(wait.end, "add_done_callback"):
        return sources, None, ""
    if wait.frames and is_of("asyncio", wait.frames[-1][0].co_filename):
        waker = _object(*wait.frames[-1])
        if waker:
            return sources, waker, wait.frames[-1][0].co_name
    return sources, id(wait.end), ""


def _object(code: CodeType, awaitable: Any, frame_name: str) -> int:
    """Return the ``id`` of the object whose method a coroutine is; 0 without one, or if it is a loop."""
    for one in referents(awaitable, frame_name):
        for value in gc.get_referents(one) if type(one) is CellType else (one,):
            method = getattr(getattr(type(value), code.co_name, None), "__code__", None)
            if method is code and not hasattr(type(value), "run_forever"):
                return id(value)
    return 0


def _held_by_others(sources: List[Any]) -> Set[int]:
    """Return the ``id`` of each object near a task that something else holds too, by trial deletion.

    What such an object holds can be reached by others, too.
    """
    nodes, edges = _near(sources)
    counts: Dict[int, int] = {}
    for numbers in edges.values():
        for number in numbers:
            counts[number] = counts.get(number, 0) + 1
    held = {
        number
        for number in nodes
        if sys.getrefcount(nodes[number]) - _OURS > counts.get(number, 0) or getweakrefcount(nodes[number])
    }
    new = list(held)
    while new:
        reached = [number for number in edges.get(new.pop(), ()) if number in nodes and number not in held]
        held.update(reached)
        new += reached
    return held


def _referents(one: Any) -> List[Any]:
    """Return the objects to which an object refers; of a function only the variables that it closes over."""
    return list(one.__closure__ or ()) if type(one) is FunctionType else gc.get_referents(one)


def _near(sources: List[Any]) -> Tuple[Dict[int, Any], Dict[int, List[int]]]:
    """Return the objects near a task by ``id``, and to which objects it and they refer."""
    own = {id(source) for source in sources}
    nodes: Dict[int, Any] = {}
    edges: Dict[int, List[int]] = {}
    layer = sources
    for _ in range(LAYERS):
        found: Dict[int, Any] = {}
        for one in layer:
            if isinstance(one, (list, dict, set, tuple)) and len(one) > MAX_OBJECTS:
                continue
            values = _referents(one)
            edges[id(one)] = [id(value) for value in values]
            for value in values:
                if id(value) not in own and id(value) not in nodes and not isinstance(value, _SKIPPED):
                    found[id(value)] = value
        nodes.update(found)
        if len(nodes) > MAX_OBJECTS:
            break
        layer = list(found.values())
    return nodes, edges
