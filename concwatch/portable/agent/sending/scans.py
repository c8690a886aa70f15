"""Counts and scans the tasks of the process, in time slices that take a small share of its time."""

from __future__ import annotations

import sys
from collections import deque
from time import monotonic, thread_time

from ..basics.guard import guarded
from ..basics.part import FOR_EVER, Part, is_exhausted
from ..counting.counted_group import GEVENT
from ..counting.counting import COUNTS
from ..counting.scan import LINKED, Scan, Tasks, add_running_loops
from ..counting.starts import STARTS
from ..hooking.executors import EXECUTORS
from ..hooking.hooks import HOOKS
from .report import ChangedGroups, task_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Collection, Dict, Iterator, Optional

    from .connection import Outbox

SHARE = 0.005
"""The share of the process's time that the agent uses: 1 % together with its wake-ups."""

LONGEST_PAUSE = 2.5
"""The longest pause after a slice, as a multiple of the one that the slice's own time asks for.

What the rest of the agent takes makes slices rarer, but no rarer than this: ticks that reach their share
would leave them no time.
"""

REQUEST_SHARE = 0.1
"""The share of the process's time that the agent uses while it answers a request."""

FIRST_SLICE = 0.01
"""Seconds until the first slice of a scan, so that it is not done at once with the first report."""

URGENT_DELAY = 0.002
"""Seconds between two slices of a scan that keeps tasks alive."""

MAX_PAUSE = 0.015
"""Seconds of pause above which a scan is repeated only every `LONG_SCAN_INTERVAL`."""

LONG_SCAN_INTERVAL = 60.0

GOLDEN = 0.6180339887

JITTER = 0.3
"""The range of the time between two scans, as a share of its mean."""


class TaskScans(Part):
    """Counts the tasks as they are created, from now on, and scans the live ones from time to time.

    Args:
        outbox: what sends the groups after each scan.
        options: those of the session.
        interval: mean seconds between two scans.
    """

    due = 0.0

    def __init__(self, outbox: Outbox, options: Collection[str], interval: float) -> None:
        COUNTS.clear()
        EXECUTORS.clear()
        add_running_loops()
        COUNTS.scanned = True
        if GEVENT in sys.modules:
            from ..hooking.greenlets import GREENLETS  # few programs need it

            GREENLETS.find_existing()
        existing = Tasks()
        for name in ("outcomes", "timing", "by_name"):
            setattr(COUNTS, name, name in options)
        HOOKS.install()
        self._outbox, self._interval = outbox, interval
        self._scan = Scan()
        self.groups = ChangedGroups(outbox, self._scan)
        """What reports the groups."""
        self._slices: Optional[Iterator[None]] = self._reporting(self._scan.count_existing(existing))
        self._next = self._jitter = 0.0
        self._pause_reported = False

    def set_interval(self, seconds: float) -> None:
        """Change the seconds between two scans; the next one begins at once."""
        self._interval, self._next, self.due = seconds, 0.0, 0.0

    @property
    def is_urgent(self) -> bool:
        """Whether a scan keeps tasks alive until it ends."""
        return self._slices is not None and self._scan.urgent

    @guarded("live tasks")
    def step(self, now: float) -> None:
        """Run one time slice of a scan."""
        if self._slices is None:
            HOOKS.replace_imported()
            # Not in step with a periodic program: the golden ratio spreads the times evenly.
            self._jitter = (self._jitter + GOLDEN) % 1
            self._next = now + self._interval * (1 - JITTER / 2 + JITTER * self._jitter)
            self._slices, self.due = self._reporting(self._scan.run()), 0.0
        if is_exhausted(self._slices):
            self._slices = None
            if LINKED and self._scan.pause > MAX_PAUSE:
                self._next = now + LONG_SCAN_INTERVAL
                self._report_pause()
            self.due = self._next

    def _reporting(self, scan: Iterator[None]) -> Iterator[None]:
        """Scan, then report the groups that have changed. A generator: one time slice per step."""
        yield from scan
        if not self._outbox.connection.behind:
            yield
            yield from self.groups.send(monotonic())

    def _report_pause(self) -> None:
        if not self._pause_reported:
            self._pause_reported = True
            self._outbox.send_error(
                None,
                "tasks are counted only once a minute: this Python lists all of them at once, "
                f"which stops the program for {self._scan.pause * 1000:.0f} ms",
            )

    def read(self) -> Dict[str, Any]:
        """Return how many tasks there are."""
        return task_fields(self._scan)

    def finish(self, deadline: float) -> None:
        """Scan the tasks for the last time."""
        for slices in (self._slices, self._scan.run(), self._scan.run()):  # two: see `CountedGroup.uncounted`
            self._finish_scan(slices or iter(()), deadline)

    @guarded("live tasks")
    def _finish_scan(self, slices: Iterator[None], deadline: float) -> None:
        for _ in slices:
            if monotonic() > deadline:
                break

    def close(self) -> None:
        """Count no more tasks."""
        try:
            HOOKS.remove()
        finally:
            STARTS.remove()


class TimeSlices(Part):
    """Gives parts turns, a time slice each, so that all of them take a small share of the process's time.

    Args:
        scans: the scans.
        requests: what the monitor has asked for, which gets a larger share.
        others: what else gets turns.
    """

    def __init__(self, scans: TaskScans, requests: Part, *others: Part) -> None:
        self._scans, self._requests = scans, requests
        self._turns = deque([requests, *others, scans])
        self._earliest = self._latest = self._took = 0.0

    def connect(self, descriptor: int) -> None:
        """Wait for a moment, because a report is sent."""
        self.due = self._earliest = self._latest = monotonic() + FIRST_SLICE

    def step(self, now: float) -> None:
        """Run a time slice of the next part for which one is due."""
        for part in list(self._turns):
            self._turns.rotate(-1)
            if now >= part.due:
                began = thread_time()
                part.step(now)
                self._took = thread_time() - began
                return

    def charge(self, seconds: float) -> None:
        """Set when the next slice is due: once the CPU time so far, with these ``seconds``, is the share.

        Args:
            seconds: CPU time of the agent's last step, a slice included.
        """
        now = monotonic()
        share = SHARE if self._requests.due == FOR_EVER else REQUEST_SHARE
        self._latest = max(self._latest, now) + LONGEST_PAUSE * self._took / share
        self._earliest = min(max(self._earliest, now) + seconds / share, self._latest)
        self._took = 0.0
        self.due = max(self._earliest, min([part.due for part in self._turns]))
        if self._scans.is_urgent:
            self.due = now + URGENT_DELAY
