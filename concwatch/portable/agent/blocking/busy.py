"""Measure for how long the tasks of each function keep their event loop busy.

An attribute ``call_soon`` of the loop hides the method of that name, so that the agent is called whenever a
step of a task is scheduled. It schedules one callback before the step and one after. Sampling from another
thread would be biased: that thread gets the interpreter's lock when the loop releases it, and sees the loop
waiting, or a task that does I/O, but hardly ever a task that only computes.

While there are few steps, all are timed. With many, those in short windows at random times are timed, and
each window stands for the time since the previous one.
"""

from __future__ import annotations

from time import monotonic, perf_counter

from ..basics.guard import guarded
from ..basics.part import FOR_EVER, Part
from ..counting.counting import COUNTS
from ..counting.durations import RANDOM
from ..counting.grouping import Unresolved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional

    from ..counting.counted_group import CountedGroup

BUSY = "busy time"
"""The figures that are measured here."""

STEPS_PER_SECOND = 1_000
"""Steps that are timed per second on average; timing one takes about a microsecond."""

MAX_TOKENS = 1_000
"""The most steps that may be timed at once after a quiet period."""

INTERVAL, SETTLED = 0.5, 0.006
"""Mean seconds between two windows, and the seconds from the agent's step until a window may begin.

The agent runs when the loop releases the lock. The beginning of a window must not depend on that: another
thread gets the lock after 5 ms at most.
"""

UPDATED = 0.1
"""Seconds between two updates of all meters."""

WINDOW, SHORTEST = 0.1, 0.005
"""The longest and the shortest window, in seconds."""


class LoopMeter:
    """Times the steps of the tasks of one loop.

    Args:
        loop: the loop, which is running.
        now: the current time.
    """

    def __init__(self, loop: Any, now: float) -> None:
        self.covered = self.elapsed = 0.0
        """The seconds in which all steps were timed, and all seconds."""
        self.busy = 0.0
        """The seconds in which tasks ran."""
        self._call_soon: Callable[..., Any] = loop.call_soon
        self._variables: Dict[str, Any] = loop.__dict__
        self._tokens = float(MAX_TOKENS)
        self._all = True
        self._window = WINDOW
        self._since = self._opens = self._updated = now
        self._closes = float("inf")
        self._weight = 1.0
        self._steps = self._steps_before = 0
        self._began = 0.0
        self._open()

    def _open(self) -> None:
        self._variables["call_soon"] = self._called

    def close(self) -> None:
        """Restore the loop's own ``call_soon``."""
        self._variables.pop("call_soon", None)

    def _called(self, callback: Any, *args: Any, **kw: Any) -> Any:
        """Call the loop's own ``call_soon``, and time the callback if it is a step of a task."""
        group = self._group_to_time(callback)
        if group is None:
            return self._call_soon(callback, *args, **kw)
        self._call_soon(self._begin, **kw)
        handle = self._call_soon(callback, *args, **kw)
        self._call_soon(self._end, group, self._weight, **kw)
        return handle

    @guarded(BUSY)
    def _group_to_time(self, callback: Any) -> Optional[CountedGroup]:
        """Return the group of a task whose step is to be timed; None for any other callback."""
        now = monotonic()
        if now >= self._closes:
            self.close()
            return None
        task: Any = getattr(callback, "__self__", None)
        if now < self._opens or not hasattr(type(task), "get_coro"):
            return None
        try:
            group = COUNTS.group_of_task(task)
        except Unresolved:
            return None
        self._steps += 1
        self._tokens -= 1
        if self._tokens <= 0 and self._all:
            self._all = False
            self._opens = self._closes = self._since = now
            self._set_window((self._steps - self._steps_before) / max(0.001, now - self._updated))
        return group

    def _set_window(self, rate: float) -> None:
        """Choose the length of the next window, given the steps per second."""
        self._window = max(SHORTEST, min(WINDOW, INTERVAL * STEPS_PER_SECOND / max(1.0, rate)))

    @guarded(BUSY)
    def _begin(self) -> None:
        self._began = perf_counter()

    @guarded(BUSY)
    def _end(self, group: CountedGroup, weight: float) -> None:
        seconds = weight * (perf_counter() - self._began)
        group.busy += seconds
        self.busy += seconds

    def step(self, now: float) -> None:
        """Decide whether steps are timed until the next call, which follows within tenths of a second."""
        self._tokens = min(MAX_TOKENS, self._tokens + STEPS_PER_SECOND * (now - self._updated))
        self.elapsed += now - self._updated
        if self._all:
            self.covered += now - self._updated
        self._updated, self._steps_before = now, self._steps
        if self._all or now < self._closes:
            return
        if self._closes > self._opens:  # a window has ended
            seconds = self._closes - self._opens
            self.covered += seconds
            rate = self._steps / seconds
            if rate < STEPS_PER_SECOND / 2:
                self._all, self._weight, self._closes = True, 1.0, float("inf")
                self._since = self._opens = now
                self._open()
                return
            self._set_window(rate)
            self._closes = self._opens  # until the next begins
        if now >= self._since + INTERVAL * (0.5 + RANDOM.next()):
            self._opens = now + SETTLED * (1 + RANDOM.next())
            self._closes = self._opens + self._window
            # The window stands for the time since the previous one.
            self._weight = max(1.0, (now - self._since) / self._window)
            self._since, self._steps = now, 0
            self._open()


class Busy(Part):
    """The meters of all running loops of this process, while tasks are timed."""

    def __init__(self) -> None:
        self.due = 0.0 if COUNTS.timing else FOR_EVER
        self._meters: Dict[int, LoopMeter] = {}
        self._ended = [0.0, 0.0, 0.0]

    def set_timing(self, on: bool) -> None:
        """Begin or end to time tasks and their steps."""
        COUNTS.set_timing(on)
        if on:
            self.due = 0.0
        else:
            self.close()

    @guarded(BUSY)
    def step(self, now: float) -> None:
        """Look for loops, and decide for each whether steps are timed. Never raises."""
        self.due = now + UPDATED
        running = {id(loop): loop for loop in COUNTS.loops.running()}
        for key in set(self._meters) - set(running):
            self._remove(key)
        for key, loop in running.items():
            meter = self._meters.get(key)
            if meter is not None:
                meter.step(now)
            elif hasattr(loop, "__dict__") and "call_soon" not in loop.__dict__ and not loop.get_debug():
                self._meters[key] = LoopMeter(loop, now)

    def _remove(self, key: int) -> None:
        meter = self._meters.pop(key)
        meter.close()
        for number, seconds in enumerate((meter.busy, meter.elapsed, meter.covered)):
            self._ended[number] += seconds

    def read(self) -> Dict[str, float]:
        """Return the fields of a tick: empty if no loop was seen. Never raises."""
        return self._read() or {}

    @guarded(BUSY)
    def _read(self) -> Dict[str, float]:
        meters = list(self._meters.values())
        busy, elapsed, covered = self._ended
        busy += sum([meter.busy for meter in meters])
        elapsed += sum([meter.elapsed for meter in meters])
        covered += sum([meter.covered for meter in meters])
        if not elapsed:
            return {}
        return {"busy": round(busy, 6), "looped": round(elapsed, 6), "covered": round(covered, 6)}

    def close(self) -> None:
        """Restore the ``call_soon`` of all loops."""
        self.due = FOR_EVER
        for key in list(self._meters):
            self._remove(key)
