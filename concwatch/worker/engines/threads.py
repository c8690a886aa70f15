"""One operating system thread a task."""

from __future__ import annotations

import threading

from concwatch.worker.engines.blocking import BlockingEngine


class ThreadsEngine(BlockingEngine):
    """Runs each task as a ``threading.Thread``."""

    def start_one(self) -> None:
        """Start one thread; raises `RuntimeError` at a wall."""
        threading.Thread(target=self.run_task, daemon=True).start()
