"""The base of engines whose tasks each block a thread, and the engine ``threads``."""

from __future__ import annotations

import threading
from functools import partial
from time import monotonic, sleep

from concwatch.portable.agent.memory.memory_maps import HEAP, OTHER
from concwatch.portable.worker.engines.base import SLICE, BaseEngine
from concwatch.portable.worker.engines.bodies import BODIES, TaskCancelled, load_body, spin_until

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, ClassVar, Dict, Iterable, List, Optional, Set

    from concwatch.portable.protocol.workloads import Workload
    from concwatch.portable.worker.collector import Collector
    from concwatch.portable.worker.engines.task_sockets import TaskSocket
    from concwatch.portable.worker.inbox import Waits

    Body = Callable[[], object]

LONGEST_WAIT = min(threading.TIMEOUT_MAX, 4_000_000.0)

SIGNAL_WAIT = 0.5
"""Seconds between checks for signals: a signal that comes just before the wait does not end it."""


class LockToken:
    """A cancellation token of many blocked tasks, which cancels any one of them, with a single lock for all.

    Every task sleeps by trying to acquire one lock, which is held. To cancel a task the lock is released:
    exactly one sleeper acquires it. If too many tasks are live, that one ends and releases the lock for the
    next; otherwise it goes back to sleep and the lock stays held. No task needs a handle of its own, so a
    sleeping thread takes no more memory than in ``time.sleep``, but can be woken.

    A task that waits for its connection is cancelled by shutting that down.
    """

    def __init__(self, excess: Callable[[], bool]) -> None:
        self._excess = excess
        self._lock = threading.Lock()
        self._lock.acquire()
        self._releasing = threading.Lock()  # also protects the set of connections
        self._connections: Set[TaskSocket] = set()

    def release(self) -> None:
        """Wake one sleeper, unless one is already being woken; cancel one task that has a connection."""
        with self._releasing:
            if self._lock.locked():
                self._lock.release()
            if self._connections and self._excess():
                self._connections.pop().interrupt()

    def socket_opener(self) -> Callable[[], Any]:
        """Return a function that creates the socket of a task."""
        from concwatch.portable.worker.engines.task_sockets import TaskSocket  # imports socket

        return partial(TaskSocket, self)

    def add_connection(self, connection: TaskSocket) -> None:
        """Add the connection of the calling task.

        Raises:
            TaskCancelled: this task has been cancelled.
        """
        with self._releasing:
            self.check()
            self._connections.add(connection)

    def drop_connection(self, connection: TaskSocket) -> None:
        """Forget a connection whose task ends."""
        with self._releasing:
            self._connections.discard(connection)

    def sleep(self, seconds: float) -> None:
        """Sleep for ``seconds``.

        Raises:
            TaskCancelled: this task has been cancelled.
        """
        deadline = monotonic() + seconds
        rest = seconds
        # Positional arguments: keywords would cost each sleeper a dict of 230 bytes.
        while rest > 0 and self._lock.acquire(True, min(rest, LONGEST_WAIT)):
            self.check()
            rest = deadline - monotonic()

    def check(self) -> None:
        """Check whether too many tasks are live.

        Raises:
            TaskCancelled: they are, and this task has been cancelled.
        """
        if self._excess():
            raise TaskCancelled

    def wait(self) -> None:
        """Sleep until cancelled; raises `TaskCancelled` then."""
        while True:
            self._lock.acquire()
            self.check()


