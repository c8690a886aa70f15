"""The event log of a source."""

from collections.abc import Iterable

from textual.widget import Widget

from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.ui.look.layout import FRAME, Layout
from concwatch.ui.panels.panel import Panel
from concwatch.ui.widgets.tables.event_view import SHOWN, EventView


class EventPanel(Panel):
    """Shows the last events."""

    def __init__(self, most: int = SHOWN, rows: int | None = None) -> None:
        """Create the panel.

        Args:
            most: the maximum number of events.
            rows: a fixed number of rows; None for as many as the events need.
        """
        self._most = most
        self._view = EventView(rows)
        self._shown = -1

    def widgets(self) -> Iterable[Widget]:
        """Return the view of the events."""
        return [self._view]

    def place(self, found: Layout) -> None:
        """Set the height, or leave the events out."""
        self._view.place(found.events, FRAME * found.below.framed)

    def show(self, snapshot: Snapshot) -> None:
        """Show the last events, if there are new ones."""
        if self._shown != snapshot.events.count:
            self._shown = snapshot.events.count
            events = snapshot.events.since(max(0, self._shown - self._most))
            self._view.show(events, self.screen.colors_of(snapshot))

    def redraw(self) -> None:
        """Draw the events at the next `show`."""
        self._shown = -1
