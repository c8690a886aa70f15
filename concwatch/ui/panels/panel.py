"""What the panels of the monitor screen have in common."""

from collections.abc import Iterable, Mapping

from textual.widget import Widget

from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.ui.base.view import MonitorView
from concwatch.ui.look.layout import Layout


def log_nothing(text: str) -> None:
    """Log nothing, as for a recording."""


class Panel:
    """A part of the monitor screen: its widgets, and what they show of each snapshot.

    A subclass overrides what it needs. Before the screen is composed, ``screen`` is set.
    """

    screen: MonitorView

    def widgets(self) -> Iterable[Widget]:
        """Create the widgets."""
        return ()

    def start(self) -> None:
        """Start what the panel does by itself, once the widgets are mounted."""

    def stop(self) -> None:
        """Stop what `start` has started."""

    def place(self, found: Layout) -> None:
        """Set the rows and columns of the widgets."""

    def show(self, snapshot: Snapshot) -> None:
        """Show a snapshot."""

    def key_words(self) -> Mapping[str, str]:
        """Return words of the key bar for keys that do something else in the panel as it is now."""
        return {}

    def recolor(self) -> None:
        """Use the screen's colors, which have changed."""

    def redraw(self) -> None:
        """Draw everything at the next `show`, whether an update is due or not."""


class SidePanel(Panel):
    """The panel on the left, from which a lane is selected."""

    def rows(self, snapshot: Snapshot) -> tuple[int, int]:
        """Return for how many lanes the layout needs room: with no row unfolded, and with all."""
        return 1, 1

    def charted(self, snapshot: Snapshot) -> Iterable[int]:
        """Return the indexes of the lanes that the charts draw."""
        return range(len(snapshot.lanes))

    def number(self, lane: int) -> int:
        """Return the number that selects a lane by key; 0 if none does."""
        return 0

    def on_top(self, lane: int) -> bool:
        """Return whether the charts draw a lane in front of the others."""
        return False

    def held(self) -> Mapping[int, int]:
        """Return the targets at the sliders that are being dragged, by lane."""
        return {}

    def focused(self, widget: Widget) -> None:
        """Handle that a widget has got the focus."""


class Feed(Panel):
    """What makes the screen show another snapshot: the time that goes on, or a play head."""

    rows = 0
    """Rows of its widgets."""

    @property
    def in_view(self) -> bool:
        """Whether no other full screen covers the monitor."""
        return self.screen.is_active or self.screen.app.screen.is_modal

    def show_changes(self) -> None:
        """Show what a key or a click has changed."""
        self.screen.show_snapshot()
