"""Wrappers: coroutines that run another one, created by task factories, AnyIO and subclasses of event loops.

The tasks of a wrapper count as those of the function that it wraps. Nothing here reads ``f_locals``: up to
Python 3.12, that leaves a copy of the locals in the frame, which keeps alive everything that a failing task
held.
"""

from __future__ import annotations

import gc
import sys
from opcode import opname
from sys import intern

from ..basics.own_code import is_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Callable, List, Optional, Tuple

ANYIO = ("_run_coro", "_run_wrapped_task")
"""AnyIO's coroutine functions that run each task's own coroutine."""

ANYIO_START = "run_coro_with_task_status"
"""The function that ``TaskGroup.start`` runs on trio: it holds the task's function, and calls it later."""

INLINE_FRAMES = sys.version_info >= (3, 11)
"""Whether a coroutine refers to its variables directly, rather than to a frame that does."""

MAX_DEPTH = 10
"""The most nested wrappers that are followed."""


async def _coroutine() -> None:
    pass


_example = _coroutine()
CoroutineType = type(_example)
_example.close()
CellType = type((lambda cell: lambda: cell)(0).__closure__[0])  # type: ignore[index]


async def _asynchronous_generator() -> Any:
    yield


COROUTINES: Tuple[type, ...] = (CoroutineType, type(_ for _ in ()), type(_asynchronous_generator()))
"""The types of coroutines, generators and asynchronous generators."""

_GET_AWAITABLE = opname.index("GET_AWAITABLE")


def code_of(coro: object) -> Optional[CodeType]:
    """Return the code of a coroutine or generator; None if it has none."""
    for name in ("cr_code", "gi_code", "ag_code"):
        code = getattr(coro, name, None)
        if code is not None and hasattr(code, "co_firstlineno"):
            return code  # type: ignore[no-any-return]
    return None


KINDS = (
    ("cr_code", "cr_await", "cr_frame"),
    ("gi_code", "gi_yieldfrom", "gi_frame"),
    ("ag_code", "ag_await", "ag_frame"),
)
"""The attributes of coroutines, generators and asynchronous generators: code, awaited object, frame."""


def kind_of(awaitable: Any) -> Optional[Tuple[str, str, str]]:
    """Return the names of these attributes for an awaitable; None if it is of another kind."""
    return next((kind for kind in KINDS if hasattr(type(awaitable), kind[0])), None)


def stands_for(awaitable: Any) -> Any:
    """Return the coroutine or generator that an awaitable of another kind refers to; None without one.

    Such as ``aclose()`` of a generator, or the request of an HTTP client.
    """
    for one in gc.get_referents(awaitable):
        for value in list(one.values()) if type(one) is dict else (one,):
            if kind_of(value) is not None:
                return value
    return None


def is_decorated(coro: Any, code: CodeType) -> bool:
    """Return whether the name of a coroutine differs from that of its code, as after `functools.wraps`."""
    return getattr(coro, "__name__", code.co_name) != code.co_name


def decorated_code(coro: Any) -> Optional[CodeType]:
    """Return the code of the function after which a decorator has named its coroutine; None if not found."""
    for one in _referents(coro):
        try:
            function = one.cell_contents if type(one) is CellType else None
        except ValueError:  # it is empty
            continue
        if getattr(function, "__qualname__", None) != coro.__qualname__:
            continue
        for _ in range(MAX_DEPTH):  # decorators of decorated functions
            function = getattr(function, "__wrapped__", function)
        return getattr(function, "__code__", None)
    return None


def is_wrapper(coro: Any, code: CodeType) -> bool:
    """Return whether a coroutine awaits one that was passed to it, as an argument or in its closure."""
    if code.co_name in (*ANYIO, ANYIO_START) and is_of("anyio", code.co_filename):
        return True
    return _awaits_parameter(code) and wrapped_by(coro) is not None


def function_code(coro: Any) -> Optional[CodeType]:
    """Return the code of the function that AnyIO's ``start`` was given; None for another coroutine."""
    if getattr(code_of(coro), "co_name", "") != ANYIO_START:
        return None
    for one in _referents(coro):
        if type(one) is CellType:
            try:
                function: Any = one.cell_contents
            except ValueError:  # it is empty
                continue
            found = code_of_function(function)
            if found is not None:
                return found
    return None


