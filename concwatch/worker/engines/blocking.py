"""Tasks that block a thread of their own while they run: what the thread engines share."""

from __future__ import annotations

import threading
from time import monotonic, sleep

from concwatch.worker.engines.base import SLICE, Engine
from concwatch.worker.engines.bodies import BODIES, Cancelled, find_body, spin_until

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, ClassVar, Dict, List, Optional

    from concwatch.worker.burst import Burst
    from concwatch.worker.collector import Collector
    from concwatch.worker.engines.base import Waits
    from concwatch.worker.workloads import Workload

    Body = Callable[[], object]

LONGEST_WAIT = min(threading.TIMEOUT_MAX, 4_000_000.0)

SIGNAL_WAIT = 0.5
"""Seconds after which a waiting engine looks up: a signal that came just before the wait does not end it."""


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
        # By position: a keyword would have each sleeper hold a dict of 230 bytes.
        while rest > 0 and self._lock.acquire(True, min(rest, LONGEST_WAIT)):
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


class BlockingEngine(Engine):
    """Runs tasks that block threads; how a task gets its thread is up to the engines below."""

    can = (*Engine.can, "stack")

    bodies: ClassVar[Dict[str, Callable[..., None]]] = {**BODIES, "sleep": Baton.sleep, "hold": Baton.wait}
    """Workload → what a task does."""

    def __init__(self, send: Callable[..., None], collector: Collector) -> None:
        super().__init__(send, collector)
        self._awake = threading.Event()
        self._guard = threading.Lock()  # over the counters: task threads end side by side
        self._cancelling = 0  # tasks being cancelled, which have not been counted yet
        self._baton = Baton(self._claim)
        self._body: Body = self._baton.check
        # The C library loads what unwinds a thread when the first one ends. With no memory left it would
        # abort then, and so would the whole worker.
        first = threading.Thread(target=int)
        first.start()
        first.join()
        self.task: Body = self.run_task
        """`run_task`, bound once: a bound method for each thread would be 64 bytes more."""

    def wake(self) -> None:
        """Wake the engine, from any thread."""
        if not self._awake.is_set():
            self._awake.set()

    def load(self, workload: Workload) -> None:
        """Make ``workload`` what new tasks do; the user's own must be a plain function."""
        self._body = find_body(workload, self._baton, self.bodies)

    def set_stack(self, size: int) -> None:
        """Set the bytes of stack of threads started from now on."""
        try:
            threading.stack_size(size)
        except (ValueError, OverflowError):
            raise ValueError(f"a stack of {size} bytes: expected 0, or 32,768 and more, in pages") from None

    def serve(self) -> None:
        """Hold the goal."""
        for wait in self.hold():
            if wait is None:
                self._wait()
            elif isinstance(wait, list):
                while self.counts.live:
                    self._wait()
                    self.apply_commands()
            else:
                sleep(wait)

    def _wait(self) -> None:
        """Wait until woken."""
        while not self._awake.wait(SIGNAL_WAIT):
            pass
        self._awake.clear()

    def start_one(self, created: Optional[float] = None) -> None:
        """Start one task, timed if ``created`` is given (seconds, monotonic).

        Raises:
            RuntimeError: no thread could be started.
            MemoryError: there is no memory for it.
        """
        raise NotImplementedError

    def _start_chosen(self) -> None:
        self.start_one(self.timing.chosen())

    def wanted(self) -> int:
        """Return how many tasks to create now, or, if negative, to cancel."""
        with self._guard:
            return super().wanted()

    def _claim(self) -> bool:
        """Take one task's share of the excess, if there is any left."""
        with self._guard:
            if self.goal.wanted(self.counts.live, self._cancelling) >= 0:
                return False
            self._cancelling += 1
            return True

    def grow(self, wanted: int) -> Waits:
        """Start some of the tasks wanted; they run meanwhile, so that nothing is to be waited for."""
        began = monotonic()
        made = 0
        self.collector.before_slice()
        while made < wanted and monotonic() - began < SLICE and self._start_counted(self._start_chosen):
            made += 1
        self.collector.after_slice()
        yield from ()
        return True

    def shrink(self, excess: int) -> Waits:
        """Have the excess end: each task that does wakes the engine."""
        self._shrink(excess)
        yield from ()
        return False

    def _shrink(self, count: int) -> None:
        """Have ``count`` tasks end; returns before they have."""
        self._baton.release()

    def ask_burst(self, burst: Burst) -> None:
        """Have a burst run; threads begin when they are started, so there is no ``older`` here."""
        if burst.older:
            raise ValueError("older tasks that have not begun: only an event loop has them")
        super().ask_burst(burst)

    def create_list(self, count: int, older: List[Any]) -> List[Any]:
        """Start and count so many tasks without a pause, up to a wall."""
        for _ in range(count):
            if not self._start_counted(self.start_one):
                break
        return []

    def _start_counted(self, start: Callable[[], None]) -> bool:
        """Start one task and count it; return whether there was no wall."""
        try:
            start()
        except (RuntimeError, MemoryError) as error:
            self.hit_wall(error)
            return False
        with self._guard:
            self.counts.created += 1
            self.goal.created(1)
        return True

    def run_task(self, created: Optional[float] = None) -> None:
        """Run one task on the calling thread and count how it ended; time it if ``created`` is given."""
        ended = "completed"
        error: Optional[BaseException] = None
        try:
            if created is not None:
                begun = monotonic()
                self.timing.begun(created, begun)
            self._body()
            if created is not None:
                self.timing.completed(begun, monotonic())
        except Cancelled:
            ended = "cancelled"
        except BaseException as failure:  # whatever a task raises, its thread ends here
            ended, error = "failed", failure
        if error is not None:
            self.report_failure(error)  # before it is counted: who reads the count finds the reason
        self.count_ended(ended)

    def count_ended(self, how: str) -> None:
        """Count a task that ended as ``completed``, ``failed`` or ``cancelled``, and pass the baton on."""
        with self._guard:
            setattr(self.counts, how, getattr(self.counts, how) + 1)
            if how == "cancelled":
                self._cancelling -= 1
            more = self.goal.wanted(self.counts.live, self._cancelling) < 0
        if more:
            self._baton.release()
        self.wake()


class ThreadsEngine(BlockingEngine):
    """Runs each task as a ``threading.Thread``."""

    # What a thread has used before it comes to its task, above all in waiting for the interpreter's lock, is
    # part of what the task is to use.
    bodies: ClassVar[Dict[str, Callable[..., None]]] = {**BlockingEngine.bodies, "spin": spin_until}

    def start_one(self, created: Optional[float] = None) -> None:
        """Start one thread; raises `RuntimeError` at a wall."""
        threading.Thread(target=self.task, args=() if created is None else (created,), daemon=True).start()

    def create_list(self, count: int, older: List[Any]) -> List[Any]:
        """Make all threads, then start them, and keep them, as who joins them later does."""
        threads = [threading.Thread(target=self.task, daemon=True) for _ in range(count)]
        for thread in threads:
            if not self._start_counted(thread.start):
                break
        return threads
