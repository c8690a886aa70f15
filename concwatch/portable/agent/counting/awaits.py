"""What a task waits for: the coroutines that it awaits, and the task, lock, queue or executor at their end.

Nothing here reads ``f_locals``: see `concwatch.portable.agent.counting.wrappers`.
"""

from __future__ import annotations

import gc
import os
import sys

from ..basics.names import printable
from ..basics.own_code import is_of, is_own, name_of
from .counted_group import GEVENT
from .counting import COUNTS
from .grouping import Unresolved
from .threads import is_alive
from .wrappers import INLINE_FRAMES, CellType, key_of_greenlet, kind_of, stands_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

    Place = Tuple[str, str]
    """A line, ``"/app/crawl.py:41"``, and its function."""

MAX_DEPTH = 100
"""The most coroutines that are followed, each to the one that it awaits."""

MAX_ITEMS = 20_000
"""The most jobs that are read from the queues of executors, and the most tasks from a container."""

SLEEP = "sleep"
"""The function of ``gevent.hub`` that waits for a timer."""

SNAPSHOTS = sys.version_info < (3, 13)
"""Whether ``f_locals`` of a function is a dictionary in its frame, with copies of its variables."""

ENTERING, LEAVING = "__aenter__", "__aexit__"

UNNAMED = ("acquire", ENTERING, LEAVING, "__anext__")
"""Methods that are left out of the name of what is awaited: ``Lock`` for ``Lock.acquire``."""

OUTSIDE = (ENTERING, "wait", "wait_for")
"""Methods of a lock or condition during which a task does not hold it."""

LIMITS = ("_bound_value", "_max_value")
"""The variables that hold the initial value of a semaphore; ``asyncio.Semaphore`` does not keep it."""

FunctionType: Any = type(is_own)
MethodType: Any = type(COUNTS.loops.open)


def _is_future(one: Any) -> bool:
    return hasattr(type(one), "_asyncio_future_blocking")  # as in `asyncio.isfuture`


def is_task(one: Any) -> bool:
    """Return whether an object is a task of asyncio."""
    # Attributes are looked up on types, because an instance may compute them with the program's code.
    return _is_future(one) and hasattr(type(one), "get_coro")


def referents(awaitable: Any, frame_name: str = "cr_frame") -> List[Any]:
    """Return the variables of a suspended coroutine or generator, and the context managers it has entered."""
    return gc.get_referents(awaitable if INLINE_FRAMES else getattr(awaitable, frame_name, None) or awaitable)


def _behind(awaited: Any) -> Any:
    """Return what an awaitable of another kind stands for, such as the iterator of a future."""
    return next(filter(_is_future, gc.get_referents(awaited)), None) or stands_for(awaited)


