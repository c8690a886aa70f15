"""trio's tasks, told by the instrument that trio has for that."""

from __future__ import annotations

from .counting import COUNTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


class _Instrument:
    """Counts beginnings and ends; trio calls what is defined, and nothing else."""

    def task_spawned(self, task: Any) -> None:
        """Count a task."""
        try:
            group = COUNTS.of(task.coro, task, "trio")
            if group.tell_end is None:
                group.follow_ends()
            group.tell_new()
            if len(group.noted) < 2:
                group.note(task, "")
        except Exception:
            pass

    def task_exited(self, task: Any) -> None:
        """Count its end."""
        try:
            group = COUNTS.of(task.coro, task, "trio")
            if group.tell_end is not None:
                group.tell_end()
        except Exception:
            pass


def running(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``trio.run`` that has the tasks counted."""

    def run(*args: Any, **kw: Any) -> Any:
        try:
            instruments = [*kw.get("instruments", ()), _Instrument()]
        except Exception:
            return original(*args, **kw)
        return original(*args, **{**kw, "instruments": instruments})

    run.__name__, run.__doc__ = "run", original.__doc__
    run.__wrapped__ = original  # type: ignore[attr-defined]
    return run
