"""Functions that replace those of frameworks: each calls the one that it replaces, and counts tasks."""

from __future__ import annotations

import sys
from _functools import partial  # type: ignore[import-not-found]
from time import monotonic

from ..basics.guard import guarded
from ..basics.names import FILE
from ..blocking.heartbeat import TrioHeartbeat
from ..counting.counted_group import LINES_PER_GROUP
from ..counting.counting import COUNTS
from ..counting.grouping import Unresolved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict

    from ..counting.durations import TimedTask

_CREATE_TASK = """
def create_task(self, coro, {signature}):
    task = {creation}
    try:
        if {debug}:
            trim(task)
        for _ in fast[id(coro.cr_code)]:  # the cheapest way to advance an iterator
            break
        else:
            count_and_sample(coro, task)
    except Exception:  # the function is new, or the coroutine is not a native one
        try:
            count_and_sample(coro, task)
        except RecursionError:  # there is no room on the stack even for that call
            pass
    try:
        return task
    finally:
        del task  # an eager task that fails refers to this frame, as in asyncio's own
"""

_CREATION = "(original(self, coro) if {absent} else original(self, coro, {passed}))"
"""Passes on only the keyword arguments that were given; passing None takes 60 ns."""

UNKNOWN_SINCE = (3, 16)
"""The first version of Python whose ``create_task`` may do more than `_INLINED` does."""

_INLINED = "self._task_factory is None and not self._closed"
"""Whether asyncio's own ``create_task`` would only call ``Task``; calling that here saves a call."""


def counting(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``create_task`` that does what ``original`` does, and counts the task.

    It has the same keyword parameters as ``original`` where they are known: on Python 3.13 passing on
    ``**kw`` costs a quarter of a microsecond.
    """
    code, defaults = getattr(original, "__code__", None), getattr(original, "__kwdefaults__", None) or {}
    signature = passed = "**kw"
    absent = "not kw"
    if code is not None and not code.co_flags & 0x0C and code.co_argcount == 2 and _are_none(defaults):
        signature = "*, " + ", ".join([f"{name}=None" for name in defaults])
        passed = ", ".join([f"{name}={name}" for name in defaults])
        absent = " and ".join([f"{name} is None" for name in defaults])
    creation, debug = _CREATION, "task._source_traceback is not None"
    if sys.version_info < UNKNOWN_SINCE and getattr(original, "__module__", "") == "asyncio.base_events":
        inlined = creation.replace("original(self, coro", "tasks.Task(coro, loop=self")
        creation, debug = f"{inlined} if {_INLINED} else {creation}", "self._debug"
    creation = creation.format(absent=absent, passed=passed)
    text = _CREATE_TASK.format(signature=signature, creation=creation, debug=debug)
    namespace: Dict[str, Any] = {
        "original": original,
        "tasks": sys.modules.get("asyncio.tasks"),
        "trim": _trim,
        "fast": COUNTS.fast,
        "count_and_sample": COUNTS.count_and_sample,
    }
    exec(compile(text, FILE, "exec"), namespace)
    return named_like(original, namespace["create_task"])


def _are_none(defaults: Dict[str, Any]) -> bool:
    return bool(defaults) and all(value is None for value in defaults.values())


def _trim(task: Any) -> None:
    """Remove the agent's frames from the creation stack that asyncio's debug mode records."""
    stack = task._source_traceback
    while stack and stack[-1].filename in (FILE, __file__):
        del stack[-1]


def counting_outcomes(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``create_task`` that also counts how tasks end."""
    create = counting(original)

    def create_task(self: Any, coro: Any, **kw: Any) -> Any:
        task = create(self, coro, **kw)
        _observe_outcome(coro, task)
        return task

    return named_like(original, create_task)


@guarded("outcomes")
def _observe_outcome(coro: Any, task: Any) -> None:
    try:
        group = COUNTS.grouping.group_of(COUNTS.grouping.counted_coro(coro, task), task)
    except Unresolved:
        return
    task.add_done_callback(partial(COUNTS.count_outcome, group))


class _Instrument:
    """Counts trio's tasks as they start and end; trio calls only the methods that are defined."""

    def __init__(self) -> None:
        self._timings: Dict[int, TimedTask] = {}
        """By ``id`` of the task."""

    @guarded("tasks")
    def task_spawned(self, task: Any) -> None:
        """Count the start of a task. Never raises."""
        group = COUNTS.grouping.group_of(task.coro, task, "trio")
        number, durations = group.count(), group.durations
        if COUNTS.timing and number >= durations.due:
            COUNTS.timed += 1
            timing = durations.choose(number, COUNTS.timed)
            if durations.add(timing):
                self._timings[id(task)] = timing
        if group.lines_due == LINES_PER_GROUP:  # the first since the last report
            group.lines_due -= 1
            group.add_sample(task, "")
            group.clock_ahead = sys.modules["trio"].current_time() - monotonic()

    @guarded("tasks")
    def task_exited(self, task: Any) -> None:
        """Count the end of a task. Never raises."""
        next(COUNTS.grouping.group_of(task.coro, task, "trio").endings)
        timing = self._timings.pop(id(task), None)
        if timing is not None:
            timing.ended()


def counting_trio(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``setup_runner``, which every way of running trio calls, that counts tasks."""

    def setup_runner(clock: Any, instruments: Any, *args: Any, **kw: Any) -> Any:
        ours = _instruments()
        if ours is not None:
            instruments = [*instruments, *ours]
        return original(clock, instruments, *args, **kw)

    return named_like(original, setup_runner)


@guarded("tasks")
def _instruments() -> Any:
    return _Instrument(), TrioHeartbeat()


def named_like(original: Any, function: Any) -> Callable[..., Any]:
    """Return ``function`` with the names and the docstring of ``original``, which it calls."""
    for name in ("__name__", "__qualname__", "__doc__"):
        setattr(function, name, getattr(original, name, None) or getattr(function, name))
    function.__wrapped__ = original
    return function  # type: ignore[no-any-return]
