"""Measure how late event loops run, by a timer in those of asyncio and uvloop, and an instrument of trio.

Neither wakes the agent's thread, which would have to take the interpreter's lock from the loop each time.
"""

from __future__ import annotations

import sys
from time import monotonic, process_time, thread_time

from ..basics.guard import guarded
from ..basics.names import printable
from ..basics.primitives import get_ident, get_native_id
from ..counting.counting import COUNTS
from ..counting.grouping import Unresolved
from .handover import HANDOVER
from .stacks import depth, loop_depth, take_sample, usage_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Callable, Dict, List, Optional, Tuple

    from ..counting.counted_group import CountedGroup
    from .stacks import StackSample, Usage

MAX_SAMPLES = 1_000
"""The most samples of one delay, which last for 20 s."""

MAX_DELAYS = 100
"""The most delays that are kept until the agent's thread reads them."""

BUSY = 0.5
"""The share of CPU time above which a loop is busy, and hands the lock to the agent's thread."""

OVERDUE = 0.02
"""Seconds of delay after which the stack of a loop's thread is first sampled."""

OTHER_CLOCK = 60.0
"""Seconds between a loop's clock and the system's above which the loop uses simulated time."""

LOOPS = "event loops"
"""The figures that heartbeats measure."""


class Delay:
    """An interval in which a loop did not continue.

    Args:
        began: when it began, by the system's monotonic clock.
        ended: when it ended.
        collected: the seconds of it that were spent in garbage collection.
        used: the CPU seconds that the loop's thread used in it.
        process: the CPU seconds that the process used in it.
    """

    __slots__ = ("began", "collected", "ended", "process", "used")

    def __init__(self, began: float, ended: float, collected: float, used: float, process: float) -> None:
        self.began, self.ended = began, ended
        self.collected, self.used, self.process = collected, used, process


class Heartbeat:
    """When a loop last continued, and its delays. The loop's thread writes, the agent's thread reads.

    Args:
        name: the name of the loop.
        kind: its module and class.
        collecting: returns the seconds spent in garbage collection so far.
        after: the least seconds of a delay that is kept.
    """

    def __init__(self, name: str, kind: str, collecting: Callable[[], float], after: float) -> None:
        self.name, self.kind = name, printable(kind)
        self.collecting, self.after = collecting, after
        self.due = self.began = monotonic()
        """When the loop should continue, and when it began what it is running, at the latest."""
        self.waiting = False
        """Whether the loop is known to wait for something to do."""
        self.stopped = False
        self.delays: List[Delay] = []
        """The delays that have ended and have not been read yet."""
        self.samples: List[StackSample] = []
        """Samples of what the loop has been running since it was overdue."""
        self.thread = 0
        """The thread of the loop; 0 until known."""
        self.depth = 0
        """The number of the loop's own frames, if they cannot be told from others."""
        self.step_began = 0.0
        """When the current step of a task began; 0 if unknown."""
        self.report: Optional[Dict[str, Any]] = None
        """The last report of a block that has not ended; None without one."""
        self.reported = 0.0
        """When that was sent."""
        self._collected = collecting()
        self._used = self._process = self._worst = 0.0
        self._native_id = 0

    def _begin(self, now: float, due: float, frame: Optional[FrameType]) -> None:
        """Record that the loop begins to run something; called in its thread.

        Args:
            now: the current time.
            due: when the loop should continue.
            frame: the innermost frame of the loop itself; None if it has not changed.
        """
        if frame is not None:
            # Python 3.14 runs what another thread has requested in one more frame.
            while frame.f_back is not None and frame.f_back.f_code.co_name == frame.f_code.co_name == "_run":
                frame = frame.f_back
            self.thread, self._native_id, self.depth = get_ident(), get_native_id(), depth(frame)
        self._used, self._process, self._collected = thread_time(), process_time(), self.collecting()
        self.began, self.due, self.waiting = (now + due) / 2, due, False

    def _end(self, now: float) -> None:
        """End it."""
        late = now - self.due
        if late > self._worst:
            self._worst = late
        if now - self.began >= self.after and len(self.delays) < MAX_DELAYS:
            used, process = thread_time() - self._used, process_time() - self._process
            collected = self.collecting() - self._collected
            self.delays.append(Delay(self.began, now, collected, used, process))

    def lag(self, now: float) -> float:
        """Return the longest delay since the last call, in seconds, including the current one."""
        worst, self._worst = self._worst, 0.0
        return max(0.0, worst, self.overdue(now))

    def overdue(self, now: float) -> float:
        """Return the seconds by which the loop is late; negative if it is not."""
        return 0.0 if self.waiting else now - self.due

    def delay(self, now: float) -> Delay:
        """Return the current delay."""
        usage = self.usage()
        used = now - self.began if usage is None else usage[0] - self._used
        return Delay(self.began, now, self.collecting() - self._collected, used, 0.0)

    def task(self) -> Tuple[int, Optional[CountedGroup]]:
        """Return a number that is another one for each task that runs, and its group.

        0 if none is known to run, and None if its group is not known.
        """
        return 0, None

    def sample(self, frame: FrameType, now: float, late: float) -> None:
        """Add a sample of the loop's thread."""
        if len(self.samples) < MAX_SAMPLES:
            outer = loop_depth(frame) or self.depth
            sample = take_sample(frame, outer, *self.task(), now, late)
            sample.began = self.step_began
            self.samples.append(sample)

    def add_usage(self) -> None:
        """Add the usage of the loop's thread to the last sample, if it is the first of what is running."""
        if self.samples and len({sample.key for sample in self.samples[-2:]}) == len(self.samples[-2:]):
            self.samples[-1].usage = self.usage()

    def usage(self) -> Optional[Usage]:
        """Return the usage of the loop's thread so far."""
        return usage_of(self._native_id)

    def stop(self) -> None:
        """Stop the heartbeat; the loop counts as never late from now on."""
        self.stopped = self.waiting = True

    @guarded(LOOPS)
    def pause(self) -> None:
        """End what the loop is running, because the loop itself ends; called in its thread. Never raises."""
        if not self.waiting:
            self._end(monotonic())
            self.waiting = True


