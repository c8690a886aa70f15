"""What a lab and a watched program have in common: clock, event log, marks, and observers of snapshots."""

from collections.abc import Callable, Iterable
from typing import Any

from concwatch.lab.events import NOTE, EventLog, MarkLog, Severity
from concwatch.lab.snapshot import Snapshot


class Observable:
    """Lanes that are seen by one snapshot a step."""

    def __init__(self, clock: Callable[[], float], hz: float) -> None:
        """Begin now on ``clock`` (seconds that never go back), with ``hz`` samples a second."""
        self.clock, self.hz, self.began = clock, hz, clock()
        self.events, self.marks = EventLog(), MarkLog()
        self.observers: list[Callable[[Snapshot], None]] = []
        """Called with a snapshot at the end of each step; none may raise."""

    def log(self, lane: str, text: str, severity: Severity = "info") -> None:
        """Add what happened to the event log."""
        self.events.add(self.clock() - self.began, lane, text, severity)

    def tell(self, text: str) -> None:
        """Add to the event log what a person did that changes no lane."""
        self.log("", text)

    def mark(self, kind: str, text: str, lane: str = "") -> None:
        """Mark this moment with a command that a person gave."""
        self.marks.add(self.clock() - self.began, lane, kind, text)

    def note(self, text: str, moment: float) -> None:
        """Mark a ``moment`` (seconds on the clock) with what a person says of it."""
        self.marks.add(moment - self.began, "", NOTE, text)
        self.tell(f"mark: {text}")

    def snapshot(self, now: float | None = None) -> Snapshot:
        """Return a picture of all lanes as they are."""
        raise NotImplementedError

    def groups(self) -> Iterable[tuple[int, tuple[Any, ...]]]:
        """Return the lanes whose tasks are of several kinds, each with the largest groups of them."""
        return ()

    def publish(self, now: float) -> None:
        """Show a snapshot to all observers."""
        if self.observers:
            snapshot = self.snapshot(now)
            for observe in list(self.observers):  # one may leave meanwhile
                observe(snapshot)
