"""What stands in place of the program's own functions: each calls the one it replaces, and counts."""

from __future__ import annotations

import sys

from .counting import COUNTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict

FILE = "<concwatch/agent>"

_CREATE_TASK = """
def create_task(self, coro, {signature}):
    task = {creation}
    try:
        if task._source_traceback is not None:
            trim(task)
        fast[id(coro.cr_code)]()
    except Exception:
        meet(coro, task)
    try:
        return task
    finally:
        del task  # an eager task that fails refers to this frame, as in asyncio's own
"""

_TASK = "tasks.Task(coro, loop=self, {passed}) if self._task_factory is None and not self._closed else "
"""What asyncio's own ``create_task`` does up to Python 3.13: a call and three checks less."""


def counting(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``create_task`` that does what ``original`` does, and counts.

    It has the keywords of ``original`` where they are known: on Python 3.13 passing ``**kw`` on takes a
    quarter of a microsecond.
    """
    code, defaults = getattr(original, "__code__", None), getattr(original, "__kwdefaults__", None) or {}
    signature = passed = "**kw"
    creation = "original(self, coro, {passed})"
    if code is not None and not code.co_flags & 0x0C and code.co_argcount == 2 and _are_none(defaults):
        signature = "*, " + ", ".join([f"{name}=None" for name in defaults])
        passed = ", ".join([f"{name}={name}" for name in defaults])
        if getattr(original, "__module__", "") == "asyncio.base_events":
            creation = _TASK + creation
    text = _CREATE_TASK.format(signature=signature, creation=creation.format(passed=passed))
    space: Dict[str, Any] = {
        "original": original,
        "tasks": sys.modules.get("asyncio.tasks"),
        "trim": _trim,
        "fast": COUNTS.fast,
        "meet": COUNTS.meet,
    }
    exec(compile(text, FILE, "exec"), space)
    return _named(space["create_task"], original)


def _are_none(defaults: Dict[str, Any]) -> bool:
    return bool(defaults) and all(value is None for value in defaults.values())


def _trim(task: Any) -> None:
    """Take the agent's lines off the stack that asyncio's debug mode has kept of a task's creation."""
    stack = task._source_traceback
    while stack and stack[-1].filename in (FILE, __file__):
        del stack[-1]


def counting_outcomes(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``create_task`` that counts how tasks end, too."""
    create = counting(original)

    def create_task(self: Any, coro: Any, **kw: Any) -> Any:
        task = create(self, coro, **kw)
        try:
            task.add_done_callback(_count_outcome)
        except Exception:
            pass
        return task

    return _named(create_task, original)


def _count_outcome(task: Any) -> None:
    try:
        group = COUNTS.of(task.get_coro(), task)
        if task.cancelled():
            group.cancelled += 1
        # exception() would mark it as retrieved, and asyncio would not complain of one that nobody saw.
        elif getattr(task, "_exception", None) is not None:
            group.failed += 1
        else:
            group.completed += 1
    except Exception:
        pass


class _Instrument:
    """Counts tasks of trio as they begin and end; trio calls what is defined, and nothing else."""

    def task_spawned(self, task: Any) -> None:
        """Count a task."""
        try:
            group = COUNTS.of(task.coro, task, "trio")
            next(group.counter)
            if len(group.noted) < 2:
                group.note(task, "")
        except Exception:
            pass

    def task_exited(self, task: Any) -> None:
        """Count its end."""
        try:
            next(COUNTS.of(task.coro, task, "trio").endings)
        except Exception:
            pass


def counting_trio(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``trio.run`` whose tasks are counted."""

    def run(*args: Any, **kw: Any) -> Any:
        try:
            kw = {**kw, "instruments": [*kw.get("instruments", ()), _Instrument()]}
        except Exception:
            pass
        return original(*args, **kw)

    return _named(run, original)


def _named(function: Any, original: Any) -> Callable[..., Any]:
    for name in ("__name__", "__qualname__", "__doc__"):
        setattr(function, name, getattr(original, name, None) or getattr(function, name))
    function.__wrapped__ = original
    return function  # type: ignore[no-any-return]
