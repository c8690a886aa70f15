"""Find, on request, where the CPU time of this process goes, by samples of the stacks of its threads.

Only the thread that has the interpreter's lock can read stacks. A thread that waits for the lock usually gets
it when the program releases it by itself, in the selector of an event loop or in a system call: such samples
would show these places, and hardly ever the code that computes. Therefore the interpreter's switch interval
is almost 0 while this thread waits, and so is the slack of its timers, without which the system would add
50 µs: the thread that runs is then interrupted at once, wherever it is.

A sample counts if its thread uses CPU time directly after it: one that waits does not. How much CPU time
threads use is not sampled, but read from their clocks, and divided among the samples.
"""

from __future__ import annotations

import os
import sys
import time
from time import monotonic, process_time, thread_time

from ..basics.primitives import get_ident, get_native_id, sleep
from ..counting.threads import thread_label
from .handover import HANDOVER
from .stack_counts import StackCounts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

    from .stack_counts import CountedStacks, Stack

SUPPORTED = sys.platform == "linux" and hasattr(time, "clock_gettime")
"""Whether the CPU time of each thread can be read."""

INTERVAL = 0.01
"""The mean seconds between two samples."""

SHARE = 0.02
"""The share of the time that samples may take: with thousands of threads, each takes milliseconds."""

GOLDEN = 0.6180339887

WINDOW = 0.0002
"""Seconds after a sample in which a thread must run for the sample to count."""

RAN = 0.00003
"""The CPU seconds that show that it has run."""

ROUNDING = 0.0000005
"""Half of the microsecond to which the interpreter rounds the switch interval down."""

LATE, KEPT = 0.002, 0.25
"""Seconds by which a sample is late if code keeps the interpreter's lock, and its share of CPU time then."""

SWITCH, CONTENDED_SWITCH = 0.000005, 0.001
"""The switch interval while this thread waits, and if several others compete for the interpreter's lock."""

LATENESS = 0.02
"""The switch interval as a share of the usual lateness of samples, if that is more: each takes CPU time."""

TIMER_SLACK, USUAL_SLACK = 1, 0
"""Nanoseconds that the system may add to a timer of this thread; 0 is the usual value of the process."""

MOSTLY = 0.5
"""The share of idle samples above which a thread that has just run may have waited before."""

COMPETES = 0.1
"""The share of the time for which a thread runs that competes for the lock."""

_EACH_THREAD = 6
"""The system's clock of the CPU time of one thread: ``CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED``."""


class SampledThread:
    """A thread whose stack is sampled.

    Args:
        native_id: the system's number of the thread.
        counts: the stacks of the threads that run the same function.
        used: the CPU seconds that it had used when sampling began.
    """

    __slots__ = ("clock", "counts", "used")

    def __init__(self, native_id: int, counts: CountedStacks, used: float = 0.0) -> None:
        self.clock = ~native_id << 3 | _EACH_THREAD
        self.counts, self.used = counts, used

    def cpu(self) -> Optional[float]:
        """Return the CPU seconds that the thread has used; None if it has ended."""
        try:
            return time.clock_gettime(self.clock)
        except OSError:
            return None


def stands_for(due: int, late: float, since: float, most: float) -> float:
    """Return how many samples this one of a thread stands for: code that keeps the lock delays others.

    If the thread has hardly run meanwhile, the system has delayed both.

    Args:
        due: how many samples were due when it was taken.
        late: how late it was taken, in seconds.
        since: the CPU seconds that the thread has used since the sample before.
        most: those of the thread that has used most.
    """
    return 1 + (due - 1) * since / most if since > KEPT * late else 1.0


