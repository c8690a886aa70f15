"""What tasks that block a thread do, however they are cancelled."""

from __future__ import annotations

from functools import partial
from time import thread_time

from concwatch.portable.protocol.workloads import SLEEPS
from concwatch.portable.worker.tasks.callables import load_callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict

    from concwatch.portable.protocol.workloads import Workload

    Bodies = Dict[str, Callable[..., None]]

SPINS_PER_CHECK = 2_000
"""Loop iterations, about 50 µs, between two checks whether a spinning task has been cancelled."""


class TaskCancelled(BaseException):
    """Raised inside a task that has been cancelled."""


# Each is called with its token: it sleeps on it, and is cancelled by it raising `TaskCancelled`.


def _ticks(token: Any, count: int, seconds: float) -> None:
    for _ in range(count):
        token.sleep(seconds)


def _payload(token: Any, size: int) -> None:
    held = b"\xff" * size  # zeros would be pages that are never touched
    token.wait()
    del held


def _spin(token: Any, seconds: float) -> None:
    spin_until(token, thread_time() + seconds)


def spin_until(token: Any, end: float) -> None:
    """Use CPU time until this thread has used ``end`` seconds of it."""
    while thread_time() < end:
        token.check()
        for _ in range(SPINS_PER_CHECK):
            pass


def _nop(token: Any) -> None:
    pass


BODIES: Bodies = {"ticks": _ticks, "payload": _payload, "spin": _spin, "nop": _nop}
"""Workload → the function that a task runs; ``sleep`` and ``hold`` are methods of the token."""


def load_body(
    workload: Workload, token: Any, bodies: Bodies, running: Callable[[], int]
) -> Callable[[], object]:
    """Return what a task of ``workload`` calls; a user's function must be a plain one.

    ``running`` returns how many tasks are to run at once.

    Raises:
        ValueError: one line that says what is missing.
    """
    own = load_callable(workload, coroutine=False, token=token)
    if own:
        return own
    body, durations = bodies[SLEEPS.get(workload.word, workload.word)], workload.durations(running)
    if durations:
        return lambda: body(token, durations())
    return partial(body, token, *workload.values)
