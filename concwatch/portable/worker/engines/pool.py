"""Engines on a pool: their base, and the pool of threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import count

from concwatch.portable.agent.memory.memory_maps import HEAP
from concwatch.portable.worker.engines.blocking import BlockingEngine, set_stack_size
from concwatch.portable.worker.threads import default_threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from concurrent.futures import Executor, Future
    from typing import Callable, ClassVar, Dict, Iterable, List, Optional

    from concwatch.portable.worker.collector import Collector

MAX_THREADS = 100_000


class ExecutorEngine(BlockingEngine):
    """Runs each task as a job of an executor, whose number of threads can be set."""

    can = (*BlockingEngine.can, "stack", "threads")

    def __init__(self, send: Callable[..., None], collector: Collector) -> None:
        super().__init__(send, collector)
        self._threads = default_threads()
        self._executor = self.new_executor(self._threads)

    def new_executor(self, threads: int) -> Executor:
        """Create the executor."""
        raise NotImplementedError

    def flags(self) -> List[str]:
        """Return the number of threads."""
        return [f"{self._threads} threads"]

    def running_target(self) -> int:
        """Return how many jobs are to run at once."""
        return min(self.tracker.target, self._threads)

    def set_stack(self, size: int) -> None:
        """Set the stack size, in bytes, of threads started from now on."""
        set_stack_size(size)

    def _shrink(self, excess: int) -> None:
        """Cancel the newest waiting jobs first, then running ones if there are still too many."""
        while excess > 0 and self._cancel_newest():
            excess -= 1
        if excess > 0:
            self._cancel_running()
        self.wake()

    def _cancel_newest(self) -> bool:
        """Cancel and count the newest waiting job; return whether there was one."""
        raise NotImplementedError

    def _cancel_running(self) -> None:
        """Cancel running jobs while there are too many."""
        raise NotImplementedError

    def _withdraw(self) -> int:
        """Cancel all waiting jobs without counting them; return how many."""
        raise NotImplementedError

    def set_threads(self, count: int) -> None:
        """Set the number of threads: waiting jobs move to new threads, running ones end on the old."""
        if not 1 <= count <= MAX_THREADS:
            raise ValueError(
                f"a pool cannot have {count} threads; expected a number from 1 to {MAX_THREADS:,}"
            )
        new = self.new_executor(count)
        with self._lock:  # jobs that end on the old threads are replaced on the new ones
            old, self._executor, self._threads = self._executor, new, count
        moving = self._withdraw()
        old.shutdown(wait=False, cancel_futures=True)
        for moved in range(moving):
            try:
                self.start_one()
            except (RuntimeError, MemoryError) as error:
                with self._lock:
                    self.counts.cancelled += moving - moved
                self.limits.hit(error)
                break


class PoolEngine(ExecutorEngine):
    """Runs each task as a job of one ``ThreadPoolExecutor``."""

    native: ClassVar[Dict[str, str]] = {HEAP: "locks (C heap)"}

    def __init__(self, send: Callable[..., None], collector: Collector) -> None:
        super().__init__(send, collector)
        self._waiting: Dict[int, Future[None]] = {}  # jobs not begun, by number, oldest first
        self._numbers = count()

    def new_executor(self, threads: int) -> Executor:
        """Create the executor."""
        return ThreadPoolExecutor(threads)

    def queued(self) -> int:
        """Return the number of jobs that wait for a thread."""
        return len(self._waiting)

    def tasks(self) -> Iterable[Future[None]]:
        """Return the jobs that wait for a thread: nearly all."""
        with self._lock:
            return list(self._waiting.values())

    def start_one(self, created: Optional[float] = None) -> None:
        """Submit one job. Raises `RuntimeError` if its thread could not be started."""
        # The executor queues a job before it fails to start a thread. Another thread may still run it, but
        # its number is not waiting, so that it does nothing.
        with self._lock:
            number = next(self._numbers)
            # Every argument takes 16 bytes more per job.
            self._waiting[number] = self._executor.submit(
                self._run_job, number, *(() if created is None else (created,))
            )

    def _run_job(self, number: int, created: Optional[float] = None) -> None:
        with self._lock:
            begun = self._waiting.pop(number, None)
        if begun is not None:
            self.run_task(created)

    def _cancel_running(self) -> None:
        self._token.release()

    def _cancel_newest(self) -> bool:
        """Cancel the newest waiting job; return whether there was one."""
        with self._lock:
            if not self._waiting:
                return False
            _, future = self._waiting.popitem()
            self.counts.cancelled += 1
        future.cancel()
        return True

    def _withdraw(self) -> int:
        """Cancel all waiting jobs without counting them; return how many."""
        with self._lock:
            moving = len(self._waiting)
            self._waiting.clear()
        return moving
