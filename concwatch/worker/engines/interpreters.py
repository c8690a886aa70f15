"""Jobs for a pool of interpreters, each on a thread of its own (Python 3.14)."""

from __future__ import annotations

import os
import sys
from collections import deque
from concurrent.futures import InterpreterPoolExecutor  # type: ignore[attr-defined]  # not in older ones
from functools import partial

import concwatch
from concwatch.worker.engines.base import CPYTHONS
from concwatch.worker.engines.bodies import find_body
from concwatch.worker.engines.inside import BODIES_HERE, PipeBaton, run
from concwatch.worker.engines.pool import PoolEngine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor
    from typing import Any, Callable, Deque, Optional

    from concwatch.worker.collector import Collector
    from concwatch.worker.workloads import Workload

# Another interpreter begins with the path that the process was started with. The root is on it for one import
# only: as in the worker itself, packages beside concwatch are not to be found there.
_START = (
    "import sys; sys.path[:] = [{root!r}, *{path!r}]; import concwatch.worker.engines.inside; del sys.path[0]"
)


class InterpretersEngine(PoolEngine):
    """Runs each task as a job of one ``InterpreterPoolExecutor``."""

    # Each interpreter has a collector of its own; and CPython 3.14.8 crashed, or stood still, while several
    # were traced.
    can = tuple(command for command in PoolEngine.can if command not in CPYTHONS)

    def __init__(self, send: Callable[..., None], collector: Collector) -> None:
        super().__init__(send, collector)
        self._submitted: Deque[Future[Any]] = deque()  # the oldest first; those in front may have begun
        self._taken, self._told = os.pipe()
        os.set_blocking(self._taken, False)
        self._spec: Callable[[], str] = lambda: "nop"
        self._url: Optional[str] = None
        self._job_ended_bound = partial(self._job_ended, None)  # made once, so that jobs share it

    def new_executor(self, threads: int) -> ThreadPoolExecutor:
        """Make what runs the jobs; an interpreter is made when its thread starts."""
        root = os.path.dirname(concwatch.__path__[0])
        start = _START.format(root=root, path=[folder for folder in sys.path if folder != root])
        executor: ThreadPoolExecutor = InterpreterPoolExecutor(threads, initializer=exec, initargs=(start,))
        return executor

    def load(self, workload: Workload) -> None:
        """Make ``workload`` what new tasks do; the user's own must be a plain function."""
        find_body(workload, PipeBaton(self._taken), BODIES_HERE)  # to refuse here what is wrong
        spec, lengths = workload.spec, workload.lengths
        # As part of the workload: lengths of each interpreter's own would be spread alike in all of them.
        self._spec = (lambda: f"sleep:{lengths():.6f}") if lengths else (lambda: spec)
        self._url = workload.url

    def start_one(self, created: Optional[float] = None) -> None:
        """Submit one job; raises `RuntimeError` when its first thread could not be started."""
        future = self._executor.submit(run, self._taken, self._spec(), self._url)
        with self._guard:
            self._submitted.append(future)
        self._forget_begun()
        future.add_done_callback(
            self._job_ended_bound if created is None else partial(self._job_ended, created)
        )

    def _forget_begun(self) -> None:
        with self._guard:
            while self._submitted and (self._submitted[0].running() or self._submitted[0].done()):
                self._submitted.popleft()

    def queued(self) -> int:
        """Jobs that wait for a thread."""
        self._forget_begun()
        return len(self._submitted)

    def _job_ended(self, created: Optional[float], job: Future[Any]) -> None:
        if job.cancelled():
            return
        error = job.exception()
        if error is not None:
            self.report_failure(error)  # before it is counted: who reads the count finds the reason
            self.count_ended("failed")
            return
        how, begun, ended = job.result()
        if created is not None:
            self.timing.begun(created, begun)
            if how == "completed":
                self.timing.completed(begun, ended)
        self.count_ended(how)

    def _cancel_newest(self) -> bool:
        """Cancel the newest of the jobs that wait; return whether there was one."""
        with self._guard:
            while self._submitted:
                if self._submitted.pop().cancel():
                    self.counts.cancelled += 1
                    return True
        return False

    def _withdraw(self) -> int:
        """Take all jobs back that wait, uncounted; return how many."""
        with self._guard:
            jobs, self._submitted = self._submitted, deque()
        return sum(job.cancel() for job in jobs)

    # Each byte in the pipe is a task being cancelled: ``_cancelling`` counts it until the task is counted.

    def _cancel_running(self) -> None:
        with self._guard:
            count = -self.goal.wanted(self.counts.live, self._cancelling)
            if count > 0:
                self._cancelling += os.write(self._told, bytes(count))

    def _spare(self) -> None:
        """Take back what no task has read yet of more endings than are wanted now."""
        with self._guard:
            while self._cancelling and self.goal.wanted(self.counts.live, self._cancelling - 1) >= 0:
                try:
                    os.read(self._taken, 1)
                except BlockingIOError:
                    break
                self._cancelling -= 1

    def ask(self, target: int, now: float) -> None:
        """Take a new target; no more tasks than it wants are cancelled."""
        super().ask(target, now)
        self._spare()

    def count_ended(self, how: str) -> None:
        """Count a task that ended; another one may live for it."""
        super().count_ended(how)
        self._spare()
