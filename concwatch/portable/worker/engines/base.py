"""The base class of engines: a target, counters, and commands that arrive from another thread."""

from __future__ import annotations

import sys
from functools import partial
from time import monotonic

from concwatch.portable.agent.memory.memory_maps import read_memory_maps
from concwatch.portable.protocol.workloads import USER
from concwatch.portable.worker.burst import Bursts
from concwatch.portable.worker.collector import Reserve
from concwatch.portable.worker.engines.growth_limits import GrowthLimits
from concwatch.portable.worker.inbox import Inbox
from concwatch.portable.worker.target import TargetTracker, TaskCounts
from concwatch.portable.worker.tasks.failures import FailureReporter
from concwatch.portable.worker.tasks.setups import Setups
from concwatch.portable.worker.timing import Timing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, ClassVar, Dict, Iterable, List, Optional, Tuple

    from concwatch.portable.protocol.workloads import Workload
    from concwatch.portable.worker.collector import Collector
    from concwatch.portable.worker.inbox import Waits

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


def idle_maps(can: Tuple[str, ...]) -> Dict[str, int]:
    """Return what memory the worker has before its first task; empty if its engine needs not know."""
    return read_memory_maps() if "anatomy" in can else {}


class BaseEngine:
    """One way to run tasks. `serve` holds the target until the process ends."""

    can: Tuple[str, ...] = (*CPYTHON_COMMANDS, "trim", "burst") if CPYTHON else ("trim", "burst")
    """The optional commands that it supports."""

    coroutines: ClassVar[bool] = False
    """Whether its tasks run coroutine functions rather than plain ones."""

    native: ClassVar[Dict[str, str]] = {}
    """What tasks allocate besides objects, by the kind of memory, as in `agent.memory.memory_maps`."""

    older_refused: ClassVar[str] = ""
    """Why a burst cannot have tasks that were created before it and have not begun; empty if it can."""

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
        self.idle_maps: Dict[str, int] = {}
        """What `read_memory_maps` returned before the first task; empty if unknown."""
        # A command may change what is wanted.
        self.inbox = Inbox(self.wake, partial(self.allow_replacements, 0, 0))
        """Commands from other threads."""
        self.limits = GrowthLimits(send, self.tracker, self.counts, self.reserve, self.inbox.submit)
        self.failures = FailureReporter(send, self.tracker, self.limits.hit_by_task)
        self.setups = Setups(send)
        self.bursts = Bursts(self.create_list, self.counts, self.tracker, collector, self.older_refused)

    # Called from any thread.

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
            from concwatch.portable.worker.tasks.user_function import load_setup  # imports inspect

            setup = load_setup(workload, self.coroutines)
        if setup is not None:
            yield from self.setups.enter(setup)
            workload.call = setup.call
        self.load(workload)
        self.setups.replace(setup)
        if not self.counts.created:
            self.idle_maps = idle_maps(self.can)  # what it has imported is no task's
        self.failures.restart()
        self.timing.reset()
        self.tracker.replace(self.counts.live)
        return True

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

    def tasks(self) -> Iterable[Any]:
        """Return objects of all live tasks, from each of which one leads to everything that it has."""
        raise NotImplementedError

    def hold_target(self) -> Waits:
        """Hold the target forever; each engine waits in its own way for what this yields."""
        while True:
            yield None
            yield from self.inbox.apply()
            while self.bursts.queued:
                fields = yield from self.bursts.run(self.traced)
                self.send("burst", **fields)
                self.on_reached()
            while True:
                wanted = self.wanted()
                if self.setups.old and not self.tracker.replacing:
                    yield from self.setups.leave_old()
                self.allow_replacements(REPLACEMENTS if wanted else sys.maxsize, wanted)
                if wanted > 0:
                    yield from self.grow(wanted)
                elif wanted < 0 and not (yield from self.shrink(-wanted)):
                    break  # wait until a task ends
                yield from self.inbox.apply()
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

    def create_list(self, count: int, older: List[Any]) -> List[Any]:
        """Create and count ``count`` tasks without a pause, up to a limit; return what keeps them.

        ``older`` are the tasks that were created before them.
        """
        raise NotImplementedError

    def report_reached(self) -> None:
        """Report once that the target has been met."""
        fields = self.tracker.reached(self.counts, monotonic())
        if fields:
            self.send("reached", **fields)
            self.on_reached()
