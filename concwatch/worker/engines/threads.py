"""One operating system thread a task."""

from __future__ import annotations

import threading

from concwatch.worker.engines.blocking import BODIES, BlockingEngine, spin_until

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, ClassVar, Dict, Optional


class ThreadsEngine(BlockingEngine):
    """Runs each task as a ``threading.Thread``."""

    # What a thread has used before it comes to its task, above all in waiting for the interpreter's lock, is
    # part of what the task is to use.
    bodies: ClassVar[Dict[str, Callable[..., None]]] = {**BODIES, "spin": spin_until}

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
