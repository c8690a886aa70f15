"""A burst: tasks created without a pause and run to their end, timed by the worker itself."""

from __future__ import annotations

from collections import deque
from time import monotonic, process_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Deque, Dict, Generator, List, Optional, Union

    from concwatch.portable.worker.collector import Collector
    from concwatch.portable.worker.target import TargetTracker, TaskCounts

MAX_CHUNKS = 1_000
LONGEST_WAIT = 3_600.0


class Burst:
    """The parameters of a burst.

    Attributes:
        tasks: the total number of tasks.
        chunks: the number of parts; each part starts when the one before it has ended.
        older: extra tasks, created first and not timed, that begin only after the timed ones exist.
        read_after: seconds from creating a part to reading its live tasks and traced bytes; None for no
            reading.
    """

    __slots__ = ("chunks", "older", "read_after", "tasks")

    def __init__(
        self, tasks: int, chunks: int = 1, older: int = 0, read_after: Optional[float] = None
    ) -> None:
        self.tasks = tasks
        self.chunks = chunks
        self.older = older
        self.read_after = read_after

    def sizes(self) -> List[int]:
        """Return the size of each part; the first ones are larger by one if they do not divide evenly."""
        size, more = divmod(self.tasks, self.chunks)
        return [size + (part < more) for part in range(min(self.chunks, max(1, self.tasks)))]


class BurstTimer:
    """Measures a burst: wall-clock and CPU seconds, live tasks and traced bytes."""

    def __init__(self, traced: Callable[[], Optional[int]]) -> None:
        self._traced = traced
        self._tasks = 0
        self._create_seconds = self._create_cpu = self._seconds = self._cpu = 0.0
        self._live: Optional[int] = None
        self._before: Optional[int] = None
        self._added: Optional[int] = None
        self._began = self._began_cpu = 0.0

    def start_part(self) -> None:
        """Start the clocks, just before a part is created."""
        self._began = self._began_cpu = monotonic()  # allocated before the traced bytes are read
        self._before = self._traced()
        self._began, self._began_cpu = monotonic(), process_time()

    def add_created(self, count: int) -> None:
        """Record that a part of ``count`` tasks has been created."""
        self._create_cpu += process_time() - self._began_cpu
        self._create_seconds += monotonic() - self._began
        self._tasks += count

    def read_traced(self) -> None:
        """Read the bytes traced now beyond those traced before the part."""
        traced = self._traced()
        if traced is not None and self._before is not None:
            self._added = traced - self._before

    def set_live(self, count: int) -> None:
        """Record how many tasks of the part were live at the reading."""
        self._live = count

    def end_part(self) -> None:
        """Stop the clocks, when all tasks of the part have ended."""
        self._cpu += process_time() - self._began_cpu
        self._seconds += monotonic() - self._began

    def fields(self) -> Dict[str, object]:
        """Return the fields of the ``burst`` report."""
        return {
            "tasks": self._tasks,
            "create_seconds": self._create_seconds,
            "create_cpu": self._create_cpu,
            "seconds": self._seconds,
            "cpu": self._cpu,
            "live": self._live,
            "traced": self._added,
        }


class Bursts:
    """Runs bursts: creates each part at once and waits for all of its tasks, as the published experiments do.

    Args:
        create: creates and counts a number of tasks without a pause, up to a limit; returns what keeps them.
            It is also given the tasks that were created before them.
        counts: the tasks.
        tracker: the target, which is not held meanwhile.
        collector: the garbage collector.
        older_refused: why a burst cannot have older tasks that have not begun; empty if it can.
    """

    def __init__(
        self,
        create: Callable[[int, List[Any]], List[Any]],
        counts: TaskCounts,
        tracker: TargetTracker,
        collector: Collector,
        older_refused: str,
    ) -> None:
        self._create = create
        self._counts = counts
        self._tracker = tracker
        self._collector = collector
        self._older_refused = older_refused
        self.queued: Deque[Burst] = deque()
        """Bursts requested and not yet started."""

    def queue(self, burst: Burst) -> None:
        """Queue a burst, to run as soon as possible.

        Raises:
            ValueError: tasks are live, or the engine does not support one of its parameters.
        """
        if burst.older and self._older_refused:
            raise ValueError(f"older tasks that have not begun: {self._older_refused}")
        live = self._counts.live
        if live or self._tracker.target:
            raise ValueError(f"{live} tasks are live; a burst needs none, and a target of 0")
        self.queued.append(burst)

    def run(
        self, traced: Callable[[], Optional[int]]
    ) -> Generator[Union[float, List[Any], None], None, Dict[str, object]]:
        """Run the burst that was queued first; yield what to wait for, and return the fields of its report.

        ``traced`` returns the bytes traced now, or None while nothing is traced.
        """
        burst = self.queued.popleft()
        self._tracker.pause(burst.tasks)
        older = self._create(burst.older, [])
        timer = BurstTimer(traced)
        for size in burst.sizes():
            timer.start_part()
            self._collector.before_slice()
            before = self._counts.created
            tasks = self._create(size, older)
            created = self._counts.created - before
            timer.add_created(created)
            self._collector.after_slice()
            if burst.read_after is not None:
                yield burst.read_after
                timer.read_traced()
                timer.set_live(self.count_live(tasks))
            yield tasks
            timer.end_part()
            self.count_ended(tasks)
            del tasks
            if created < size:
                break
        yield older
        self.count_ended(older)
        self._tracker.resume()
        return timer.fields()

    def count_live(self, tasks: List[Any]) -> int:
        """Return how many of these tasks have not ended."""
        return self._counts.live

    def count_ended(self, tasks: List[Any]) -> None:
        """Count the end of these tasks, unless each task counts its own."""
