"""When a timer ends what a task waits for."""

from __future__ import annotations

from ..basics.part import FOR_EVER
from ..counting.awaits import referents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Optional

    from ..counting.awaits import Wait

TIMERS = ("TimerHandle", "Timeout", "CancelScope")
"""The classes of variables that say when a wait ends: of asyncio, uvloop, trio, AnyIO and async-timeout."""

MAX_SECONDS = 1e9
"""Seconds from which a deadline counts as none."""


def timer(wait: Wait, now: float) -> Optional[float]:
    """Return the seconds until a timer ends what a task waits for; None if there is none.

    `FOR_EVER` if the only timer is a sleep for ever.

    Args:
        wait: what it waits for.
        now: the time, on the clock of its event loop.
    """
    found: Optional[float] = None
    for _, awaitable, frame_name in wait.frames:
        for value in variables(awaitable, frame_name):
            when = _deadline(value)
            if when is None:
                continue
            near = when < MAX_SECONDS + now
            if near or type(value).__name__ == "TimerHandle":  # otherwise it is a scope without a deadline
                left = max(0.0, when - now) if near else FOR_EVER
                found = left if found is None else min(found, left)
    return found


def variables(awaitable: Any, frame_name: str) -> List[Any]:
    """Return the variables of a coroutine or generator, and the context managers that it has entered."""
    found = []
    for value in referents(awaitable, frame_name):
        if type(value).__name__ == "method":  # the ``__exit__`` or ``__aexit__`` of a context manager
            value = value.__self__
        if type(value).__name__ == "_GeneratorContextManager":  # such as ``trio.fail_after``
            found += variables(value.gen, "gi_frame")
        else:
            found.append(value)
    return found


def _deadline(value: Any) -> Optional[float]:
    """Return when a timer fires, on the clock of its loop; None if ``value`` is not a timer that is set."""
    if type(value).__name__ not in TIMERS:
        return None
    try:
        when = value.when() if hasattr(value, "when") else value.deadline
        return None if when is None else float(when)
    # A scope that has not been entered yet, or another class of this name.
    except (AttributeError, RuntimeError, TypeError, ValueError):
        return None
