"""Memory leaks in a function of the user that the tasks of a worker run."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from concwatch.links.messages import Tick, TracedLines
from concwatch.monitor.verdicts.events import EventSink
from concwatch.system.process import Reading

if TYPE_CHECKING:
    from concwatch.monitor.verdicts.memory_leak import MemoryLeakDetector


class LeakWatch:
    """Detects memory leaks while a function of the user runs; what other workloads keep is known.

    Args:
        log: adds an event to the event log.
        request_lines: requests the lines that hold traced memory; the answer goes to `add_lines`.
    """

    def __init__(self, log: EventSink, request_lines: Callable[[], None]) -> None:
        self._log = log
        self._request_lines = request_lines
        self._detector: MemoryLeakDetector | None = None  # until a function of the user runs

    def update(self, now: float, reading: Reading | None, tick: Tick | None) -> None:
        """Add a reading of the process at ``now`` (seconds), and the last tick.

        Without them, all readings are discarded, because later ones cannot be compared with them.
        """
        if reading and tick:
            if self._detector is None:
                from concwatch.monitor.verdicts.memory_leak import MemoryLeakDetector  # rarely needed

                self._detector = MemoryLeakDetector(self._log, self._request_lines)
            self._detector.add(now, reading.held, tick.live, tick.traced is not None)
        elif self._detector is not None:
            self._detector.restart()

    def add_lines(self, lines: TracedLines) -> None:
        """Add the lines that were requested."""
        if self._detector is not None:
            self._detector.add_lines(lines)