class TrioHeartbeat(Heartbeat):
    """An instrument of a run of trio, whose loop continues whenever it waits for I/O."""

    def __init__(self) -> None:
        super().__init__("trio", "trio", float, float("inf"))
        self.waiting = True
        self._steps = 0

    def before_run(self) -> None:
        """Register the run."""
        TRIO[id(self)] = self

    def after_run(self) -> None:
        """Unregister the run. Never raises."""
        self.pause()
        TRIO.pop(id(self), None)

    @guarded(LOOPS)
    def after_io_wait(self, timeout: float) -> None:
        """Handle the beginning of a batch of tasks. Never raises."""
        if not self.stopped:
            now = monotonic()
            known = self.thread == get_ident() and self._native_id
            self._begin(now, now, None if known else sys._getframe(3))

    def before_io_wait(self, timeout: float) -> None:
        """Handle the end of a batch of tasks. Never raises."""
        self._end_batch()
        self.waiting = True

    @guarded(LOOPS)
    def _end_batch(self) -> None:
        if self.stopped:
            sys.modules["trio"].lowlevel.remove_instrument(self)
        else:
            self.pause()

    def before_task_step(self, task: Any) -> None:
        """Count a step. Never raises."""
        self._steps += 1
        self.step_began = monotonic()

    def task(self) -> Tuple[int, Optional[CountedGroup]]:
        """Return the number of the current step."""
        return self._steps, None


@guarded(LOOPS)
def hand_over(due: float, now: float) -> None:
    """Let the agent's thread run, in the thread of a busy loop that should continue at ``due``."""
    HANDOVER.promise(due + OVERDUE)
    HANDOVER.give(now)


TRIO: Dict[int, Heartbeat] = {}
"""The heartbeats of runs of trio, and of hubs of gevent, which register themselves, by their ``id``."""

TIMERS: Dict[int, TimerHeartbeat] = {}
"""The heartbeats of loops of asyncio and uvloop, by ``id`` of the loop."""


class TimerHeartbeat(Heartbeat):
    """A timer that a loop of asyncio or uvloop calls repeatedly; it is late if the loop is.

    Args:
        name: the name of the loop.
        loop: a weak reference to the loop, which is running.
        interval: the seconds between two calls.
        collecting: returns the seconds spent in garbage collection so far.
        after: the least seconds of a delay that is kept.
    """

    def __init__(
        self,
        name: str,
        loop: Callable[[], Any],
        interval: float,
        collecting: Callable[[], float],
        after: float,
    ) -> None:
        kind = type(loop())
        super().__init__(name, f"{kind.__module__.partition('.')[0]}.{kind.__name__}", collecting, after)
        self._loop, self._interval = loop, interval
        self._called = 0.0

    def start(self) -> None:
        """Request the first call."""
        loop = self._loop()
        try:
            if loop is not None:
                loop.call_soon_threadsafe(self._call)
                return
        except RuntimeError:  # it was closed just now
            pass
        self.stop()

    def _call(self) -> None:
        """Handle the timer, in the loop's own thread. Raises only what a signal handler raises."""
        if self.stopped:
            return
        now = monotonic()
        busy = self._beat(now)
        if busy is None:
            self.stop()
        elif busy:
            hand_over(self.due, now)

    @guarded(LOOPS)
    def _beat(self, now: float) -> Optional[bool]:
        """End what the loop has been running, and begin to measure again.

        Returns:
            Whether the loop is busy; None if nothing can be measured.
        """
        if not self.waiting:
            self._end(now)
        loop = self._loop()
        if loop is None or loop.is_closed():
            return None
        if not self.thread and abs(loop.time() - now) > OTHER_CLOCK:
            return None  # the loop simulates time, so that its timers measure nothing
        busy = thread_time() - self._used > BUSY * (now - self._called)
        loop.call_later(self._interval, self._call)
        self._called = now
        self._begin(now, now + self._interval, sys._getframe(3))
        return busy

    def measures(self, loop: Any) -> bool:
        """Return whether ``loop`` is the loop of this heartbeat, and not another one with its ``id``."""
        return self._loop() is loop

    def resume(self) -> None:
        """Begin to measure again, because the loop begins to run; called in its thread, by a hook of it."""
        if self.thread and not self.stopped:
            now = monotonic()
            self._begin(now, now + self._interval, sys._getframe(4))

    def task(self) -> Tuple[int, Optional[CountedGroup]]:
        """Return the id and the group of the task that the loop runs."""
        task: Any = sys.modules["asyncio.tasks"].current_task(self._loop())
        if task is None:
            return 0, None
        try:
            return id(task), COUNTS.group_of_task(task)
        except Unresolved:
            return id(task), None
