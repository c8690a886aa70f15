"""How a loop keeps pace: slices of the right size, how late it wakes, and what engines on a loop share."""

from __future__ import annotations

from time import monotonic

from concwatch.worker.engines.base import SLICE, Engine
from concwatch.worker.timing import Begun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, List, Set

    from concwatch.worker.collector import Collector

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


class LoopEngine(Engine):
    """An engine all of whose tasks take turns on the main thread, and so with the engine itself."""

    def __init__(self, send: Callable[..., None], collector: Collector) -> None:
        super().__init__(send, collector)
        self.batch, self.end_batch = Batch(), EndBatch()
        self.lateness = Lateness()
        # Made once, so that tasks share it: it would be 64 bytes more for every one.
        self.ended_bound = self.ended
        Begun.ended = self.timed_ended
        self.kept: Set[Any] = set()
        """Tasks that have to be kept, or found when they are to end."""
        self.ending: Set[Any] = set()
        """Tasks told to end that have not ended yet."""

    def lag(self, reporter_lag: float) -> float:
        """Seconds a timer of the loop fired late, at worst since the last call, one overdue now included."""
        return self.lateness.take()

    def create_slice(self, count: int) -> float:
        """Create a slice of tasks; return when that began. `end_slice` comes when each had its first step."""
        began = monotonic()
        self.collector.before_slice()
        try:
            while count:
                skipped = self.timing.skip(count)
                self.create(skipped)
                count -= skipped
                if count:
                    created = self.timing.chosen()
                    if created is None:
                        self.create(1)
                    else:
                        self.create_timed(created)
                    count -= 1
        except MemoryError as error:
            self.hit_wall(error)
        return began

    def end_slice(self, count: int, began: float) -> None:
        """Choose the size of the next slice by how long this one of ``count`` tasks took."""
        self.collector.after_slice()
        self.batch.grew(count, monotonic() - began)

    def create(self, count: int) -> Any:
        """Create and count so many tasks; return the last."""
        raise NotImplementedError

    def create_timed(self, created: float) -> None:
        """Create a task that is timed, chosen at ``created``."""
        timed: List[Any] = [created, None]
        # What is ready runs in order: this one right before the task's first step.
        self.call_soon(self._begun, timed)
        timed[1] = self.create(1)

    def call_soon(self, call: Callable[[List[Any]], None], argument: List[Any]) -> None:
        """Have the loop call it before whatever is made ready later."""
        raise NotImplementedError

    def _begun(self, timed: List[Any]) -> None:
        """Note the beginning of a timed task: ``timed`` is when it was created, and itself."""
        created, task = timed
        if task is None:  # there was no memory for it
            return
        now = monotonic()
        self.timing.begun(created, now)
        self.time_end(task, now)

    def time_end(self, task: Any, begun: float) -> None:
        """Have the end of a task timed that began at ``begun`` and has not ended."""
        raise NotImplementedError

    def ended(self, task: Any) -> None:
        """Count a task that has ended."""
        raise NotImplementedError

    def timed_ended(self, begun: float, task: Any) -> None:
        """Take note of a timed task that has ended."""
        raise NotImplementedError

    def excess(self) -> int:
        """Count the tasks still to be told to end; one that takes its time is not told twice."""
        return -self.goal.wanted(self.counts.live) - len(self.ending)
