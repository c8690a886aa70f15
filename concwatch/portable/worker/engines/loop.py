"""The base of engines on a loop: slices of the right size, and how late the loop wakes up."""

from __future__ import annotations

from collections import deque
from time import monotonic

from concwatch.portable.worker.burst import Bursts
from concwatch.portable.worker.engines.base import SLICE, BaseEngine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Deque, Dict, List, Set

    from concwatch.portable.worker.collector import Collector
    from concwatch.portable.worker.inbox import Waits

PROBE = 0.05
"""Seconds between two checks of how late the loop wakes up."""

FIRST_BATCH = 1
"""Tasks in the first slice: each may take gigabytes, and growth cannot be stopped within a slice."""

FIRST_CANCEL_BATCH, MAX_BATCH = 64, 8192


class Batch:
    """How many tasks to create or cancel in one slice, adjusted by how long the last slices took."""

    def __init__(self, least: int = FIRST_BATCH) -> None:
        self.size = self._least = least

    def adjust(self, seconds: float, count: int) -> None:
        """Adjust the size: a slice of ``count`` tasks took so long."""
        if seconds > SLICE:
            self.size = max(self._least, self.size // 2)
        elif seconds < SLICE / 2 and count == self.size:
            self.size = min(MAX_BATCH, self.size * 2)


class Lateness:
    """Measures how late a timer of the loop fires that is set every `PROBE` seconds."""

    def __init__(self) -> None:
        self._due = 0.0
        self._worst = 0.0

    def fired(self) -> None:
        """Record that the timer has fired and is set again."""
        now = monotonic()
        if self._due:
            self._worst = max(self._worst, now - self._due)
        self._due = now + PROBE

    def worst(self) -> float:
        """Return by how many seconds it was late, at worst since the last call, including one overdue now."""
        worst, self._worst = self._worst, 0.0
        return max(worst, monotonic() - self._due) if self._due else 0.0


class LoopBursts(Bursts):
    """Bursts of tasks that have no callback, and are looked at instead.

    Args:
        is_live: returns whether a task has not ended.
        handle_end: counts a task that has ended.
    """

    def __init__(self, *args: Any, is_live: Callable[[Any], bool], handle_end: Callable[[Any], None]) -> None:
        super().__init__(*args)
        self._is_live = is_live
        self._handle_end = handle_end

    def count_live(self, tasks: List[Any]) -> int:
        """Return how many of these tasks have not ended."""
        return sum(map(self._is_live, tasks))

    def count_ended(self, tasks: List[Any]) -> None:
        """Count the end of these tasks."""
        for task in tasks:
            self._handle_end(task)


class LoopEngine(BaseEngine):
    """An engine whose tasks all take turns on the main thread, together with the engine itself."""

    def __init__(self, send: Callable[..., None], collector: Collector) -> None:
        super().__init__(send, collector)
        self.batch, self.cancel_batch = Batch(), Batch(FIRST_CANCEL_BATCH)
        self.lateness = Lateness()
        self.bursts = LoopBursts(
            self.create_list,
            self.counts,
            self.tracker,
            collector,
            self.older_refused,
            is_live=self.is_live,
            handle_end=self.handle_end,
        )
        # Bound once, so that tasks share it: a bound method per task would take 64 bytes more.
        self.end_callback = self.handle_end
        self.kept: Set[Any] = set()
        """Tasks to keep references to, or to find when they are cancelled."""
        self.cancelling: Set[Any] = set()
        """Tasks being cancelled that have not ended yet."""
        self.start_callback = self._record_start
        # Neither takes objects that the garbage collector counts: hundreds more of those bring a loop that
        # replaces its tasks nearer to the threshold at which it collects.
        self._starting: Deque[Any] = deque()
        """For each timed task about to begin, when it was created, and the task."""
        self.timed: Dict[Any, float] = {}
        """Timed tasks that have begun and not ended → when they began (seconds, monotonic)."""

    def lag(self, reporter_lag: float) -> float:
        """Return by how many seconds the loop woke up late, at worst since the last call."""
        return self.lateness.worst()

    def grow(self, wanted: int) -> Waits:
        """Create a slice of the ``wanted`` tasks, and let each take its first step."""
        began = monotonic()
        self.collector.before_slice()
        left = count = min(wanted, self.batch.size)
        try:
            while left:
                skipped = self.timing.skip(left)
                self.create(skipped)
                left -= skipped
                if left:
                    self._create_chosen()
                    left -= 1
        except MemoryError as error:
            self.limits.hit(error)
        yield 0
        self.collector.after_slice()
        self.batch.adjust(monotonic() - began, count)
        return True

    def replace(self) -> None:
        """Create a task in place of one that has just completed."""
        self.replacements -= 1
        try:
            if self.timing.skip(1):
                self.create(1)
            else:
                self._create_chosen()
        except MemoryError as error:
            self.limits.hit(error)

    def _create_chosen(self) -> None:
        """Create one task, timed if it is chosen."""
        created = self.timing.choose()
        if created is None:
            self.create(1)
        else:
            self.create_timed(created)

    def shrink(self, excess: int) -> Waits:
        """Cancel ``excess`` tasks in slices; return whether any has ended: tasks may ignore cancellation."""
        before = self.counts.live
        tasks = [task for task in self.tasks() if task not in self.cancelling]
        while self.excess() > 0 and tasks:
            began = monotonic()
            count = min(self.excess(), self.cancel_batch.size)
            chosen, tasks[-count:] = tasks[-count:], []
            self.cancelling.update(task for task in chosen if self.cancel(task))
            for _ in range(3):  # each is cancelled, takes a step and ends, and its callback runs
                yield 0
            del chosen  # with its exception a task takes more memory than before
            self.cancel_batch.adjust(monotonic() - began, count)
            yield from self.inbox.apply()
        return self.counts.live < before

    def is_live(self, task: Any) -> bool:
        """Return whether a task has not ended."""
        raise NotImplementedError

    def cancel(self, task: Any) -> bool:
        """Cancel a task. Return whether it can be cancelled."""
        raise NotImplementedError

    def create(self, count: int) -> Any:
        """Create and count ``count`` tasks; return the last one."""
        raise NotImplementedError

    def create_timed(self, created: float) -> None:
        """Create a timed task, chosen at ``created``."""
        # Callbacks run in order: this one just before the task's first step.
        self.call_soon(self.start_callback)
        self._starting.append(created)
        task = None
        try:
            task = self.create(1)
        finally:
            self._starting.append(task)

    def call_soon(self, call: Callable[[], None]) -> None:
        """Call ``call`` on the loop before anything that becomes ready later."""
        raise NotImplementedError

    def _record_start(self) -> None:
        """Record the start of the next timed task."""
        created, task = self._starting.popleft(), self._starting.popleft()
        if task is None:  # out of memory: it was not created
            return
        now = monotonic()
        self.timing.record_start(created, now)
        self.timed[task] = now

    def handle_end(self, task: Any) -> None:
        """Count a task that has ended, and record its duration if it was timed and has completed."""
        raise NotImplementedError

    def excess(self) -> int:
        """Return how many tasks are still to be cancelled, besides those already being cancelled."""
        return -self.tracker.wanted(self.counts.live) - len(self.cancelling)
