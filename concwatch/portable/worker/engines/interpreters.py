"""A pool of interpreters, each on a thread of its own (Python 3.14)."""

from __future__ import annotations

import os
import sys
from collections import deque
from concurrent.futures import InterpreterPoolExecutor  # type: ignore[attr-defined]  # not in older ones
from functools import partial

import concwatch
from concwatch.portable.worker.engines.base import CPYTHON_COMMANDS
from concwatch.portable.worker.engines.bodies import load_body
from concwatch.portable.worker.engines.interpreter_task import PIPE_BODIES, PipeToken, run
from concwatch.portable.worker.engines.pool import ExecutorEngine
from concwatch.portable.worker.tasks.setups import Setups

TYPE_CHECKING = False
if TYPE_CHECKING:
    from concurrent.futures import Executor, Future
    from typing import Any, Callable, Deque, Optional, Tuple

    from concwatch.portable.protocol.workloads import Workload
    from concwatch.portable.worker.collector import Collector
    from concwatch.portable.worker.inbox import Waits
    from concwatch.portable.worker.tasks.setup import Setup

# A new interpreter starts with the path that the process was started with. The root is on it for one import
# only: as in the worker itself, packages beside concwatch must not be importable.
_START = (
    "import sys; sys.path[:] = [{root!r}, *{path!r}]; "
    "import concwatch.portable.worker.engines.interpreter_task; del sys.path[0]"
)


class InterpreterSetups(Setups):
    """Set-ups that each interpreter runs before its first task, since none can be shared.

    Args:
        send: sends a report.
        shut_down: ends all interpreters, each of which runs its tear-down.
    """

    def __init__(self, send: Callable[..., None], shut_down: Callable[[], None]) -> None:
        super().__init__(send)
        self._shut_down = shut_down

    def enter(self, setup: Setup) -> Waits:
        """Do nothing."""
        yield from ()
        return True

    def leave(self, setup: Setup) -> Waits:
        """End all interpreters if the process ends.

        After a change of the workload each runs its tear-down before its next task.
        """
        if setup is self.current:
            self._shut_down()
        yield from ()
        return True


class InterpretersEngine(ExecutorEngine):
    """Runs each task as a job of one ``InterpreterPoolExecutor``."""

    # Each interpreter has a garbage collector of its own; and CPython 3.14.8 crashed or hung while several
    # interpreters were traced.
    can = tuple(command for command in ExecutorEngine.can if command not in CPYTHON_COMMANDS)

    def __init__(self, send: Callable[..., None], collector: Collector) -> None:
        super().__init__(send, collector)
        self._submitted: Deque[Future[Any]] = deque()  # oldest first; the first ones may have begun
        self.setups = InterpreterSetups(send, lambda: self._executor.shutdown())
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        self._spec: Callable[[], str] = lambda: "nop"
        self._rest: Tuple[Optional[str], int, Tuple[str, ...]] = None, 1, ()
        self._job_ended_bound = partial(self._job_ended, None)  # created once, so that jobs share it

    def new_executor(self, threads: int) -> Executor:
        """Create the executor; an interpreter is created when its thread starts."""
        root = os.path.dirname(concwatch.__path__[0])
        start = _START.format(root=root, path=[folder for folder in sys.path if folder != root])
        executor: Executor = InterpreterPoolExecutor(threads, initializer=exec, initargs=(start,))
        return executor

    def load(self, workload: Workload) -> None:
        """Set the workload of new tasks; a user's function must be a plain one."""
        load_body(
            workload, PipeToken(self._read_end), PIPE_BODIES, self.running_target
        )  # raises if it is wrong
        spec, durations = workload.spec, workload.durations(self.running_target)
        # Drawn here: interpreters that drew their own durations would all draw the same ones.
        self._spec = (lambda: f"sleep:{durations():.6f}") if durations else (lambda: spec)
        self._rest = workload.url, workload.addresses, workload.arguments

    def start_one(self, created: Optional[float] = None) -> None:
        """Submit one job. Raises `RuntimeError` if its thread could not be started."""
        with self._lock:
            future = self._executor.submit(run, self._read_end, self._spec(), *self._rest)
            self._submitted.append(future)
        self._drop_started()
        future.add_done_callback(
            self._job_ended_bound if created is None else partial(self._job_ended, created)
        )

    def _drop_started(self) -> None:
        with self._lock:
            while self._submitted and (self._submitted[0].running() or self._submitted[0].done()):
                self._submitted.popleft()

    def queued(self) -> int:
        """Return the number of jobs that wait for a thread."""
        self._drop_started()
        return len(self._submitted)

    def _job_ended(self, created: Optional[float], job: Future[Any]) -> None:
        if job.cancelled():
            return
        error = job.exception()
        if error is not None:
            self.failures.add(error)  # before the count that refers to it
            self.count_ended("failed")
            return
        how, begun, ended = job.result()
        if created is not None:  # when it began is known only now, unlike in other engines
            self.timing.record_start(created, begun)
            if how == "completed":
                self.timing.record_completion(begun, ended)
        self.count_ended(how)

    def _cancel_newest(self) -> bool:
        """Cancel the newest waiting job; return whether there was one."""
        with self._lock:
            while self._submitted:
                if self._submitted.pop().cancel():
                    self.counts.cancelled += 1
                    return True
        return False

    def _withdraw(self) -> int:
        """Cancel all waiting jobs without counting them; return how many."""
        with self._lock:
            jobs, self._submitted = self._submitted, deque()
        return sum(job.cancel() for job in jobs)

    # Each byte in the pipe cancels one task; ``_cancelling`` includes it until the task has been counted.

    def _cancel_running(self) -> None:
        with self._lock:
            count = -self.tracker.wanted(self.occupied, self._cancelling)
            if count > 0:
                self._cancelling += os.write(self._write_end, bytes(count))

    def _retract_cancellations(self) -> None:
        """Read cancellations back that no task has read yet and that are no longer wanted."""
        with self._lock:
            while self._cancelling and self.tracker.wanted(self.occupied, self._cancelling - 1) >= 0:
                try:
                    os.read(self._read_end, 1)
                except BlockingIOError:
                    break
                self._cancelling -= 1

    def set_target(self, target: int, now: float) -> None:
        """Set a new target; no more tasks than necessary are cancelled."""
        super().set_target(target, now)
        self._retract_cancellations()

    def count_ended(self, how: str) -> None:
        """Count a task that ended; another one may be spared for it."""
        super().count_ended(how)
        self._retract_cancellations()
