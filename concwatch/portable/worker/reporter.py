"""The reporter thread, which sends a worker's ticks."""

from __future__ import annotations

import sys
import threading
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional

    from concwatch.portable.worker.collector import Collector
    from concwatch.portable.worker.engines.base import BaseEngine

if sys.platform != "win32":
    import resource

MIN_RATE, MAX_RATE = 0.1, 100.0
"""Ticks per second."""


class TickReporter:
    """Sends ticks from a thread of its own, so that they flow while the engine is busy."""

    def __init__(self, send: Callable[..., None], engine: BaseEngine, collector: Collector) -> None:
        self._send = send
        self._engine = engine
        self._collector = collector
        self._interval = 0.1
        self._sent = 0
        self._next_usage = 0.0  # when to read CPU time and context switches again
        self._soon = threading.Event()
        self._busy = threading.Lock()  # held while a tick is built, whose allocations are not a task's
        self.memory: Callable[[], Dict[str, int]] = dict
        """Returns ``traced`` and ``tracer`` in bytes while tracing, else an empty dict."""

    def traced(self) -> Optional[int]:
        """Return the bytes traced while no tick is being built, or None while nothing is traced."""
        with self._busy:
            return self.memory().get("traced")

    def set_rate(self, hz: float) -> None:
        """Set the number of ticks per second."""
        self._interval = 1 / hz
        self.tick_soon()

    def tick_soon(self) -> None:
        """Send the next tick at once: something has happened that the user waits for."""
        self._soon.set()

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="reporter", daemon=True).start()

    def _run(self) -> None:
        due = monotonic()
        while True:
            try:
                with self._busy:
                    self._tick(max(0.0, monotonic() - due))
            except MemoryError:  # the reserve is free for the next one
                self._engine.reserve.release()
            # Do not catch up: after a delay the next tick is one interval away, like any other.
            due = max(due + self._interval, monotonic())
            if self._soon.wait(max(0.0, due - monotonic())):
                self._soon.clear()
                due = monotonic()

    def _usage(self) -> Dict[str, Any]:
        fields: Dict[str, Any] = {}
        began = monotonic()
        if sys.platform != "win32" and began >= self._next_usage:
            usage = resource.getrusage(resource.RUSAGE_SELF)
            fields["cpu"] = round(usage.ru_utime + usage.ru_stime, 6)
            fields["switches"] = usage.ru_nvcsw + usage.ru_nivcsw
            # The system sums over all threads: with 10,000 that takes 5 ms, during which no task runs.
            self._next_usage = began + min(1.0, 100 * (monotonic() - began))
        return fields

    def _tick(self, late: float) -> None:
        engine = self._engine
        engine.limits.check_files()
        self._collector.freeze()
        counts = engine.counts.report()
        fields: Dict[str, Any] = {
            "time": monotonic(),  # of the counters: what follows may take milliseconds
            **counts,
            "queued": min(engine.queued(), counts["live"]),  # it may have grown since
            "lag": round(engine.lag(late), 6),
            **({"gc": round(self._collector.seconds, 6)} if self._collector.has_seconds else {}),
            **engine.timing.drain(),
            **engine.failures.counts.report(),
            **self._usage(),
            **self.memory(),
        }
        self._sent += 1
        self._send("tick", number=self._sent, **fields)
