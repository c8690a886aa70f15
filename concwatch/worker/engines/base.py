"""What every engine is: a goal, counters, and commands that reach it from another thread."""

from __future__ import annotations

import sys
import threading
from collections import deque
from time import monotonic

from concwatch.worker.burst import Record
from concwatch.worker.collector import Reserve
from concwatch.worker.engines.file_wall import FileWall
from concwatch.worker.goal import Counts, Goal
from concwatch.worker.timing import Timing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Deque, Generator, List, Optional, Tuple, Union

    from concwatch.worker.burst import Burst
    from concwatch.worker.collector import Collector
    from concwatch.worker.workloads import Workload

    Waits = Generator[Union[float, List[Any], None], None, bool]
    """Waits for seconds (0: until all that is ready has run), for the end of tasks, or (None) to be woken."""

CPYTHON = sys.implementation.name == "cpython"
CPYTHONS = ("trace", "gc", "lines")
"""Optional commands that need what CPython alone has: tracemalloc, and a collector that can be frozen."""

SLICE = 0.010
"""Seconds: the longest that growing or shrinking may keep commands waiting."""


class Engine:
    """One way to run tasks. ``serve`` holds the goal until the process ends; nothing else touches tasks."""

    can: Tuple[str, ...] = (*CPYTHONS, "trim", "burst") if CPYTHON else ("trim", "burst")
    """The optional commands that it obeys."""

    def __init__(self, send: Callable[..., None], collector: Collector) -> None:
        self.send = send
        self.collector = collector
        self.counts = Counts()
        self.timing = Timing(monotonic)
        self.reserve = Reserve()
        self.goal = Goal()
        self.on_reached: Callable[[], None] = lambda: None
        """Called when a target has been met, or a burst has ended."""
        self.traced: Callable[[], Optional[int]] = lambda: None
        """Returns the bytes traced now, or None while nothing is traced."""
        self.bursts: Deque[Burst] = deque()
        """Bursts asked for and not begun."""
        self._inbox: Deque[Callable[[], None]] = deque()
        self._failure_reported = threading.Lock()  # taken by the first task of a workload that fails
        self._file_wall = FileWall(self.goal, self.counts, self.submit)

    # Called from any thread.

    def submit(self, change: Callable[[], None]) -> None:
        """Have ``change`` called on the engine's own thread, between two slices."""
        self._inbox.append(change)
        self.wake()

    def wake(self) -> None:
        """Make the engine look at its inbox and its goal."""
        raise NotImplementedError

    def flags(self) -> List[str]:
        """What else than the runtime's version shapes this engine's figures."""
        return []

    def lag(self, reporter_lag: float) -> float:
        """Seconds a waking was late at worst since the last call; by default that of the reporter thread."""
        return reporter_lag

    def queued(self) -> int:
        """Live tasks that have not begun because they wait for a thread."""
        return 0

    def look_at_walls(self) -> None:
        """Have a wall reported that tasks have hit by themselves; to be called before each tick."""
        self._file_wall.look(self.report_limit)

    # Called on the engine's own thread.

    def serve(self) -> None:
        """Hold the goal; returns never, or with the process."""
        raise NotImplementedError

    def load(self, workload: Workload) -> None:
        """Make ``workload`` what new tasks do.

        Raises:
            ValueError: one line, and the engine goes on as it was.
        """
        raise NotImplementedError

    def use(self, workload: Workload) -> None:
        """Switch to ``workload``, and have live tasks replaced.

        Raises:
            ValueError: one line, and the engine goes on as it was.
        """
        self.load(workload)
        self._failure_reported = threading.Lock()
        self.timing.begin_again()
        self.goal.replace(self.counts.live)

    def ask(self, target: int, now: float) -> None:
        """Take a new target that arrived at ``now`` (seconds)."""
        self.goal.ask(target, self.counts, now)
        # While allocations are traced the reserve would be taken for one of them.
        if target > self.counts.live and not self.reserve.kept and self.traced() is None:
            try:
                self.collector.trim()
                self.reserve.take()
            except (MemoryError, OSError):  # then it grows without
                pass

    def set_threads(self, count: int) -> None:
        """Set how many threads serve the tasks.

        Raises:
            ValueError: this engine has no such setting.
        """
        raise ValueError("this engine has no number of threads")

    def set_stack(self, size: int) -> None:
        """Set the bytes of stack of threads started from now on; 0 for the system's own size.

        Raises:
            ValueError: this engine starts no threads for tasks, or the system allows no such size.
        """
        raise ValueError("this engine starts no thread for a task")

    def ask_burst(self, burst: Burst) -> None:
        """Have a burst run as soon as the engine gets to it.

        Raises:
            ValueError: tasks are live, or the engine cannot do what it asks for.
        """
        if self.counts.live or self.goal.target:
            raise ValueError(f"{self.counts.live} tasks are live: a burst expects none, and a target of 0")
        self.bursts.append(burst)

    def hold(self) -> Waits:
        """Hold the goal, for ever; each engine has its own way to wait for what this yields."""
        while True:
            yield None
            self.apply_commands()
            while self.bursts:
                yield from self.run_burst(self.bursts.popleft())
            while True:
                wanted = self.wanted()
                if wanted > 0:
                    yield from self.grow(wanted)
                elif wanted < 0 and not (yield from self.shrink(-wanted)):
                    break  # look again when something ends
                self.apply_commands()
                if wanted == 0:
                    break
                self.report_reached()
            self.report_reached()

    def wanted(self) -> int:
        """Return how many tasks to create now, or, if negative, to cancel."""
        return self.goal.wanted(self.counts.live)

    def grow(self, wanted: int) -> Waits:
        """Create some of the tasks wanted, within about `SLICE`."""
        raise NotImplementedError

    def shrink(self, excess: int) -> Waits:
        """Have the excess end; return whether it goes on at once, or only when something has ended."""
        raise NotImplementedError

    def run_burst(self, burst: Burst) -> Waits:
        """Create each part at once and wait for all of it, as the published experiments do."""
        self.goal.pause(burst.tasks)
        older = self.create_list(burst.older, [])
        record = Record(self.traced)
        for size in burst.sizes():
            record.begin_part()
            self.collector.before_slice()
            before = self.counts.created
            tasks = self.create_list(size, older)
            created = self.counts.created - before
            record.created(created)
            self.collector.after_slice()
            if burst.read_after is not None:
                yield burst.read_after
                record.read()
                record.live(self.count_live(tasks))
            yield tasks
            record.end_part()
            self.count_burst(tasks)
            del tasks
            if created < size:
                break
        yield older
        self.count_burst(older)
        self.goal.resume()
        self.send("burst", **record.fields())
        self.on_reached()
        return True

    def create_list(self, count: int, older: List[Any]) -> List[Any]:
        """Create and count so many tasks without a pause, up to a wall; return what is kept until they end.

        ``older`` are those that there were before.
        """
        raise NotImplementedError

    def count_live(self, tasks: List[Any]) -> int:
        """Return how many of these tasks of a burst have not ended."""
        return self.counts.live

    def count_burst(self, tasks: List[Any]) -> None:
        """Count the end of these tasks of a burst, where each does not count its own."""

    def apply_commands(self) -> None:
        """Apply what has come in since the last time."""
        while self._inbox:
            self._inbox.popleft()()

    def report_reached(self) -> None:
        """Report that the target has been met, once."""
        fields = self.goal.reached(self.counts, monotonic())
        if fields:
            self.send("reached", **fields)
            self.on_reached()

    def report_failure(self, error: BaseException) -> None:
        """Report the first failure of a workload with its traceback; the counter ``failed`` has the rest."""
        if isinstance(error, MemoryError):
            self.reserve.let_go()
        # While tasks are replaced they belong to a workload that is over; its successor may still fail.
        if (
            not self._file_wall.hit_by(error)
            and not self.goal.replacing
            and self._failure_reported.acquire(blocking=False)
        ):
            lines: List[str] = []
            try:
                import traceback  # with tokenize behind it, only for who fails

                lines = traceback.format_exception(type(error), error, error.__traceback__)
            except (ImportError, OSError, MemoryError):  # there is no file more to be opened, or no memory
                pass
            self.send(
                "error",
                command=None,
                message=f"a task failed: {type(error).__name__}: {str(error)[:500]}",
                detail="".join(lines)[-8000:],
            )

    def hit_wall(self, error: BaseException) -> None:
        """Keep the tasks that are live, and report which limit was hit."""
        short = isinstance(error, MemoryError)
        if short:
            self.reserve.let_go()
        wall, value = self._name_wall()
        if short and "memory" not in wall:
            wall, value = "memory", None
        self.stop_growing(wall, value, str(error)[:500] or ("out of memory" if short else ""))

    def _name_wall(self) -> Tuple[str, Optional[int]]:
        """Return which wall is near; asking takes memory, of which others may have had the last."""
        for _ in range(2):
            try:
                from concwatch.system.walls import wall_hit  # only here

                return wall_hit()
            except MemoryError:
                self.reserve.let_go()
        return "memory", None

    def stop_growing(self, wall: str, value: Optional[int], detail: str) -> None:
        """Make what is live the target, and report what holds the rest back."""
        wanted, standing = self.goal.target, self.counts.live
        self.goal.settle(standing)
        self.report_limit(standing, wanted, wall, value, detail)

    def report_limit(self, standing: int, wanted: int, wall: str, value: Optional[int], detail: str) -> None:
        """Report what holds back all but ``standing`` of the tasks wanted."""
        self.send("limit", standing=standing, wanted=wanted, wall=wall, value=value, detail=detail)
