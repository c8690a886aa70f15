"""One operating system thread a task."""

from __future__ import annotations

import threading

from concwatch.worker.engines.blocking import BlockingEngine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional


class ThreadsEngine(BlockingEngine):
    """Runs each task as a ``threading.Thread``."""

    def start_one(self, created: Optional[float] = None) -> None:
        """Start one thread; raises `RuntimeError` at a wall."""
        threading.Thread(target=self.task, args=() if created is None else (created,), daemon=True).start()

    def start_many(self, count: int) -> object:
        """Make all threads, then start them, and keep them, as who joins them later does."""
        threads = [threading.Thread(target=self.task, daemon=True) for _ in range(count)]
        for thread in threads:
            if not self._start_counted(thread.start):
                break
        return threads
