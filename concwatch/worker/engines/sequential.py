"""No concurrency at all: what every other engine is held against."""

from __future__ import annotations

import threading
from collections import deque

from concwatch.worker.engines.base import Engine
from concwatch.worker.engines.blocking import BlockingEngine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Deque, Optional, Tuple

    from concwatch.worker.collector import Collector


class SequentialEngine(BlockingEngine):
    """Runs one task after another on one thread of its own; those that wait are a number, nothing else."""

    can = Engine.can  # its one thread stands already: there is no stack to set

    def __init__(self, send: Callable[..., None], collector: Collector) -> None:
        super().__init__(send, collector)
        self._waiting = self._begun = 0
        self._timed: Deque[Tuple[int, float]] = deque()  # of those that wait: place in line, when created
        self._begin = threading.Condition(self._guard)
        threading.Thread(target=self._run, name="tasks", daemon=True).start()

    def set_stack(self, size: int) -> None:
        """Refuse: no thread is started from now on."""
        Engine.set_stack(self, size)

    def queued(self) -> int:
        """Tasks that wait for their turn."""
        return self._waiting

    def start_one(self, created: Optional[float] = None) -> None:
        """Have one more task wait for its turn."""
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
        with self._guard:
            # Counted anew: the running one may have ended since ``count`` was.
            excess = -self.goal.wanted(self.counts.live, self._cancelling)
            waiting = max(0, min(excess, self._waiting))
            self._waiting -= waiting  # the last in line
            while self._timed and self._timed[-1][0] > self._begun + self._waiting:
                self._timed.pop()
            self.counts.cancelled += waiting
        if excess > waiting:
            super()._shrink(excess - waiting)
        self.wake()
