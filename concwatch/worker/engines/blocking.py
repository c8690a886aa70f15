"""Tasks that block a thread of their own while they run: what the thread engines share."""

from __future__ import annotations

import threading
from functools import partial
from time import monotonic, thread_time

from concwatch.worker.engines.base import SLICE, Engine
from concwatch.worker.workloads import USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, Optional

    from concwatch.worker.collector import Collector
    from concwatch.worker.workloads import Workload

    Body = Callable[[], object]

LONGEST_WAIT = min(threading.TIMEOUT_MAX, 4_000_000.0)


SPINS_A_CHECK = 2_000
"""Empty turns, some 50 µs, between two looks at whether a spinning task is to end."""


class Cancelled(BaseException):
    """Raised inside a task that is to end now."""


class Baton:
    """Ends any one of many blocked tasks, at the cost of one lock for all of them.

    Every task sleeps by trying to acquire one lock, which is held. To end a task the lock is released: just
    one sleeper gets it. If too many are still live that one ends and passes the lock on, else it sleeps on
    and the lock stays held. No task needs a handle of its own, so a sleeping thread weighs what
    ``time.sleep`` weighs, and can be woken all the same.
    """

    def __init__(self, excess: Callable[[], bool]) -> None:
        self._excess = excess
        self._lock = threading.Lock()
        self._lock.acquire()
        self._guard = threading.Lock()

    def release(self) -> None:
        """Wake one sleeper, if none is being woken already."""
        with self._guard:
            if self._lock.locked():
                self._lock.release()

    def sleep(self, seconds: float) -> None:
        """Sleep that long.

        Raises:
            Cancelled: this task is the one to end.
        """
        deadline = monotonic() + seconds
        rest = seconds
        while rest > 0 and self._lock.acquire(timeout=min(rest, LONGEST_WAIT)):
            self.check()
            rest = deadline - monotonic()

    def check(self) -> None:
        """End this task if too many are live.

        Raises:
            Cancelled: this task is the one to end.
        """
        if self._excess():
            raise Cancelled

    def wait(self) -> None:
        """Sleep until ended; raises `Cancelled` then."""
        while True:
            self._lock.acquire()
            self.check()


def _ticks(baton: Baton, count: int, seconds: float) -> None:
    for _ in range(count):
        baton.sleep(seconds)


def _payload(baton: Baton, size: int) -> None:
    held = b"\xff" * size  # zeros would be pages that nobody ever touched
    baton.wait()
    del held


def _spin(baton: Baton, seconds: float) -> None:
    end = thread_time() + seconds
    while thread_time() < end:
        baton.check()
        for _ in range(SPINS_A_CHECK):
            pass


def _nop(baton: Baton) -> None:
    pass


BODIES: Dict[str, Callable[..., None]] = {
    "sleep": Baton.sleep,
    "ticks": _ticks,
    "hold": Baton.wait,
    "payload": _payload,
    "spin": _spin,
    "nop": _nop,
}


class BlockingEngine(Engine):
    """Runs tasks that block threads; how a task gets its thread is up to the engines below."""

    def __init__(self, send: Callable[..., None], collector: Collector) -> None:
        super().__init__(send, collector)
        self._awake = threading.Event()
        self._guard = threading.Lock()  # over the counters: task threads end side by side
        self._cancelling = 0  # tasks told to end that have not been counted yet
        self._baton = Baton(self._claim)
        self._body: Body = partial(_nop, self._baton)

    def wake(self) -> None:
        """Wake the engine, from any thread."""
        if not self._awake.is_set():
            self._awake.set()

    def load(self, workload: Workload) -> None:
        """Make ``workload`` what new tasks do; the user's own must be a plain function."""
        if workload.word == USER:
            from concwatch.worker.user_function import (
                find_function,
            )  # with inspect behind it, only for who asks

            self._body = find_function(workload, coroutine=False)
        else:
            self._body = partial(BODIES[workload.word], self._baton, *workload.values)

    def serve(self) -> None:
        """Hold the goal."""
        while True:
            self._awake.wait()
            self._awake.clear()
            self.apply_commands()
            while True:
                wanted = self._wanted()
                if wanted > 0:
                    self._grow(wanted)
                elif wanted < 0:
                    self._shrink(-wanted)
                    break  # each task that ends wakes us
                self.apply_commands()
                if wanted == 0:
                    break
                self.tell_reached()
            self.tell_reached()

    def start_one(self) -> None:
        """Start one task.

        Raises:
            RuntimeError: no thread could be started.
            MemoryError: there is no memory for it.
        """
        raise NotImplementedError

    def _wanted(self) -> int:
        with self._guard:
            return self.goal.wanted(self.counts.live)

    def _claim(self) -> bool:
        """Take one task's share of the excess, if there is any left."""
        with self._guard:
            if self.goal.wanted(self.counts.live - self._cancelling) >= 0:
                return False
            self._cancelling += 1
            return True

    def _grow(self, wanted: int) -> None:
        began = monotonic()
        made = 0
        while made < wanted and monotonic() - began < SLICE:
            try:
                self.start_one()
            except (RuntimeError, MemoryError) as error:
                self.hit_wall(error)
                break
            with self._guard:
                self.counts.created += 1
                self.goal.created(1)
            made += 1
        self.collector.after_slice()

    def _shrink(self, count: int) -> None:
        """Have ``count`` tasks end; returns before they have."""
        self._baton.release()

    def run_task(self) -> None:
        """Run one task on the calling thread and count how it ended."""
        ended = "completed"
        error: Optional[BaseException] = None
        try:
            self._body()
        except Cancelled:
            ended = "cancelled"
        except BaseException as failure:  # whatever a task raises, its thread ends here
            ended, error = "failed", failure
        if error is not None:
            self.tell_failure(error)  # before it is counted: who reads the count finds the reason
        self.count_ended(ended)

    def count_ended(self, how: str) -> None:
        """Count a task that ended as ``completed``, ``failed`` or ``cancelled``, and pass the baton on."""
        with self._guard:
            setattr(self.counts, how, getattr(self.counts, how) + 1)
            if how == "cancelled":
                self._cancelling -= 1
            more = self.goal.wanted(self.counts.live - self._cancelling) < 0
        if more:
            self._baton.release()
        self.wake()
