"""Count leftover tasks: those pending when the main coroutine of their loop ends, or when it is closed.

``asyncio.run`` and the plugins of test frameworks cancel such tasks before they close a loop, so that they
cannot be found afterwards. For that, they run the loop once more. Such a run is recognized because it begins
when the main coroutine has ended and all pending tasks have been cancelled.
"""

from __future__ import annotations

import sys
from _weakref import ref
from time import monotonic

from ..basics.guard import guarded
from ..blocking.heartbeat import TIMERS
from ..counting.counting import COUNTS
from .replacements import named_like

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple

MAX_CANCELLED = 1_000
"""The most cancelled tasks of a loop that are watched until they have ended."""

DESTROYED = "Task was destroyed but it is pending!"
"""The message with which asyncio reports a pending task that was destroyed."""

COMPLETE, FOREVER = "run_until_complete", "run_forever"

LEFT_OVER = "leftover tasks"
"""The figures that these hooks count."""

CALLBACK = "_run_until_complete_cb"
"""The name of asyncio's function that stops the loop, for one that was running before the agent started."""

ANYIO_RUNNER = "TestRunner._run_tests_and_fixtures"
"""The coroutine function in which AnyIO's pytest plugin runs tests: it ends when the loop is closed."""

GENERATOR_CLOSED = "async_generator_athrow"
"""The type of ``aclose()`` of an asynchronous generator. asyncio creates a task for it when an ``async for``
was left by ``break``, which nobody else can wait for."""


class _Loop:
    """The state of one event loop."""

    def __init__(self, loop: Any) -> None:
        number = id(loop)
        self.reference = ref(loop, lambda _: _loops.pop(number, None))
        self.run = ""
        """The method by which it was last run: `COMPLETE` or `FOREVER`."""
        self.entered = False
        """Whether `COMPLETE` has called `FOREVER` in the last run."""
        self.main_done = False
        """Whether the main coroutine of the last run has ended."""
        self.counted: Dict[int, Any] = {}
        """Weak references to the tasks that were counted, by ``id``."""
        self.witness: Optional[Callable[[], Any]] = None
        """A weak reference to a pending task that was not cancelled when the loop was last run."""
        self.shutdown = 0.0
        """When the loop was run so that cancelled tasks end; 0 before."""
        self.cancelled: List[Any] = []
        """Weak references to these tasks."""


_loops: Dict[int, _Loop] = {}
"""By ``id``."""


def _known(loop: Any) -> _Loop:
    found = _loops.get(id(loop))
    if found is None:
        found = _loops.setdefault(id(loop), _Loop(loop))
    return found


def _pending(loop: Any) -> List[Any]:
    """Return the pending tasks of a loop that have not been counted."""
    counted = _known(loop).counted
    tasks = sys.modules["asyncio.tasks"].all_tasks(loop)
    return [task for task in tasks if (counted[id(task)]() if id(task) in counted else None) is not task]


def _count(loop: Any, tasks: List[Any]) -> None:
    known = _known(loop)
    known.counted = {number: task for number, task in known.counted.items() if task() is not None}
    for task in tasks:
        known.counted[id(task)] = ref(task)
        if hasattr(type(task), "get_coro"):  # not of a custom class that has none
            _count_task(task)


@guarded(LEFT_OVER)
def _count_task(task: Any) -> None:
    coro = task.get_coro()
    if getattr(coro, "__qualname__", "") != ANYIO_RUNNER and type(coro).__name__ != GENERATOR_CLOSED:
        COUNTS.unfinished.add_left_over(task, COUNTS.group_of_task(task), COUNTS.lines.of(task))


def _is_cancelled(task: Any) -> bool:
    """Return whether a pending task has been cancelled."""
    cancelling = getattr(task, "cancelling", None)
    if cancelling is not None:
        return bool(cancelling() > 0)
    while task is not None:  # up to Python 3.10: it, or what it waits for, or what that waits for
        if getattr(task, "_must_cancel", False) or getattr(task, "_cancel_requested", False):
            return True
        task = getattr(task, "_fut_waiter", None)
        if task is not None and task.cancelled():
            return True
    return False


