"""The snapshots of something live, as fast as they can be read."""

from collections.abc import Awaitable, Callable

from concwatch.monitor.metrics.observable import Observable
from concwatch.ui.panels.panel import Feed


async def _unchanged() -> bool:
    return False


class LiveFeed(Feed):
    """Updates the screen after a step of a lab or a watched program, if an update is due."""

    def __init__(self, observed: Observable) -> None:
        """Create the feed of ``observed``, which the caller steps."""
        self._observed = observed
        self.rearrange: Callable[[], Awaitable[bool]] = _unchanged
        """Shows other lanes if there are others now, and returns whether it did."""
        self._waiting = False

    def start(self) -> None:
        """Start following the steps."""
        self._observed.viewers.append(self)

    def stop(self) -> None:
        """Stop following the steps."""
        self._observed.viewers.remove(self)

    def is_due(self, now: float) -> bool:
        """Return whether the screen needs the snapshot at ``now``."""
        return self.screen.is_due(now)

    def update(self) -> None:
        """Show the newest snapshot once the screen has time for it."""
        if not self._waiting:
            self._waiting = self.screen.call_later(self._show)

    async def _show(self) -> None:
        self._waiting = False
        if not await self.rearrange() and self.screen.in_view:
            self.screen.show_snapshot()