def code_of_function(function: Any) -> Optional[CodeType]:
    """Return the code of a function or method, or of what a partial or decorator wraps; None without one."""
    function = getattr(function, "func", function)  # of a partial
    for _ in range(MAX_DEPTH):  # decorators
        function = getattr(function, "__wrapped__", function)
    return getattr(getattr(function, "__func__", function), "__code__", None)


def key_of_greenlet(greenlet: Any) -> Any:
    """Return the code of the function that a greenlet runs, or its name if it has none."""
    run = greenlet._run
    thread: Any = getattr(run, "__self__", None)
    if hasattr(type(thread), "_bootstrap"):  # a thread of a program that gevent has patched
        run = getattr(thread, "_target", None) or type(thread).run
    return code_of_function(run) or intern(getattr(run, "__qualname__", "") or type(run).__qualname__)


def _awaits_parameter(code: CodeType) -> bool:
    """Return whether a function contains ``await NAME`` for one of its parameters or free variables."""
    every = code.co_code  # read once: since Python 3.11, each time makes a copy
    units = every[::2]
    at = units.find(_GET_AWAITABLE)
    while at > 0:
        before = at - 1
        while before and not units[before]:  # an inline cache
            before -= 1
        name, value = opname[units[before]], every[2 * before + 1]
        if "LOAD_FAST" in name:
            number = value & 15 if name.count("_FAST") > 1 else value  # two instructions in one
            if number < code.co_argcount + code.co_kwonlyargcount:
                return True
        elif name in ("LOAD_DEREF", "LOAD_CLASSDEREF") and value >= _first_free(code):
            return True
        at = units.find(_GET_AWAITABLE, at + 1)
    return False


def _first_free(code: CodeType) -> int:
    """Return the number of the first free variable, as instructions have it."""
    cells = [name for name in code.co_cellvars if not INLINE_FRAMES or name not in code.co_varnames]
    return len(cells) + (code.co_nlocals if INLINE_FRAMES else 0)


def wrapped_by(coro: Any) -> Any:
    """Return the coroutine that a wrapper was given; None if the wrapper has ended or is running."""
    own = isinstance(coro, CoroutineType)
    referents = _referents(coro)
    for look in (_direct, _in_cell, _in_awaitable if own else _in_attributes):
        for one in referents:
            found = look(one)
            if found is not None and found is not coro:
                return found
    awaited = getattr(coro, "cr_await", None)
    return awaited if isinstance(awaited, CoroutineType) else None


def _referents(coro: Any) -> List[Any]:
    """Return what a coroutine refers to, including its variables."""
    own = isinstance(coro, CoroutineType)
    return gc.get_referents(coro.cr_frame if own and not INLINE_FRAMES else coro)


def _direct(one: Any) -> Any:
    """Return an object if it is a coroutine, including those of Cython and of the program's classes."""
    kind = type(one)
    return one if kind is CoroutineType or (hasattr(kind, "__await__") and hasattr(kind, "send")) else None


def _in_cell(one: Any) -> Any:
    try:
        return _direct(one.cell_contents) if type(one) is CellType else None
    except ValueError:  # it is empty
        return None


def _in_awaitable(one: Any) -> Any:
    """Return the coroutine of AnyIO's task handle, or of another awaitable that is not a future."""
    kind = type(one)
    if kind.__module__.startswith("anyio"):
        return _direct(getattr(one, "_coro", None))
    if not hasattr(kind, "__await__") or hasattr(kind, "_asyncio_future_blocking"):
        return None
    return next(filter(None, map(_in_attributes, gc.get_referents(one))), None)


def _in_attributes(one: Any) -> Any:
    values: List[Any] = list(one.values()) if type(one) is dict else [one]
    return next(filter(None, map(_direct, values)), None)


def running_code(coro: Any, is_known: Callable[[CodeType], bool]) -> Optional[CodeType]:
    """Return the code that a wrapper has called; None unless it is running, in any thread.

    Args:
        coro: the wrapper.
        is_known: returns whether a code is that of a wrapper.
    """
    own = getattr(coro, "cr_frame", None)
    if own is None or not coro.cr_running:
        return None
    for frame in sys._current_frames().values():
        called: Optional[CodeType] = None
        at: Any = frame
        while at is not None and at is not own:
            if not is_known(at.f_code):
                called = at.f_code
            at = at.f_back
        if at is own:
            return called
    return None
