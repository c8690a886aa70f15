"""What runs in each interpreter of a pool: its task, and how that is cancelled from outside."""

from __future__ import annotations

import os
import select
from functools import partial
from time import monotonic

from concwatch.portable.protocol.workloads import USER, parse
from concwatch.portable.worker.engines.bodies import BODIES, TaskCancelled, load_body
from concwatch.portable.worker.tasks.failures import PLACE, place_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple

    from concwatch.portable.protocol.workloads import Workload
    from concwatch.portable.worker.engines.bodies import Bodies
    from concwatch.portable.worker.tasks.setup import Setup

LONGEST_WAIT = 1_000_000.0


class PipeToken:
    """Cancels blocked tasks in any interpreter: each byte in a pipe cancels the task that reads it.

    Interpreters cannot share a lock, but a file descriptor. ``end`` is the pipe's read end, non-blocking.
    """

    def __init__(self, end: int) -> None:
        self.end = end

    def sleep(self, seconds: float) -> None:
        """Sleep for ``seconds``. Raises `TaskCancelled` if this task is cancelled."""
        deadline = monotonic() + seconds
        while seconds > 0 and select.select((self.end,), (), (), min(seconds, LONGEST_WAIT))[0]:
            self.check()
            seconds = deadline - monotonic()

    def check(self) -> None:
        """Raise `TaskCancelled` if a task is to be cancelled and no other task has read that."""
        try:
            os.read(self.end, 1)
        except BlockingIOError:
            return
        raise TaskCancelled

    def wait(self) -> None:
        """Sleep until cancelled; raises `TaskCancelled` then."""
        while True:
            self.sleep(LONGEST_WAIT)

    def socket_opener(self) -> Callable[[], Any]:
        """Return a function that creates the socket of a task."""
        from concwatch.portable.worker.engines.task_sockets import PolledSocket  # imports socket

        return partial(PolledSocket, self)


PIPE_BODIES: Bodies = {**BODIES, "sleep": PipeToken.sleep, "hold": PipeToken.wait}

_setups: List[Setup] = []
"""The set-up of the last task's workload, if it has one."""

_body: Dict[Tuple[object, ...], Callable[[], object]] = {}
"""The function of the last task, cached: most tasks have the same workload."""


def _change_setup(workload: Workload) -> None:
    """Run the tear-down of the workload before, and the set-up of a function of the user, if there are any.

    Raises:
        ValueError: one line: one of them failed.
    """
    _body.clear()
    _leave()
    if workload.word == USER:
        from concwatch.portable.worker.tasks.user_function import load_setup  # imports inspect

        setup = load_setup(workload, coroutine=False)
        if setup is not None:
            import atexit  # of this interpreter

            setup.enter()
            _setups.append(setup)
            atexit.unregister(_leave)
            atexit.register(_leave)
            workload.call = setup.call


def _leave() -> None:
    while _setups:
        _setups.pop().leave()


def run(
    end: int, spec: str, url: Optional[str], addresses: int, arguments: Tuple[str, ...]
) -> Tuple[str, float, float]:
    """Run one task; return how it ended, when it began, and when it ended (seconds, monotonic).

    Args:
        end: the read end of a `PipeToken`.
        spec: the workload.
        url: what ``http`` fetches, or the address that ``connect`` connects to.
        addresses: how many addresses ``connect`` connects to in turn.
        arguments: the arguments of the user's function.
    """
    key = (end, spec, url, addresses, arguments)
    if key not in _body:
        workload = parse(spec)
        workload.url, workload.addresses, workload.arguments = url, addresses, arguments
        _change_setup(workload)
        _body[key] = load_body(workload, PipeToken(end), PIPE_BODIES, int)
    begun = monotonic()
    try:
        _body[key]()
    except TaskCancelled:
        return "cancelled", begun, monotonic()
    except BaseException as error:
        setattr(error, PLACE, place_of(error.__traceback__))  # its traceback stays in this interpreter
        raise
    return "completed", begun, monotonic()
