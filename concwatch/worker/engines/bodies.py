"""What tasks that block a thread do, whatever ends them."""

from __future__ import annotations

from functools import partial
from time import thread_time

from concwatch.worker.workloads import find_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict

    from concwatch.worker.workloads import Workload

    Bodies = Dict[str, Callable[..., None]]

SPINS_A_CHECK = 2_000
"""Empty turns, some 50 µs, between two looks at whether a spinning task is to end."""


class Cancelled(BaseException):
    """Raised inside a task that is to end now."""


# Each is called with its baton: what it sleeps on, and what ends it by raising `Cancelled`.


def _ticks(baton: Any, count: int, seconds: float) -> None:
    for _ in range(count):
        baton.sleep(seconds)


def _payload(baton: Any, size: int) -> None:
    held = b"\xff" * size  # zeros would be pages that nobody ever touched
    baton.wait()
    del held


def _spin(baton: Any, seconds: float) -> None:
    spin_until(baton, thread_time() + seconds)


def spin_until(baton: Any, end: float) -> None:
    """Use CPU time until this thread has had ``end`` seconds of it."""
    while thread_time() < end:
        baton.check()
        for _ in range(SPINS_A_CHECK):
            pass


def _nop(baton: Any) -> None:
    pass


BODIES: Bodies = {"ticks": _ticks, "payload": _payload, "spin": _spin, "nop": _nop}
"""Workload → what a task does; ``sleep`` and ``hold`` are the baton's own methods."""


def find_body(workload: Workload, baton: Any, bodies: Bodies) -> Callable[[], object]:
    """Return what a task of ``workload`` calls; the user's own must be a plain function.

    Raises:
        ValueError: what is missing, in one line.
    """
    own = find_own(workload, coroutine=False)
    if own:
        return own
    body, lengths = bodies[workload.word], workload.lengths
    if lengths:
        return lambda: body(baton, lengths())
    return partial(body, baton, *workload.values)
