"""Hands the interpreter's lock from the thread of a busy event loop to that of the agent.

A busy loop releases the lock for a moment in each iteration. This wakes a thread that waits for the lock, but
too late to get it: with 8,000 iterations per second, the agent's thread was woken 5,000 times, which took
10 % of a processor, and got the lock after up to a second. Therefore it does not wait for the lock while a
loop is busy: the loop's heartbeat wakes it, and waits until it has done what was due.
"""

from __future__ import annotations

import sys
from time import monotonic

from ..basics.primitives import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GIL = getattr(sys, "_is_gil_enabled", lambda: True)()
"""Whether the interpreter has a global lock."""

EARLY = 0.015
"""Seconds by which the agent's thread may run early."""

MAX_START, MAX_STEP = 0.0005, 0.003
"""Maximum seconds that a loop waits for the agent's thread: until it runs, and until it is done."""

MIN_EXTENDED = 0.01
"""Seconds below which a wait always ends on time, as between the slices of a scan that keeps tasks alive."""

FOR_EVER = float("inf")


class Handover:
    """The waits of the agent's thread, and what ends them."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Create new locks, because in a forked child those of the parent's threads may be held."""
        self._wake, self._done = allocate_lock(), allocate_lock()
        self._wake.acquire()
        self._done.acquire()
        self._works = False
        """Whether the agent's thread is between two waits."""
        self._given = False
        """Whether a loop has handed the lock over since the last wait began."""
        self._due, self._promised = FOR_EVER, 0.0
        self._paused = False

    def pause(self, paused: bool) -> None:
        """Stop or continue to hand the lock over.

        While stacks are sampled, they would show mostly the loop that does so.
        """
        self._paused, self._promised = paused, 0.0

    def wait(self, seconds: float) -> float:
        """Wait, in the agent's thread, for some seconds, or until `wake` or `give`.

        If a loop has promised to call `give`, it waits for that instead.

        Returns:
            When the wait should have ended.
        """
        self.end()
        self._due = monotonic() + seconds
        until = self._due if seconds < MIN_EXTENDED else max(self._due, self._promised)
        woken = self._wake.acquire(True, max(0.0, until - monotonic()))
        self._works = True
        return monotonic() if woken else until

    def end(self) -> None:
        """Let the waiting loop continue, because the agent's thread is done or exits."""
        self._works, self._due = False, FOR_EVER
        if self._given:
            self._given = False
            _release(self._done)

    def wake(self) -> None:
        """End the wait of the agent's thread."""
        _release(self._wake)

    def promise(self, until: float) -> None:
        """Announce that `give` will be called by then, unless the loop is overdue."""
        if GIL and not self._paused:
            self._promised = until

    def give(self, now: float) -> None:
        """Let the agent's thread run, in the thread of a loop, if it is due or waits for the lock."""
        if self._given or self._paused or not GIL or not (self._works or now >= self._due - EARLY):
            return
        self._done.acquire(False)
        self._given = True
        self.wake()
        # It needs a moment to start. Without a free processor, that takes longer, and the loop continues.
        if not self._done.acquire(True, MAX_START) and self._works:
            self._done.acquire(True, MAX_STEP)


def _release(lock: Any) -> None:
    try:
        lock.release()
    except RuntimeError:  # it is not held
        pass


HANDOVER = Handover()
"""The waits of the agent's thread of this process."""
