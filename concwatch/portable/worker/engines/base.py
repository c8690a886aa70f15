"""The base class of engines: a target, counters, and commands that arrive from another thread."""

from __future__ import annotations

import sys
import threading
from collections import deque
from functools import partial
from time import monotonic, sleep

from concwatch.portable.agent.memory.memory_maps import read_memory_maps
from concwatch.portable.protocol.workloads import USER
from concwatch.portable.worker.burst import BurstTimer
from concwatch.portable.worker.collector import Reserve
from concwatch.portable.worker.engines.file_limit import FileLimit
from concwatch.portable.worker.failures import Failures
from concwatch.portable.worker.target import TargetTracker, TaskCounts
from concwatch.portable.worker.timing import Timing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, ClassVar, Deque, Dict, Generator, Iterable, List, Optional, Tuple, Union

    from concwatch.portable.protocol.workloads import Workload
    from concwatch.portable.worker.burst import Burst
    from concwatch.portable.worker.collector import Collector
    from concwatch.portable.worker.setup import Setup

    Waits = Generator[Union[float, List[Any], None], None, bool]
    """What an engine waits for: seconds (0: all ready callbacks), the end of tasks, or (None) a wake-up."""

    Change = Callable[[], Optional[Waits]]
    """A command on the engine's thread, with what it waits for until it has taken effect."""

CPYTHON = sys.implementation.name == "cpython"
CPYTHON_COMMANDS = ("trace", "gc", "lines", "anatomy")
"""Optional commands that need tracemalloc, sizes of objects, or a collector that can freeze objects: CPython
only."""

SLICE = 0.010
"""Seconds: the longest that growing or shrinking may delay commands."""

REPLACEMENTS = 1_000
"""How many tasks are replaced as they complete during a slice of growth.

Tasks that end at once would else become so many that each turn of a loop takes seconds.
"""


FINISH_LIMIT = 1.0
"""Seconds that tasks have to end, and then the tear-down of the user's function, before the process ends."""


