"""What a lab and a watched program share: a clock, an event log, marks, and observers of snapshots."""

from collections.abc import Callable
from typing import Protocol

from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.verdicts.events import NOTE, EventLog, LaneEventSink, MarkLog


class Viewer(Protocol):
    """Shows some of the snapshots."""

    def is_due(self, now: float) -> bool:
        """Return whether it needs the snapshot at ``now``, in seconds on the snapshots' clock."""
        ...

    def update(self) -> None:
        """Read a snapshot as soon as there is time to show it; must not raise."""
        ...


class Observable:
    """Publishes one snapshot of all lanes per step.

    ``clock`` returns seconds that never go back; ``hz`` is the number of samples per second.
    """

    def __init__(self, clock: Callable[[], float], hz: float) -> None:
        self.clock, self.hz, self.began = clock, hz, clock()
        self.events, self.marks = EventLog(), MarkLog()
        self.log: LaneEventSink = lambda *event, **fields: self.events.add(
            self.clock() - self.began, *event, **fields
        )
        """Adds an event to the event log, and returns its number."""
        self.observers: list[Callable[[Snapshot], None]] = []
        """Called with a snapshot at the end of each step; none may raise."""
        self.viewers: list[Viewer] = []
        """Notified of a step if they are due, to read a snapshot: one that nobody needs is not made."""

    def mark(self, kind: str, text: str, lane: str = "") -> None:
        """Mark this moment with a command of the user."""
        self.marks.add(self.clock() - self.began, lane, kind, text)

    def add_note(self, text: str, moment: float) -> None:
        """Mark a ``moment`` (seconds on the clock) with a note of the user."""
        self.marks.add(moment - self.began, "", NOTE, text)
        self.log("", f"mark: {text}")

    def snapshot(self, now: float | None = None) -> Snapshot:
        """Return a snapshot of all lanes."""
        raise NotImplementedError

    def publish(self, now: float) -> None:
        """Call all observers with a snapshot, and notify the viewers that are due."""
        if self.observers:
            snapshot = self.snapshot(now)
            for observe in [*self.observers]:  # an observer may remove itself
                observe(snapshot)
        for viewer in self.viewers:
            if viewer.is_due(now):
                viewer.update()
