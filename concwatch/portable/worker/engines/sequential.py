"""No concurrency at all: the baseline for the other engines."""

from __future__ import annotations

import threading
from collections import deque

from concwatch.portable.worker.engines.blocking import BlockingEngine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Deque, Optional, Tuple

    from concwatch.portable.worker.collector import Collector


class SequentialEngine(BlockingEngine):
    """Runs one task after another on a single thread; waiting tasks are only a counter."""

    can = tuple(command for command in BlockingEngine.can if command != "anatomy")  # a task is only a number

    def __init__(self, send: Callable[..., None], collector: Collector) -> None:
        super().__init__(send, collector)
        self._waiting = self._begun = 0
        # Position in the queue and time of creation of the waiting tasks that are timed.
        self._timed: Deque[Tuple[int, float]] = deque()
        self._begin = threading.Condition(self._lock)
        threading.Thread(target=self._run, name="tasks", daemon=True).start()

    def queued(self) -> int:
        """Return the number of tasks that wait for their turn."""
        return self._waiting

    def running_target(self) -> int:
        """Return how many tasks are to run at once."""
        return 1

    def start_one(self, created: Optional[float] = None) -> None:
        """Queue one task."""
        with self._begin:
            self._waiting += 1
            if created is not None:
                self._timed.append((self._begun + self._waiting, created))
            self._begin.notify()

    def _run(self) -> None:
        while True:
            with self._begin:
                while not self._waiting:
                    self._begin.wait()
                self._waiting -= 1
                self._begun += 1
                timed = self._timed and self._timed[0][0] == self._begun
                created = self._timed.popleft()[1] if timed else None
            self.run_task(created)

    def _shrink(self, count: int) -> None:
        """Cancel waiting tasks first, then the running one if it is still too many."""
        with self._lock:
            # Recomputed: the running task may have ended since ``count`` was computed.
            excess = -self.tracker.wanted(self.occupied, self._cancelling)
            waiting = max(0, min(excess, self._waiting))
            self._waiting -= waiting  # the last ones in the queue
            while self._timed and self._timed[-1][0] > self._begun + self._waiting:
                self._timed.pop()
            self.counts.cancelled += waiting
        if excess > waiting:
            super()._shrink(excess - waiting)
        self.wake()