class Wait:
    """What a task waits for.

    Args:
        coro: its coroutine.
        task: the task itself, which is not among those that it waits for.
    """

    __slots__ = ("_task", "at", "end", "frames")

    def __init__(self, coro: Any, task: Any = None) -> None:
        self._task = task
        self.frames: List[Tuple[CodeType, Any, str]] = []
        """Code, awaitable and name of its frame, from the task's own coroutine to the innermost."""
        self.end: Any = None
        """What the innermost coroutine awaits: a future or something else; None if the task is running."""
        self.at = 0
        """The index of the innermost frame in the program's own code; that of the last one without any."""
        own = -1
        awaited = coro
        for _ in range(MAX_DEPTH):
            kind = kind_of(awaited)
            if kind is not None:
                code = getattr(awaited, kind[0])
                if is_own(code.co_filename):
                    own = len(self.frames)
                self.frames.append((code, awaited, kind[2]))
                awaited = getattr(awaited, kind[1])
            elif awaited is None or _is_future(awaited):
                break
            else:
                inner = _behind(awaited)
                if inner is None:
                    break
                awaited = inner
        if awaited is None and self.frames and self.frames[-1][0].co_name == "__await__":
            awaited = next(filter(_is_future, referents(*self.frames[-1][1:])), None)
        self.end = awaited
        self.at = own if own >= 0 else max(0, len(self.frames) - 1)

    def place(self, at: Optional[int] = None) -> Place:
        """Return where it waits: the innermost line in the program's own code, or else in any code.

        Args:
            at: the index of another frame.
        """
        if not self.frames:
            return "", ""
        code, awaitable, frame_name = self.frames[self.at if at is None else at]
        # Reading the frame creates an object that lives as long as the coroutine: only one per task.
        frame = getattr(awaitable, frame_name)
        line = frame.f_lineno if frame is not None else None
        line = line or code.co_firstlineno  # the current line of a compiled coroutine is not known
        return printable(f"{code.co_filename}:{line}"), name_of(code)

    def on(self, pools: Pools) -> Tuple[str, Any]:
        """Return the name of what the program's own line awaits, and the lock or queue if it is one."""
        executor = pools.name_of(self.end) if _is_future(self.end) and not is_task(self.end) else ""
        if executor:
            return executor, None
        first = self.at if self.frames and not is_own(self.frames[self.at][0].co_filename) else self.at + 1
        names = []
        for code, awaitable, frame_name in self.frames[0 if first == self.at else first :]:
            if _is_transparent(code) or code.co_name == "__await__":
                continue
            owner = _owner(code, awaitable, frame_name)
            name = name_of(code) if owner is None else type(owner).__name__ + _limit(owner)
            if owner is not None and code.co_name not in UNNAMED:
                name = f"{name}.{code.co_name}"
            names.append((printable(name), owner))
        # Prefer public names: ``ClientResponse.start`` says more than ``_RequestContextManager``.
        public = [one for one in names if "._" not in f".{one[0]}"]
        if names:
            return (public or names)[0]
        if self.end is None:
            return "", None
        if type(self.end).__name__ == "_GatheringFuture":
            return "gather", None
        functions = {
            function_of(one) for one in self.tasks()
        }  # including those of a ``wait_for`` or ``shield``
        if len(functions) == 1:
            return functions.pop(), None
        return printable(type(self.end).__name__.lstrip("_")), None

    def tasks(self) -> List[Any]:
        """Return the tasks that it waits for: one, or those of a ``gather``, a task group or a ``wait``."""
        if is_task(self.end):
            return [self.end]
        found: List[Any] = []
        if _is_future(self.end):
            for one in _values(gc.get_referents(self.end)):
                if type(one) is list:  # the children of a gather, or since 3.14 the awaiters of a future
                    found += filter(is_task, one[:MAX_ITEMS])
            found += filter(is_task, _in_callbacks(self.end))
        for code, awaitable, frame_name in self.frames:
            if not _is_of_framework(code):
                continue
            values = referents(awaitable, frame_name)
            owner = _owner(code, awaitable, frame_name)
            if owner is not None and (code.co_name == LEAVING or type(owner).__module__ == "asyncio.tasks"):
                values += _values(gc.get_referents(owner))
            for value in values:
                found += _tasks_in(value)
        unique = {id(one): one for one in found if one is not self._task}
        return [one for one in unique.values() if not one.done()]

    def held(self) -> Iterator[Tuple[Any, int]]:
        """Yield each asynchronous context manager that it has entered, and the index of the frame."""
        for index, (_, awaitable, frame_name) in enumerate(self.frames):
            for manager in _entered(referents(awaitable, frame_name)):
                if index + 1 < len(self.frames):
                    code, inner, inner_name = self.frames[index + 1]
                    if code.co_name in OUTSIDE and _owner(code, inner, inner_name) is manager:
                        continue
                yield manager, index


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
            code = key_of_greenlet(greenlet)
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


def wait_of(task: Any, kind: str) -> Wait:
    """Return what a task waits for, given the kind of its group."""
    if kind == GEVENT:
        return GreenletWait(task)
    return Wait(task.get_coro() if hasattr(task, "get_coro") else task.coro, task)


def _entered(values: List[Any]) -> Iterator[Any]:
    """Yield the context managers whose ``__aexit__`` is among the values of a frame."""
    for number, one in enumerate(values):
        manager: Any = None
        if type(one) is MethodType and one.__name__ == LEAVING:
            manager = one.__self__
        elif type(one) is FunctionType and one.__name__ == LEAVING and number + 1 < len(values):
            manager = values[number + 1]  # since 3.14 the function and its object are both on the stack
        if manager is None:
            continue
        yield manager
        if type(manager).__name__ == "_AsyncGeneratorContextManager":
            yield from _entered(referents(manager.gen, "ag_frame"))


