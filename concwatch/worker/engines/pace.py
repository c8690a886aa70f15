"""How a loop keeps pace: slices of the right size, and how late it wakes."""

from __future__ import annotations

from time import monotonic

from concwatch.worker.engines.base import SLICE

PROBE = 0.05
"""Seconds between two looks at how late the loop wakes."""

FIRST_BATCH = 1
"""Tasks of the first slice: each may take gigabytes, and no growth can be stopped within a slice."""

FIRST_TO_END, LARGEST_BATCH = 64, 8192


class Batch:
    """How many tasks make a slice of growth, by how long the last ones took."""

    def __init__(self) -> None:
        self.size = FIRST_BATCH

    def grew(self, count: int, seconds: float) -> None:
        """Note that creating ``count`` tasks took so long."""
        if seconds > SLICE:
            self.size = max(1, self.size // 2)
        elif seconds < SLICE / 2 and count == self.size:
            self.size = min(LARGEST_BATCH, self.size * 2)


class EndBatch:
    """How many tasks make a slice of those to be ended."""

    def __init__(self) -> None:
        self.size = FIRST_TO_END

    def shrank(self, seconds: float) -> None:
        """Note that ending a slice of tasks took so long."""
        if seconds > SLICE:
            self.size = max(FIRST_TO_END, self.size // 2)
        else:
            self.size = min(LARGEST_BATCH, self.size * 2)


class Lateness:
    """How late a timer of the loop's fires that is set again each `PROBE` seconds."""

    def __init__(self) -> None:
        self._due = 0.0
        self._worst = 0.0

    def fired(self) -> None:
        """Note that the timer has fired, and is set again."""
        now = monotonic()
        if self._due:
            self._worst = max(self._worst, now - self._due)
        self._due = now + PROBE

    def take(self) -> float:
        """Return the seconds it was late at worst since the last call, one overdue now included."""
        worst, self._worst = self._worst, 0.0
        return max(worst, monotonic() - self._due) if self._due else 0.0
