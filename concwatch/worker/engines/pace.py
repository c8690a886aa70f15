"""What engines on a loop share: slices of tasks of the right size, and how late the loop wakes."""

from __future__ import annotations

from time import monotonic

from concwatch.worker.engines.base import SLICE, Engine
from concwatch.worker.timing import Begun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, List, Set

    from concwatch.worker.collector import Collector
    from concwatch.worker.engines.base import Waits

PROBE = 0.05
"""Seconds between two looks at how late the loop wakes."""

FIRST_BATCH = 1
"""Tasks of the first slice: each may take gigabytes, and no growth can be stopped within a slice."""

FIRST_TO_END, LARGEST_BATCH = 64, 8192


class Batch:
    """How many tasks are created or ended between two looks at the inbox, by how long the last ones took."""

    def __init__(self, least: int = FIRST_BATCH) -> None:
        self.size = self._least = least

    def took(self, seconds: float, count: int) -> None:
        """Note that a slice of ``count`` tasks took so long."""
        if seconds > SLICE:
            self.size = max(self._least, self.size // 2)
        elif seconds < SLICE / 2 and count == self.size:
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
        self.batch, self.end_batch = Batch(), Batch(FIRST_TO_END)
        self.lateness = Lateness()
        # Made once, so that tasks share it: it would be 64 bytes more for every one.
        self.ended_bound = self.ended
        Begun.ended = self.timed_ended
        self.kept: Set[Any] = set()
        """Tasks that have to be kept, or found when they are to end."""
        self.ending: Set[Any] = set()
        """Tasks being cancelled, which have not ended yet."""

    def lag(self, reporter_lag: float) -> float:
        """Seconds a timer of the loop fired late, at worst since the last call, one overdue now included."""
        return self.lateness.take()

    def grow(self, wanted: int) -> Waits:
        """Create a slice of the tasks wanted, and have each take its first step."""
        began = monotonic()
        self.collector.before_slice()
        left = count = min(wanted, self.batch.size)
        try:
            while left:
                skipped = self.timing.skip(left)
                self.create(skipped)
                left -= skipped
                if left:
                    created = self.timing.chosen()
                    if created is None:
                        self.create(1)
                    else:
                        self.create_timed(created)
                    left -= 1
        except MemoryError as error:
            self.hit_wall(error)
        yield 0
        self.collector.after_slice()
        self.batch.took(monotonic() - began, count)
        return True

    def shrink(self, excess: int) -> Waits:
        """End the excess, in slices; return whether any has ended: the rest may ignore that it is to end."""
        before = self.counts.live
        tasks = [task for task in self.tasks() if task not in self.ending]
        while self.excess() > 0 and tasks:
            began = monotonic()
            count = min(self.excess(), self.end_batch.size)
            chosen, tasks[-count:] = tasks[-count:], []
            self.ending.update(task for task in chosen if self.cancel(task))
            for _ in range(3):  # it is cancelled, it takes a step and ends, its callback runs
                yield 0
            del chosen  # with its exception a task weighs more than before
            self.end_batch.took(monotonic() - began, count)
            self.apply_commands()
        return self.counts.live < before

    def is_live(self, task: Any) -> bool:
        """Whether a task has not ended."""
        raise NotImplementedError

    def count_live(self, tasks: List[Any]) -> int:
        """Return how many of these tasks of a burst have not ended."""
        return sum(map(self.is_live, tasks))

    def count_burst(self, tasks: List[Any]) -> None:
        """Count the end of these tasks of a burst: nothing of ours has been on them."""
        for task in tasks:
            self.ended(task)

    def tasks(self) -> Iterable[Any]:
        """Return all live tasks."""
        raise NotImplementedError

    def cancel(self, task: Any) -> bool:
        """Have a task end; return whether it will."""
        raise NotImplementedError

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
        """Return how many tasks are still to be cancelled, without those that are being cancelled."""
        return -self.goal.wanted(self.counts.live) - len(self.ending)
