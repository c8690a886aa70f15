"""A callback that is requested of an event loop again and again, to see how late it is called."""

from __future__ import annotations

import sys
from _thread import get_ident
from time import monotonic, thread_time

from .names import printable
from .primitives import get_native_id
from .stacks import depth, take_sample, usage_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, List, Optional

    from .stacks import StackSample, Usage

MAX_SAMPLES = 1_000
"""Samples of one block: a longer one is judged by its first 20 s."""

PROGRESS_INTERVAL = 1.0
"""Seconds between two reports of a block that goes on."""


class Heartbeat:
    """Requests one callback of a loop after another, and measures how late each is called."""

    def __init__(self, number: int, loop: Any, now: float) -> None:
        self.name = f"loop {number}"
        self.kind = printable(f"{type(loop).__module__.partition('.')[0]}.{type(loop).__name__}")
        self.pending = False
        """Whether a callback has been requested and not been called yet."""
        self.requested = self.called = 0.0
        """When one was requested last, and called last."""
        self.used = 0.0
        """The CPU seconds of the loop's thread between the last two calls."""
        self.seen = now
        """When the loop was last seen to wait for something to do."""
        self.began = 0.0
        """Since when the loop has been running something, when a callback was requested last."""
        self.collected = 0.0
        """Seconds of garbage collection then."""
        self.process = 0.0
        """The CPU seconds of the process until then, if the interpreter's lock was held for long."""
        self.samples: List[StackSample] = []
        """The samples since."""
        self.judged = True
        """Whether it is known if the loop was blocked meanwhile."""
        self.thread = 0
        """The thread of the loop, once a callback has been called."""
        self.number: Optional[int] = None
        """The number of the block that is reported while it goes on."""
        self.progress_due = 0.0
        self._worst = self._thread_time = 0.0
        self._native_id = self._depth = 0

    def request(self, loop: Any, since: float) -> None:
        """Request a callback.

        Args:
            loop: the loop.
            since: the current time; earlier if it could not be requested when it was due.
        """
        self.number, self.judged = None, False
        self.began = (min(since, max(self.called, self.seen)) + since) / 2
        self.requested, self.progress_due, self.pending = since, since + PROGRESS_INTERVAL, True
        try:
            loop.call_soon_threadsafe(self._call)
        except Exception:  # it was closed just now
            self.pending = False

    def _call(self) -> None:
        """Be called in the loop's own thread. Never raises."""
        if not self.pending:
            return
        self.called = monotonic()
        self._worst = max(self._worst, self.called - self.requested)
        used = thread_time()
        self.used, self._thread_time = used - self._thread_time, used
        self._depth = depth(sys._getframe(1))
        if self.thread != get_ident():
            self.thread, self._native_id = get_ident(), get_native_id()
        self.pending = False

    def lag(self, now: float) -> float:
        """Return the longest delay of a callback since the last call, in seconds, including one overdue."""
        worst, self._worst = self._worst, 0.0
        return max(worst, now - self.requested) if self.pending else worst

    def is_running(self, frame: Optional[FrameType]) -> bool:
        """Return whether the loop runs something, given the stack of its thread; True if unknown."""
        return frame is None or depth(frame) > self._depth

    def sample(self, frame: FrameType, loop: Any, now: float, late: float) -> StackSample:
        """Return a sample of the loop's thread."""
        return take_sample(frame, self._depth, loop, now, late)

    def add(self, sample: StackSample) -> None:
        """Add a sample, and the usage of the thread at that time."""
        if len(self.samples) < MAX_SAMPLES:
            sample.usage = self.usage()
            self.samples.append(sample)

    def usage(self) -> Optional[Usage]:
        """Return the usage of the loop's thread so far."""
        return usage_of(self._native_id)