def _main_exited() -> bool:
    """Return whether the main coroutine has ended with the current exception, which does not stop the loop.

    ``sys.exit()`` raises one. After Ctrl-C, up to Python 3.10, the main coroutine is still pending.
    """
    error = sys.exc_info()[1]
    trace = error.__traceback__ if isinstance(error, (SystemExit, KeyboardInterrupt)) else None
    while trace is not None:
        frame, trace = trace.tb_frame, trace.tb_next
        if frame.f_code.co_name == COMPLETE:
            main = frame.f_locals.get("future")
            return main is not None and bool(main.done())
    return False


def _pause_heartbeat(loop: Any) -> None:
    """End what a loop has been running, because it stops."""
    beat = TIMERS.get(id(loop))
    if beat is not None and beat.measures(loop):
        beat.pause()


@guarded(LEFT_OVER)
def _before_run(loop: Any) -> None:
    """Count the leftover tasks if the loop is about to run only for their cancellation. Never raises."""
    _pause_heartbeat(loop)  # its last run may have ended with an exception
    known = _known(loop)
    if known.main_done or _main_exited():
        witness = known.witness() if known.witness is not None else None
        if witness is None or witness.done() or _is_cancelled(witness):
            tasks = _pending(loop)
            witness = next((task for task in tasks if not _is_cancelled(task)), None)
            known.witness = None if witness is None else ref(witness)
            if witness is None:
                _count(loop, tasks)
                known.shutdown, known.cancelled = monotonic(), [ref(task) for task in tasks[:MAX_CANCELLED]]
    known.run, known.entered, known.main_done = COMPLETE, False, False


def shutdowns() -> List[Tuple[float, List[Any]]]:
    """Return since when loops have waited for cancelled tasks, and those tasks, which have not ended."""
    found = []
    copies = COUNTS.loops.copies()
    for known in list(_loops.values()):
        if known.reference() in copies:  # it waits in the parent
            continue
        tasks = [task for task in [reference() for reference in known.cancelled] if task is not None]
        tasks = [task for task in tasks if not task.done()]
        if tasks:
            found.append((known.shutdown, tasks))
        else:
            known.cancelled = []
    return found


@guarded(LEFT_OVER)
def _before_forever(loop: Any) -> None:
    """Begin to measure the loop, and remember how it runs. Never raises."""
    beat = TIMERS.get(id(loop))
    if beat is not None and beat.measures(loop):
        beat.resume()
    known = _known(loop)
    if known.run == COMPLETE and not known.entered:
        known.entered = True
    else:
        known.run, known.main_done = FOREVER, False


class _Before:
    """A descriptor of a method that calls a function whenever the method is accessed, to be called.

    That function never raises. One in the method's place would show in all tracebacks that pass through it.
    """

    def __init__(self, original: Any, before: Callable[[Any], None]) -> None:
        self._original = original
        self._before = before

    def __get__(self, loop: Any, owner: Any = None) -> Any:
        if loop is not None:
            self._before(loop)
        return self._original.__get__(loop, owner)


@guarded(LEFT_OVER)
def _before_stop(loop: Any) -> None:
    # A loop that runs until its main coroutine is complete is stopped by the end of that coroutine.
    run = _known(loop).run or sys._getframe(3).f_code.co_name  # what has called ``stop``
    _known(loop).main_done = run in (COMPLETE, CALLBACK)
    _pause_heartbeat(loop)


def _stop(original: Any) -> Any:
    def stop(self: Any) -> Any:
        _before_stop(self)
        return original(self)

    return named_like(original, stop)


@guarded(LEFT_OVER)
def _before_close(loop: Any) -> None:
    if not loop.is_running() and not loop.is_closed():
        _pause_heartbeat(loop)
        _count(loop, _pending(loop))


def _close(original: Any) -> Any:
    def close(self: Any) -> Any:
        _before_close(self)
        return original(self)

    return named_like(original, close)


@guarded("destroyed tasks")
def _before_handler(context: Any) -> None:
    if context.get("message") == DESTROYED:
        COUNTS.unfinished.add_destroyed(COUNTS.group_of_task(context["task"]))


def _call_exception_handler(original: Any) -> Any:
    def call_exception_handler(self: Any, context: Any) -> Any:
        _before_handler(context)
        return original(self, context)

    return named_like(original, call_exception_handler)


LOOP_METHODS: Dict[str, Callable[[Any], Any]] = {
    COMPLETE: lambda original: _Before(original, _before_run),
    FOREVER: lambda original: _Before(original, _before_forever),
    "stop": _stop,
    "close": _close,
    "call_exception_handler": _call_exception_handler,
}
"""The methods of event loops that are replaced, and what replaces them."""