class Profiler:
    """Samples the stacks of all threads for some seconds. Always `close` it.

    The thread that calls `step` calls `wait` before it waits, and `resume` directly afterwards.

    Args:
        seconds: for how long.
        send: called with the fields of the report at the end.
        loops: returns, by the number of a thread, how many of its outermost frames are those of a loop.

    Raises:
        ValueError: the CPU time of threads is not known here.
    """

    def __init__(
        self,
        seconds: float,
        send: Callable[[Dict[str, Any]], None],
        loops: Callable[[], Dict[int, int]] = dict,
    ) -> None:
        if not SUPPORTED:
            raise ValueError(f"the CPU time of a thread is not known on {sys.platform}, only on Linux")
        self._send, self._loops, self._stacks = send, loops, StackCounts()
        self._began = self._last = monotonic()
        self._ends, self._due = self._began + seconds, self._began + INTERVAL
        self._jitter, self._least_pause = 0.0, 0.0
        self._taken, self._all_due = 0, 0
        self._process, self._own = process_time(), thread_time()
        self._threads: Dict[int, Optional[SampledThread]] = {}
        """By the interpreter's number; None if its system's number is not known."""
        self._add_threads(list(sys._current_frames()), False)
        self._usual = self._current = 0.0
        """The program's switch interval, and the one that was set instead; 0 while none is."""
        self._waiting = SWITCH
        self._usual_late = 0.0
        HANDOVER.pause(True)
        _set_timer_slack(TIMER_SLACK)

    def wait(self) -> None:
        """Shorten the switch interval, directly before this thread waits."""
        self.resume()
        self._usual = sys.getswitchinterval()
        self._current = min(self._waiting, self._usual)
        sys.setswitchinterval(self._current + ROUNDING)

    def resume(self) -> None:
        """Restore the switch interval, unless the program has changed it meanwhile."""
        if self._current and abs(sys.getswitchinterval() - self._current) < 2 * ROUNDING:
            sys.setswitchinterval(self._usual + ROUNDING)
        self._current = 0.0

    def close(self) -> None:
        """Restore the switch interval and the timers."""
        self.resume()
        HANDOVER.pause(False)
        _set_timer_slack(USUAL_SLACK)

    def end(self) -> None:
        """End at the next step."""
        self._ends = 0.0

    def step(self, now: float) -> Optional[float]:
        """Take a sample if one is due, or send the report at the end.

        Returns:
            The seconds until the next step, less than 0 if it is overdue; None after the end.
        """
        if now >= self._ends:
            self._send(self._report(now))
            return None
        if now >= self._due:
            self._sample(now)
        return min(self._due, self._ends) - monotonic()

    def _pass_due(self, now: float) -> int:
        """Return how many samples were due until ``now``, and determine when the next one is.

        However late samples are taken, they are due at times that do not depend on what the program runs.
        """
        passed = 0
        while self._due <= now:
            passed += 1
            # Not in step with a periodic program: the golden ratio spreads the times evenly.
            self._jitter = (self._jitter + GOLDEN) % 1
            self._due += max(INTERVAL * (0.5 + self._jitter), self._least_pause)
        return passed

    def _add_threads(self, idents: Iterable[int], are_new: bool) -> None:
        """Add threads by their numbers; ``are_new``: they have started since sampling began."""
        threading, pid, own = sys.modules.get("threading"), os.getpid(), get_ident()
        active: Dict[int, Any] = dict(getattr(threading, "_active", {}))
        others = [ident for ident in idents if ident != own]
        for ident in others:
            thread = active.get(ident)
            native_id = getattr(thread, "native_id", None)
            if thread is None and not are_new and len(others) == 1:
                # Nothing has loaded ``threading``, or gevent has replaced it.
                native_id = pid
            if not native_id:
                self._threads[ident] = None
                continue
            label = "main" if native_id == pid else thread_label(thread)
            found = SampledThread(native_id, self._stacks.of(label))
            found.used = 0.0 if are_new else found.cpu() or 0.0
            self._threads[ident] = found

    def _sample(self, now: float) -> None:
        """Count the stacks of the threads that run."""
        late, elapsed, self._last = now - self._due, now - self._last, now
        due = self._pass_due(now)
        self._taken += 1
        self._all_due += due
        began = thread_time()
        found = self._read()
        took = thread_time() - began
        most = max([since for *_, since in found], default=0.0)
        has_kept = late > LATE and most > KEPT * late
        if found and not (has_kept and len(found) == 1):  # that one has run, as is known
            self.wait()
            sleep(WINDOW)
            self.resume()
        began = thread_time()
        woken: Dict[int, float] = {}
        for ident, thread, stack, since in found:
            before, cpu = thread.used, thread.cpu()
            if cpu is None or not stack:
                continue
            weight = stands_for(due, late, since, most)
            ran = (has_kept and since == most) or cpu - before >= RAN
            if ran and thread.counts.idle_share(stack[-1]) > MOSTLY:
                woken[ident] = weight
            else:
                self._stacks.count(thread.counts, stack, ran, weight)
        self._count_woken(woken)
        competing = sum([since > COMPETES * elapsed for *_, since in found])
        self._usual_late = 0.8 * self._usual_late + 0.2 * late
        least = SWITCH if competing < 2 else CONTENDED_SWITCH
        self._waiting = max(least, LATENESS * self._usual_late)
        self._least_pause = (took + thread_time() - began) / SHARE

    def _count_woken(self, weights: Dict[int, float]) -> None:
        """Count what threads run now that have waited, as it seems, when their stacks were read.

        Args:
            weights: the threads, by their numbers, and for how many samples each stands.
        """
        frames = self._frames() if weights else {}
        loops = self._loops()
        for ident, weight in weights.items():
            thread = self._threads.get(ident)
            if ident in frames and thread is not None:
                stack = self._stacks.read(frames[ident], loops.get(ident, 0))
                if stack:
                    self._stacks.count(thread.counts, stack, True, weight)

    def _frames(self) -> Dict[int, FrameType]:
        """Return the innermost frame of each other thread. Keep no reference to them for long."""
        frames = sys._current_frames()
        del frames[get_ident()]  # it refers to ``frames``, and would keep all of them alive
        return frames

    def _read(self) -> List[Tuple[int, SampledThread, Stack, float]]:
        """Read the stacks of the threads that have used CPU time since the last time.

        Keeps no reference to a frame, which would prolong the life of the program's objects.

        Returns:
            Each thread by its number, with its stack, and the CPU seconds used since then.
        """
        frames, loops = self._frames(), self._loops()
        found: List[Tuple[int, SampledThread, Stack, float]] = []
        for ident in set(self._threads).difference(frames):
            del self._threads[ident]
        new = [ident for ident in frames if ident not in self._threads]
        if new:
            self._add_threads(new, True)
        for ident, frame in frames.items():
            thread = self._threads[ident]
            if thread is None:
                continue
            cpu = thread.cpu()
            if cpu is None:  # a new thread has its number: it is added the next time
                del self._threads[ident]
                continue
            since, thread.used = cpu - thread.used, cpu
            if since > 0:
                thread.counts.cpu += since
                found.append((ident, thread, self._stacks.read(frame, loops.get(ident, 0)), since))
        return found

    def _report(self, now: float) -> Dict[str, Any]:
        """Return the fields of the report."""
        used = process_time() - self._process - (thread_time() - self._own)
        seconds = now - self._began
        return {
            "seconds": round(seconds, 3),
            "cpu": round(max(0.0, used), 6),
            "taken": self._taken,
            **self._stacks.report(seconds / max(1, self._all_due)),
        }


def _set_timer_slack(nanoseconds: int) -> None:
    """Set the slack of this thread's timers, where the system allows that."""
    try:
        file = os.open(f"/proc/{get_native_id()}/timerslack_ns", os.O_WRONLY)
        try:
            os.write(file, b"%d" % nanoseconds)
        finally:
            os.close(file)
    except OSError:
        pass
