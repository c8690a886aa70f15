"""The snapshots of something live, as fast as they can be read."""

from collections.abc import Awaitable, Callable

from concwatch.monitor.observable import Observable
from concwatch.monitor.snapshot import Snapshot
from concwatch.ui.panels.panel import Feed


def _as_it_is(snapshot: Snapshot) -> Snapshot:
    return snapshot


async def _unchanged() -> bool:
    return False


class LiveFeed(Feed):
    """Shows the snapshots that a lab or a watched program publishes, if it is time for one."""

    def __init__(self, observed: Observable, arrange: Callable[[Snapshot], Snapshot] = _as_it_is) -> None:
        """Create the feed.

        Args:
            observed: the lab or the program, which the caller steps.
            arrange: returns a published snapshot with the lanes as the screen has them.
        """
        self._observed, self._arrange = observed, arrange
        self.rearrange: Callable[[], Awaitable[bool]] = _unchanged
        """Shows other lanes if there are others now, and returns whether it did."""
        self._latest: Snapshot | None = None

    def start(self) -> None:
        """Start to view the snapshots."""
        self._observed.viewers.append(self)

    def stop(self) -> None:
        """Stop to view the snapshots."""
        self._observed.viewers.remove(self)

    def is_due(self, now: float) -> bool:
        """Return whether the screen needs the snapshot at ``now``."""
        return self.screen.is_due(now)

    def view(self, snapshot: Snapshot) -> None:
        """Show a snapshot soon; it replaces one that is still waiting to be shown."""
        if self._latest is None:
            self.screen.call_later(self._show)
        self._latest = snapshot

    async def _show(self) -> None:
        latest, self._latest = self._latest, None
        if not await self.rearrange() and latest is not None and self.screen.in_view:
            self.screen.show_snapshot(self._arrange(latest))
