"""Detect memory that keeps growing while the number of live tasks does not."""

import math
from collections.abc import Callable

from concwatch.monitor.events import EventSink
from concwatch.monitor.growth import LEAST_RISE, GrowthMeter
from concwatch.protocol.messages import TracedLines
from concwatch.protocol.text import plain, short_place
from concwatch.protocol.units import format_bytes

UNIT = 64 * 1024
"""Unit of memory in bytes: the allocator requests no less from the system at a time."""

LINES = 3
"""Lines of source code that are logged."""

WORTH = 0.05
"""Share of the growth of the first line that another line must have grown by to be logged."""

BETWEEN = 10.0
"""Seconds between the two readings of the lines of source code."""


class MemoryLeakDetector:
    """Compares the memory of one process with its live tasks, and logs when only the memory grows or stops

    The test is that of a leak of tasks: low-water marks that rise significantly for at least half a minute.
    """

    def __init__(
        self, log: EventSink, request_lines: Callable[[], None], growing: Callable[[], str] = str
    ) -> None:
        """Create a detector.

        Args:
            log: adds an event to the event log.
            request_lines: requests the lines that hold traced memory; the answer goes to `add_lines`.
            growing: returns the names of what else grows; an empty string if nothing does.
        """
        self._log = log
        self._request_lines = request_lines
        self._growing = growing
        self._found = False
        self._answers = 0
        self._request_due = math.inf
        self.restart()

    def restart(self) -> None:
        """Discard all readings, since those that follow cannot be compared with them."""
        self._memory, self._held = GrowthMeter(), GrowthMeter()

    def add(self, time: float, rss: int, held: int, traced: bool) -> None:
        """Add a reading at ``time`` in seconds.

        Args:
            time: when it was made.
            rss: bytes.
            held: tasks, threads and connections, whose growth takes memory.
            traced: whether allocations are traced.
        """
        self._memory.add(time, rss // UNIT, 0)
        self._held.add(time, held, 0)
        if self._found:
            if time >= self._request_due:
                self._request_due = math.inf
                self._request_lines()
            if self._memory.is_level:
                self._found, self._answers, self._request_due = False, 0, math.inf
                self._log("memory no longer grows: not called a leak any more", "info", "memory_withdrawn")
        elif self._memory.leaks and (self._growing() or not self._is_held()):
            self._found = True
            self._log(self._text(), "warning", "memory")
            if traced:
                self._request_due = time + BETWEEN
                self._request_lines()

    def _is_held(self) -> bool:
        """Return whether what grows, and is not called a leak yet, takes the memory."""
        growth = self._held.growth
        return growth is not None and growth.low > 0 and self._held.rise >= LEAST_RISE

    def _text(self) -> str:
        growth = self._memory.growth
        rate = growth.text(lambda units: format_bytes(units * UNIT)) if growth else ""
        also = self._growing()
        why = f"{also} grow too" if also else "something keeps references to what they created"
        return f"memory grows{rate}, while live tasks do not: {why}"

    def add_lines(self, found: TracedLines) -> None:
        """Handle an answer; after the second one, log the lines that have grown most since the first."""
        self._answers += self._found
        if self._answers != 2:
            return
        most = max((line.grown for line in found.lines), default=0)
        for line in [line for line in found.lines if line.grown > WORTH * most][:LINES]:
            self._log(
                f"{plain(short_place(line.file))}:{line.line} holds {format_bytes(line.bytes)}, "
                f"{format_bytes(line.grown)} more than {BETWEEN:.0f} s ago",
                "warning",
            )