def _is_of_framework(code: CodeType) -> bool:
    return is_of("asyncio", code.co_filename) or is_of("anyio", code.co_filename)


def _is_transparent(code: CodeType) -> bool:
    """Return whether a function only forwards to what it awaits."""
    if code.co_name == "wait_for":
        return _is_of_framework(code)
    return os.path.basename(code.co_filename) == "contextlib.py"


def _owner(code: CodeType, awaitable: Any, frame_name: str) -> Any:
    """Return the object whose method a coroutine is; None for a function."""
    for one in referents(awaitable, frame_name):
        method = getattr(type(one), code.co_name, None)
        if method is not None and getattr(getattr(method, "__wrapped__", method), "__code__", None) is code:
            return one
    return None


def _limit(owner: Any) -> str:
    variables = getattr(owner, "__dict__", {})
    limits = [variables[name] for name in LIMITS if type(variables.get(name)) is int]
    return f"({limits[0]})" if limits else ""


def _values(found: List[Any]) -> List[Any]:
    """Return the objects, and the values of the dictionaries among them."""
    values = list(found)
    for one in found:
        if type(one) is dict:
            values += list(one.values())
    return values


def _tasks_in(value: Any) -> Iterable[Any]:
    """Return the tasks that a variable holds, directly or in a container."""
    if type(value) is CellType:
        try:
            value = value.cell_contents
        except ValueError:  # it is empty
            return ()
    if type(value) in (list, tuple, set, dict):
        return [one for one in list(value)[:MAX_ITEMS] if is_task(one)]
    return (value,) if is_task(value) else ()


def _in_callbacks(future: Any) -> Iterator[Any]:
    """Yield what the callbacks of a future refer to in their closures."""
    found = gc.get_referents(future)
    for one in list(found):
        if type(one) is list:
            found += [each[0] if type(each) is tuple and each else each for each in one]
    for one in _values(found):
        for cell in getattr(one, "__closure__", None) or () if type(one) is FunctionType else ():
            try:
                yield cell.cell_contents
            except ValueError:  # it is empty
                pass


def function_of(task: Any) -> str:
    """Return the name of the function of a task."""
    try:
        return COUNTS.group_of_task(task).name
    except Unresolved:
        return printable(type(task).__name__)


class Pools:
    """The executors for whose jobs tasks wait."""

    def __init__(self) -> None:
        self._queued: Optional[Dict[int, str]] = None
        """The name of the executor in whose queue a job is, by ``id`` of the job's future."""
        self._names: List[str] = []

    def name_of(self, future: Any) -> str:
        """Return the executor that a future of asyncio waits for; an empty string for another future."""
        job = next(
            (one for one in _in_callbacks(future) if hasattr(type(one), "set_running_or_notify_cancel")), None
        )
        if job is None:
            return ""
        if self._queued is None:
            self._read()
        assert self._queued is not None
        if id(job) in self._queued:
            return f"executor {self._queued[id(job)]}, in its queue"
        # The executor that runs a job is not known, unless there is only one.
        return f"executor {self._names[0]}" if len(self._names) == 1 else "executor"

    def _read(self) -> None:
        self._queued = {}
        queues = getattr(sys.modules.get("concurrent.futures.thread"), "_threads_queues", None)
        found: Dict[int, Tuple[str, Any]] = {}
        for thread, queue in list(queues.items()) if queues is not None else ():
            if is_alive(thread):
                found[id(queue)] = printable(thread.name.rpartition("_")[0]), queue
        for name, queue in found.values():
            self._names.append(name)
            for one in gc.get_referents(queue):
                for item in one[:MAX_ITEMS] if type(one) is list else (one,):
                    future = getattr(item, "future", None)
                    if future is not None and len(self._queued) < MAX_ITEMS:
                        self._queued[id(future)] = name
