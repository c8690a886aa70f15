"""The snapshots of something live, as fast as they can be read."""

from collections.abc import Awaitable, Callable

from concwatch.monitor.metrics.observable import Observable
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.ui.panels.panel import Feed

READING, STEADY, COVERED = 0.25, 0.5, 3.0
"""The minimum seconds between two updates of live figures, so that people can read them; while the number of
tasks does not change; and behind a dialog, where Textual draws the whole screen twice each time. An event,
and what the user does, is shown at once.
"""


async def _unchanged() -> bool:
    return False


class LiveFeed(Feed):
    """Updates the screen after a step of a lab or a watched program, if an update is due."""

    def __init__(self, observed: Observable) -> None:
        """Create the feed of ``observed``, which the caller steps."""
        self._observed = observed
        self.rearrange: Callable[[], Awaitable[bool]] = _unchanged
        """Shows other lanes if there are others now, and returns whether it did."""
        self._waiting = self._covered = False
        self._due = 0.0
        self._events = -1

    def start(self) -> None:
        """Start following the steps."""
        self._observed.viewers.append(self)

    def stop(self) -> None:
        """Stop following the steps."""
        self._observed.viewers.remove(self)

    def is_due(self, now: float) -> bool:
        """Return whether the last snapshot has been shown for long enough, given the time on their clock."""
        screen = self.screen
        active = screen.is_active  # `is_current` is true behind a dialog too
        closed = self._covered and active  # a dialog
        if now < self._due and not closed and screen.snapshot.events.count == self._events:
            return False
        self._covered = not active
        self._due = now + (COVERED if self._covered else STEADY if screen.steady else READING)
        return True

    def show(self, snapshot: Snapshot) -> None:
        """Note which events are shown."""
        self._events = snapshot.events.count

    def show_changes(self) -> None:
        """Show what a key or the mouse has changed, and soon what it causes."""
        super().show_changes()
        self._due = min(self._due, self.screen.snapshot.time + READING)

    def update(self) -> None:
        """Show the newest snapshot once the screen has time for it."""
        if not self._waiting:
            self._waiting = self.screen.call_later(self._show)

    async def _show(self) -> None:
        self._waiting = False
        if not await self.rearrange() and self.in_view:
            self.screen.show_snapshot()