class BaseEngine:
    """One way to run tasks. `serve` holds the target until the process ends."""

    can: Tuple[str, ...] = (*CPYTHON_COMMANDS, "trim", "burst") if CPYTHON else ("trim", "burst")
    """The optional commands that it supports."""

    coroutines: ClassVar[bool] = False
    """Whether its tasks run coroutine functions rather than plain ones."""

    native: ClassVar[Dict[str, str]] = {}
    """What tasks allocate besides objects, by the kind of memory, as in `agent.memory.memory_maps`."""

    def __init__(self, send: Callable[..., None], collector: Collector) -> None:
        self.send = send
        self.collector = collector
        self.counts = TaskCounts()
        self.timing = Timing(monotonic)
        self.reserve = Reserve()
        self.tracker = TargetTracker()
        self.on_reached: Callable[[], None] = lambda: None
        """Called when a target has been met or a burst has ended."""
        self.traced: Callable[[], Optional[int]] = lambda: None
        """Returns the bytes traced now, or None while nothing is traced."""
        self.replacements = 0
        """How many tasks may still be replaced as they complete, before the engine has a turn."""
        self.bursts: Deque[Burst] = deque()
        """Bursts requested and not yet started."""
        self.idle_maps: Dict[str, int] = {}
        """What `read_memory_maps` returned before the first task; empty if unknown."""
        self.failures = Failures()
        """The failed tasks of the workload."""
        self._setup: Optional[Setup] = None  # that of the workload, which has been entered
        self._old_setups: List[Setup] = []  # those of earlier ones, while tasks of them are live
        self._inbox: Deque[Change] = deque()
        self._failure_reported = threading.Lock()  # acquired by the first task of a workload that fails
        self._file_limit = FileLimit(self.tracker, self.counts, self.submit)

    # Called from any thread.

    def submit(self, change: Change) -> None:
        """Call ``change`` on the engine's own thread, between two slices."""
        self._inbox.append(change)
        self.wake()

    def wake(self) -> None:
        """Make the engine check its inbox and its target."""
        raise NotImplementedError

    def flags(self) -> List[str]:
        """Return what affects this engine's figures besides the runtime's version."""
        return []

    def lag(self, reporter_lag: float) -> float:
        """Return the worst delay of a wake-up since the last call, in seconds; by default the reporter's."""
        return reporter_lag

    def queued(self) -> int:
        """Return the number of live tasks that have not begun because they wait for a thread."""
        return 0

    def running_target(self) -> int:
        """Return how many tasks are to run at once."""
        return self.tracker.target

    def check_file_limit(self) -> None:
        """Report the limit on open files if running tasks have hit it; called before each tick."""
        self._file_limit.check(self.report_limit)

    def finish(self) -> None:
        """Before the process ends: end the tasks of the user's function, then run its tear-down, if any.

        Raises:
            ValueError: one line: the tear-down failed.
        """
        setup = self._setup
        if setup is None:
            return
        self.submit(partial(self.set_target, 0, monotonic()))
        _wait_until(lambda: not self.counts.live)
        problems: List[Optional[ValueError]] = []

        def leave() -> Waits:
            try:
                yield from self.leave(setup)
                problems.append(None)
            except ValueError as error:
                problems.append(error)
            return True

        self.submit(leave)
        _wait_until(lambda: bool(problems))
        if problems and problems[0] is not None:
            raise problems[0]

    # Called on the engine's own thread.

    def serve(self) -> None:
        """Hold the target until the process ends."""
        raise NotImplementedError

    def load(self, workload: Workload) -> None:
        """Set the workload of new tasks.

        Raises:
            ValueError: it cannot run here; nothing has changed.
        """
        raise NotImplementedError

    def set_workload(self, workload: Workload) -> Waits:
        """Switch to ``workload`` and replace live tasks; run the set-up of a function of the user first.

        Raises:
            ValueError: it cannot run here; nothing has changed.
        """
        setup = None
        if workload.word == USER:
            from concwatch.portable.worker.user_function import load_setup  # imports inspect

            setup = load_setup(workload, self.coroutines)
        if setup is not None:
            yield from self.enter(setup)
            workload.call = setup.call
        self.load(workload)
        if self._setup is not None:
            self._old_setups.append(self._setup)
        self._setup = setup
        if not self.counts.created:
            self.read_idle_maps()  # what it has imported is no task's
        self._failure_reported = threading.Lock()
        self.failures = Failures()
        self.timing.reset()
        self.tracker.replace(self.counts.live)
        return True

    def enter(self, setup: Setup) -> Waits:
        """Run the set-up of a function of the user.

        Raises:
            ValueError: one line: it failed.
        """
        setup.enter()
        yield from ()
        return True

    def leave(self, setup: Setup) -> Waits:
        """Run the tear-down of a function of the user.

        Raises:
            ValueError: one line: it failed.
        """
        setup.leave()
        yield from ()
        return True

    def _leave_old(self) -> Waits:
        """Run the tear-downs of earlier workloads, whose tasks have ended."""
        while self._old_setups:
            try:
                yield from self.leave(self._old_setups.pop())
            except ValueError as error:
                self.send("error", command=None, message=str(error)[:1000], detail=None)
        return True

    def read_idle_maps(self) -> None:
        """Read what memory the worker has before its first task."""
        if "anatomy" in self.can:
            self.idle_maps = read_memory_maps()

    def set_target(self, target: int, now: float) -> None:
        """Set a new target that arrived at ``now`` (seconds)."""
        self.tracker.set_target(target, self.counts, now)
        # While allocations are traced, the reserve would be counted among them.
        if target > self.counts.live and not self.reserve.held and self.traced() is None:
            try:
                self.collector.trim()
                self.reserve.allocate()
            except (MemoryError, OSError):  # grow without a reserve
                pass

    def set_threads(self, count: int) -> None:
        """Set how many threads serve the tasks.

        Raises:
            ValueError: this engine has no such setting.
        """
        raise ValueError("this engine has no configurable number of threads")

    def set_stack(self, size: int) -> None:
        """Set the stack size, in bytes, of threads started from now on; 0 for the system's default.

        Raises:
            ValueError: this engine starts no threads for tasks, or the system does not allow this size.
        """
        raise ValueError("this engine starts no thread for a task")

    def queue_burst(self, burst: Burst) -> None:
        """Queue a burst, to run as soon as possible.

        Raises:
            ValueError: tasks are live, or the engine does not support one of its parameters.
        """
        if self.counts.live or self.tracker.target:
            raise ValueError(f"{self.counts.live} tasks are live: a burst expects none, and a target of 0")
        self.bursts.append(burst)

    def tasks(self) -> Iterable[Any]:
        """Return objects of all live tasks, from each of which one leads to everything that it has."""
        raise NotImplementedError

    def hold_target(self) -> Waits:
        """Hold the target forever; each engine waits in its own way for what this yields."""
        while True:
            yield None
            yield from self.apply_commands()
            while self.bursts:
                yield from self.run_burst(self.bursts.popleft())
            while True:
                wanted = self.wanted()
                if self._old_setups and not self.tracker.replacing:
                    yield from self._leave_old()
                self.allow_replacements(REPLACEMENTS if wanted else sys.maxsize, wanted)
                if wanted > 0:
                    yield from self.grow(wanted)
                elif wanted < 0 and not (yield from self.shrink(-wanted)):
                    break  # wait until a task ends
                yield from self.apply_commands()
                if wanted == 0:
                    break
                self.report_reached()
            self.report_reached()

    def allow_replacements(self, count: int, wanted: int) -> None:
        """Let ``count`` tasks be replaced as they complete, in the same turn, unless fewer are ``wanted``.

        Replaced by the engine, a turn later and many at once, tasks cost up to twice the CPU time: for waking
        the engine, and for the garbage collector, since the number of objects then swings by that many.
        Those that fail are always left to the engine, which may find that a limit was hit.
        """
        self.replacements = count if self.tracker.refill and wanted >= 0 and not self.tracker.paused else 0

    def wanted(self) -> int:
        """Return how many tasks to create now, or, if negative, to cancel."""
        return self.tracker.wanted(self.counts.live)

    def grow(self, wanted: int) -> Waits:
        """Create some of the ``wanted`` tasks, within about `SLICE`."""
        raise NotImplementedError

    def shrink(self, excess: int) -> Waits:
        """Cancel ``excess`` tasks; return whether to continue at once rather than when a task has ended."""
        raise NotImplementedError

    def run_burst(self, burst: Burst) -> Waits:
        """Create each part at once and wait for all of its tasks, as the published experiments do."""
        self.tracker.pause(burst.tasks)
        older = self.create_list(burst.older, [])
        timer = BurstTimer(self.traced)
        for size in burst.sizes():
            timer.start_part()
            self.collector.before_slice()
            before = self.counts.created
            tasks = self.create_list(size, older)
            created = self.counts.created - before
            timer.add_created(created)
            self.collector.after_slice()
            if burst.read_after is not None:
                yield burst.read_after
                timer.read_traced()
                timer.set_live(self.count_live(tasks))
            yield tasks
            timer.end_part()
            self.count_burst(tasks)
            del tasks
            if created < size:
                break
        yield older
        self.count_burst(older)
        self.tracker.resume()
        self.send("burst", **timer.fields())
        self.on_reached()
        return True

    def create_list(self, count: int, older: List[Any]) -> List[Any]:
        """Create and count ``count`` tasks without a pause, up to a limit; return what keeps them.

        ``older`` are the tasks that were created before them.
        """
        raise NotImplementedError

    def count_live(self, tasks: List[Any]) -> int:
        """Return how many of these tasks of a burst have not ended."""
        return self.counts.live

    def count_burst(self, tasks: List[Any]) -> None:
        """Count the end of these tasks of a burst, unless each task counts its own."""

    def apply_commands(self) -> Waits:
        """Apply the commands received since the last call."""
        if self._inbox:
            self.allow_replacements(0, 0)  # a command may change what is wanted
        while self._inbox:
            yield from self._inbox.popleft()() or ()
        return True

    def report_reached(self) -> None:
        """Report once that the target has been met."""
        fields = self.tracker.reached(self.counts, monotonic())
        if fields:
            self.send("reached", **fields)
            self.on_reached()

    def report_failure(self, error: BaseException) -> None:
        """Count a failure by its kind, and report a workload's first one with its traceback."""
        if isinstance(error, MemoryError):
            self.reserve.release()
        limited = self._file_limit.handle(error)
        # Tasks that are being replaced belong to the previous workload; the new one may fail later.
        if self.tracker.replacing:
            return
        self.failures.add(error)
        if not limited and self._failure_reported.acquire(blocking=False):
            lines: List[str] = []
            try:
                import traceback  # imports tokenize; needed only for a failure

                lines = traceback.format_exception(type(error), error, error.__traceback__)
            except (ImportError, OSError, MemoryError):  # no file can be opened, or no memory is left
                pass
            self.send(
                "error",
                command=None,
                message=f"a task failed: {type(error).__name__}: {str(error)[:500]}",
                detail="".join(lines)[-8000:],
            )

    def hit_limit(self, error: BaseException) -> None:
        """Make the live tasks the target, and report which limit was hit."""
        short = isinstance(error, MemoryError)
        if short:
            self.reserve.release()
        limit, value = self._find_limit()
        if short and "memory" not in limit:
            limit, value = "memory", None
        self.stop_growing(limit, value, str(error)[:500] or ("out of memory" if short else ""))

    def _find_limit(self) -> Tuple[str, Optional[int]]:
        """Return which limit was hit; finding that out takes memory, and there may be none left."""
        for _ in range(2):
            try:
                from concwatch.portable.machine.limits import limit_hit  # only an error needs it

                return limit_hit()
            except MemoryError:
                self.reserve.release()
        return "memory", None

    def stop_growing(self, limit: str, value: Optional[int], detail: str) -> None:
        """Make the live tasks the target, and report what prevents more."""
        wanted, standing = self.tracker.target, self.counts.report()["live"]
        self.tracker.settle(standing)
        self.report_limit(standing, wanted, limit, value, detail)

    def report_limit(self, standing: int, wanted: int, limit: str, value: Optional[int], detail: str) -> None:
        """Report what prevents more than ``standing`` of the wanted tasks."""
        self.send("limit", standing=standing, wanted=wanted, wall=limit, value=value, detail=detail)


def _wait_until(condition: Callable[[], bool]) -> None:
    """Wait until ``condition`` is true, for `FINISH_LIMIT` seconds at most."""
    deadline = monotonic() + FINISH_LIMIT
    while not condition() and monotonic() < deadline:
        sleep(0.01)
