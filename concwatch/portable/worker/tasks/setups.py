"""The set-ups that a worker has entered: that of its workload, and those of earlier ones."""

from __future__ import annotations

from time import monotonic, sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, List, Optional

    from concwatch.portable.worker.inbox import Change, Waits
    from concwatch.portable.worker.tasks.setup import Setup

FINISH_LIMIT = 1.0
"""Seconds that tasks have to end, and then the tear-down of the user's function, before the process ends."""


class Setups:
    """Enters the set-ups of workloads, and leaves each once no task of it is live."""

    def __init__(self, send: Callable[..., None]) -> None:
        self._send = send
        self.current: Optional[Setup] = None
        """That of the workload."""
        self.old: List[Setup] = []
        """Those of earlier workloads, while tasks of them are live."""

    def enter(self, setup: Setup) -> Waits:
        """Run the set-up of a function of the user.

        Raises:
            ValueError: one line: it failed.
        """
        setup.enter()
        yield from ()
        return True

    def leave(self, setup: Setup) -> Waits:
        """Run the tear-down of a function of the user.

        Raises:
            ValueError: one line: it failed.
        """
        setup.leave()
        yield from ()
        return True

    def replace(self, setup: Optional[Setup]) -> None:
        """Use ``setup``, which has been entered, for new tasks."""
        if self.current is not None:
            self.old.append(self.current)
        self.current = setup

    def leave_old(self) -> Waits:
        """Run the tear-downs of earlier workloads, whose tasks have ended."""
        while self.old:
            try:
                yield from self.leave(self.old.pop())
            except ValueError as error:
                self._send("error", command=None, message=str(error)[:1000], detail=None)
        return True

    def finish(self, submit: Callable[[Change], None], stop: Change, ended: Callable[[], bool]) -> None:
        """Before the process ends: end the tasks of the user's function, then run its tear-down, if any.

        Args:
            submit: calls a function on the engine's thread.
            stop: stops all tasks.
            ended: returns whether they have ended.

        Raises:
            ValueError: one line: the tear-down failed.
        """
        setup = self.current
        if setup is None:
            return
        stopped: List[bool] = []
        submit(stop)
        submit(lambda: stopped.append(True))
        _wait_until(lambda: bool(stopped) and ended())  # until it is applied, tasks that end are replaced
        problems: List[Optional[ValueError]] = []

        def leave() -> Waits:
            try:
                yield from self.leave(setup)
                problems.append(None)
            except ValueError as error:
                problems.append(error)
            return True

        submit(leave)
        _wait_until(lambda: bool(problems))
        if problems and problems[0] is not None:
            raise problems[0]


def _wait_until(condition: Callable[[], bool]) -> None:
    """Wait until ``condition`` is true, for `FINISH_LIMIT` seconds at most."""
    deadline = monotonic() + FINISH_LIMIT
    while not condition() and monotonic() < deadline:
        sleep(0.01)