class BlockingEngine(BaseEngine):
    """Runs tasks that block threads; subclasses decide how a task gets its thread."""

    bodies: ClassVar[Dict[str, Callable[..., None]]] = {
        **BODIES,
        "sleep": LockToken.sleep,
        "hold": LockToken.wait,
    }
    """Workload → the function that a task runs."""

    older_refused = "only an event loop has them"  # threads begin when they are started

    def __init__(self, send: Callable[..., None], collector: Collector) -> None:
        super().__init__(send, collector)
        self._awake = threading.Event()
        self._lock = threading.Lock()  # protects the counters: task threads end concurrently
        self._cancelling = 0  # tasks being cancelled that are not counted as cancelled yet
        self._starting = 0  # tasks being started by those that they replace, which have been counted as ended
        self._token = LockToken(self._claim)
        self._body: Body = self._token.check
        # The C library loads its unwinding code when the first thread ends; with no memory left it would
        # abort the process then.
        first = threading.Thread(target=int)
        first.start()
        first.join()
        self.task: Body = self.run_task
        """`run_task`, bound once: a bound method per thread would take 64 bytes more."""

    def wake(self) -> None:
        """Wake the engine, from any thread."""
        if not self._awake.is_set():
            self._awake.set()

    def load(self, workload: Workload) -> None:
        """Set the workload of new tasks; a user's function must be a plain one."""
        body = load_body(workload, self._token, self.bodies, self.running_target)
        with self._lock:
            self.tracker.replace(self.occupied)
        self._body = body  # last: a task that reads it finds that it is to be replaced

    def serve(self) -> None:
        """Hold the target."""
        for wait in self.hold_target():
            if wait is None:
                self._wait()
            elif isinstance(wait, list):
                while self.counts.live:
                    self._wait()
                    self._apply_at_once()
            else:
                sleep(wait)

    def _apply_at_once(self) -> None:
        """Apply commands, none of which waits for anything, since tasks end on their own threads."""
        for wait in self.inbox.apply():
            raise AssertionError(wait)

    def _wait(self) -> None:
        """Wait until woken."""
        while not self._awake.wait(SIGNAL_WAIT):
            pass
        self._awake.clear()

    def start_one(self, created: Optional[float] = None) -> None:
        """Start one task; time it if ``created`` (seconds, monotonic) is given.

        Raises:
            RuntimeError: no thread could be started.
            MemoryError: out of memory.
        """
        raise NotImplementedError

    def _start_chosen(self) -> None:
        self.start_one(self.timing.choose())

    @property
    def occupied(self) -> int:
        """Live tasks, and those about to be started in place of one that has ended."""
        return self.counts.live + self._starting

    def allow_replacements(self, count: int, wanted: int) -> None:
        """Let ``count`` tasks be replaced as they complete."""
        with self._lock:
            super().allow_replacements(count, wanted)

    def wanted(self) -> int:
        """Return how many tasks to create now, or, if negative, to cancel."""
        with self._lock:
            return self.tracker.wanted(self.occupied)

    def _claim(self) -> bool:
        """Claim one cancellation of the excess; return whether there was one left."""
        with self._lock:
            if self.tracker.wanted(self.occupied, self._cancelling) >= 0:
                return False
            self._cancelling += 1
            return True

    def grow(self, wanted: int) -> Waits:
        """Start some of the ``wanted`` tasks; they run concurrently, so there is nothing to wait for."""
        began = monotonic()
        made = 0
        self.collector.before_slice()
        while made < wanted and monotonic() - began < SLICE and self._start_counted(self._start_chosen):
            made += 1
        self.collector.after_slice()
        yield from ()
        return True

    def shrink(self, excess: int) -> Waits:
        """Cancel ``excess`` tasks; each task that ends wakes the engine."""
        self._shrink(excess)
        yield from ()
        return False

    def _shrink(self, count: int) -> None:
        """Cancel ``count`` tasks without waiting for their end."""
        self._token.release()

    def create_list(self, count: int, older: List[Any]) -> List[Any]:
        """Start and count ``count`` tasks without a pause, up to a limit."""
        for _ in range(count):
            if not self._start_counted(self.start_one):
                break
        return []

    def _start_counted(self, start: Callable[[], None]) -> bool:
        """Start one task and count it; return False if that hit a limit."""
        try:
            start()
        except (RuntimeError, MemoryError) as error:
            self.limits.hit(error)
            return False
        with self._lock:
            self.counts.created += 1
            self.tracker.created(1)
        return True

    def run_task(self, created: Optional[float] = None) -> None:
        """Run one task on the calling thread and count how it ended; time it if ``created`` is given."""
        ended = "completed"
        error: Optional[BaseException] = None
        body = self._body
        try:
            if self.tracker.replacing:  # it has not begun, and is of the workload before
                self._token.check()
            if created is not None:
                begun = monotonic()
                self.timing.record_start(created, begun)
            body()
            if created is not None:
                self.timing.record_completion(begun, monotonic())
        except TaskCancelled:
            ended = "cancelled"
        except BaseException as failure:  # a task may raise anything
            ended, error = "failed", failure
        if error is not None:
            self.failures.add(error)  # before the count that refers to it
        self.count_ended(ended)

    def count_ended(self, how: str) -> None:
        """Count a task that has ``completed``, ``failed`` or been ``cancelled``; wake the next to cancel."""
        with self._lock:
            setattr(self.counts, how, getattr(self.counts, how) + 1)
            if how == "cancelled":
                self._cancelling -= 1
            wanted = self.tracker.wanted(self.occupied, self._cancelling)
            replaced = how == "completed" and wanted > 0 and self.replacements > 0
            if replaced:
                self.replacements -= 1
                self._starting += 1
                created = self.timing.choose()
        if replaced and self._replace(created) and not self.tracker.pending:
            return
        if wanted < 0:
            self._token.release()
        self.wake()

    def _replace(self, created: Optional[float]) -> bool:
        """Start a task in place of one that has just completed; return whether that is all there is to do."""
        started = False
        try:
            self.start_one(created)
            started = True
        except (RuntimeError, MemoryError):
            pass  # this thread still exists: without it, the engine may be able to start one
        with self._lock:
            self._starting -= 1
            self.counts.created += started
            return started


def set_stack_size(size: int) -> None:
    """Set the stack size, in bytes, of threads started from now on; 0 for the system's default.

    Raises:
        ValueError: the system does not allow this size.
    """
    try:
        threading.stack_size(size)
    except (ValueError, OverflowError):
        raise ValueError(
            f"a stack cannot have {size} bytes; expected 0, or 32,768 and more, in pages"
        ) from None


class ThreadsEngine(BlockingEngine):
    """Runs each task as a ``threading.Thread``."""

    can = (*BlockingEngine.can, "stack")

    native: ClassVar[Dict[str, str]] = {
        OTHER: "Python frames (data stack)",
        HEAP: "thread state and locks (C heap)",
    }

    # The CPU time that a thread has used before its task begins, mostly waiting for the GIL, counts as the
    # task's.
    bodies: ClassVar[Dict[str, Callable[..., None]]] = {**BlockingEngine.bodies, "spin": spin_until}

    def set_stack(self, size: int) -> None:
        """Set the stack size, in bytes, of threads started from now on."""
        set_stack_size(size)

    def tasks(self) -> Iterable[threading.Thread]:
        """Return the threads of all live tasks; those of the worker itself have names of their own."""
        return [thread for thread in threading.enumerate() if thread.name.startswith("Thread-")]

    def start_one(self, created: Optional[float] = None) -> None:
        """Start one thread. Raises `RuntimeError` at a limit."""
        threading.Thread(target=self.task, args=() if created is None else (created,), daemon=True).start()

    def create_list(self, count: int, older: List[Any]) -> List[Any]:
        """Create all threads, then start them, and keep them, as a program that joins them does."""
        threads = [threading.Thread(target=self.task, daemon=True) for _ in range(count)]
        for thread in threads:
            if not self._start_counted(thread.start):
                break
        return threads
