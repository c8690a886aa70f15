"""The monitor screen, which is composed of panels."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct
from textual import on
from textual.app import ComposeResult
from textual.events import DescendantFocus, Resize
from textual.geometry import Size
from textual.widget import Widget

from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.ui.base.base_screen import is_exiting
from concwatch.ui.base.keyboard import bar, bindings, help_lines
from concwatch.ui.base.view import MonitorView
from concwatch.ui.keys import keys
from concwatch.ui.look.layout import Layout, layout
from concwatch.ui.look.palette import themed_lane_colors
from concwatch.ui.panels.charts import ChartPanel
from concwatch.ui.panels.events import EventPanel
from concwatch.ui.panels.panel import Feed, Panel, SidePanel
from concwatch.ui.widgets.bars.key_bar import KeyBar
from concwatch.ui.widgets.bars.status_bar import StatusBar
from concwatch.ui.widgets.lanes.slider import Slider
from concwatch.ui.widgets.text.kept_lines import Background, Transparent

BARS = 2
"""Rows of the status bar and the key bar."""


class Parts(Struct, frozen=True):
    """What a monitor screen is composed of, from the top."""

    status: StatusBar
    side: SidePanel
    charts: ChartPanel
    below: Sequence[Panel]
    """The panels between the charts and the events."""
    events: EventPanel
    feed: Feed

    @property
    def panels(self) -> Sequence[Panel]:
        """The panels, in the order in which they show a snapshot."""
        return (self.side, *self.below, self.charts, self.events, self.feed)

    def layout(self, size: Size, snapshot: Snapshot, captions: int) -> Layout:
        """Return the layout of a snapshot in a terminal of ``size``, with ``captions`` rows of a demo."""
        folded, unfolded = self.side.rows(snapshot)
        found = layout(size.width, size.height, folded, BARS + self.feed.rows + captions, unfolded)
        return found.unfolded(len(snapshot.lanes))


class Help(Struct, frozen=True):
    """What the help says besides the keys."""

    subject: str
    """What the screen shows, for the title."""
    mouse: str = ""
    """What the mouse does."""
    watched: bool = False
    """Whether it shows a watched program, which has words of its own."""


class MonitorScreen(MonitorView, Background):
    """Shows a lab, a watched program, or a recording of either. Its panels decide what it offers."""

    AUTO_FOCUS = "LaneCard"  # without one nothing: arrow keys then move the play head or select a group
    BINDINGS = bindings((*keys.MONITOR, *keys.REPLAY, *keys.WATCH, *keys.WATCH_REPLAY))

    def __init__(
        self,
        read: Callable[[], Snapshot],
        parts: Parts,
        size: Size,
        help: Help,
        status_text: Callable[[], str] = str,
    ) -> None:
        """Create the screen; its ``keyboard`` is set before it is shown.

        Args:
            read: returns the snapshot of the current moment.
            parts: what the screen is composed of.
            size: the terminal's initial size, in cells.
            help: what the help says besides the keys.
            status_text: returns what else is running, for the status bar.
        """
        super().__init__()
        self._read, self._parts, self._help = read, parts, help
        self._status_text = status_text
        self.side, self.charts = parts.side, parts.charts
        for panel in parts.panels:
            panel.screen = self
        self.snapshot = read()
        self.lane_colors = []
        self._live: list[int] = []
        self.steady = False
        self._started = self._drawn = False
        self._rearranging = False
        self._placed: Layout | None = None
        self._words: Mapping[str, str] = {}
        self.set_class(parts.feed.rows > 0, "-transport")
        # Now, so that no widget is styled twice.
        self._set_layout_classes(parts.layout(size, self.snapshot, 0))

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        self._choose_colors()
        parts = self._parts
        yield parts.status
        with Transparent(id="body"):
            yield from parts.side.widgets()
            yield from parts.charts.widgets()
        for panel in parts.below:
            yield from panel.widgets()
        yield from parts.events.widgets()
        yield from parts.feed.widgets()
        self._bar = KeyBar(bar(self.keyboard.rows), self.keyboard.press)
        yield self._bar

    def on_mount(self) -> None:
        """Show the first snapshot, and start."""
        if is_exiting(self.app):
            return
        self._place_widgets(self.app.size)
        self.show_snapshot()
        self._started = True
        for panel in self._parts.panels:
            panel.start()

    def update_node_styles(self, animate: bool = True) -> None:
        """Style every widget again, except before the first frame: each is styled when it is mounted."""
        if self._drawn:
            super().update_node_styles(animate)

    def on_unmount(self) -> None:
        """Stop the panels."""
        for panel in self._parts.panels if self._started else ():
            panel.stop()

    # --- layout and colors ----------------------------------------------------------------------------------

    def on_caption_bar_resized(self) -> None:
        """Leave room for the caption of a demo."""
        self._place_widgets(self.size)

    def _place_widgets(self, size: Size) -> None:
        """Place every widget in a terminal of ``size``."""
        captions = sum(bar.outer_size.height for bar in self.query("CaptionBar").results(Widget))
        found = self._parts.layout(size, self.snapshot, captions)
        if found == self._placed:
            return
        self._placed = found
        self._set_layout_classes(found)
        for panel in self._parts.panels:
            panel.place(found)

    def _set_layout_classes(self, found: Layout) -> None:
        self.set_class(not found.beside, "-above")
        self.set_class(not found.below.framed, "-bare")

    @asynccontextmanager
    async def rearranging(self) -> AsyncIterator[None]:
        """Read a snapshot with other lanes, and show it once a panel has replaced its widgets meanwhile."""
        self._rearranging = True
        self.snapshot = self._read()
        self.charts.reset()
        self._choose_colors()
        yield
        self._rearranging, self._placed = False, None
        self._place_widgets(self.size)
        self._redraw()

    def _choose_colors(self) -> None:
        self.lane_colors = themed_lane_colors(self.app, [lane.name for lane in self.snapshot.lanes])

    def apply_theme(self) -> None:
        """Choose the colours again after the theme has changed."""
        self._choose_colors()
        for panel in self._parts.panels:
            panel.recolor()
        self._redraw()

    def on_resize(self, _: Resize) -> None:
        """Redraw the charts at the new size."""
        self._drawn = True
        if not is_exiting(self.app):
            self._place_widgets(self.app.size)
            self.charts.redraw()
            self.call_after_refresh(self.show_snapshot)

    # --- snapshots ------------------------------------------------------------------------------------------

    def update_now(self) -> None:
        """Update everything now, including charts that were drawn a moment ago; for a picture."""
        self.charts.redraw()
        self.show_snapshot()

    def _redraw(self) -> None:
        """Update everything now, including what has not changed."""
        for panel in self._parts.panels:
            panel.redraw()
        self.show_snapshot()

    def show_snapshot(self, snapshot: Snapshot | None = None) -> None:
        """Show a snapshot, or the current one."""
        if is_exiting(self.app) or self._rearranging:
            return
        self.snapshot = snapshot = snapshot or self._read()
        live = [lane.live for lane in snapshot.lanes]
        self.steady, self._live = live == self._live, live
        if len(self.lane_colors) != len(snapshot.lanes):
            self._choose_colors()
        self._parts.status.show(snapshot, self.charts.paused, self._status_text())
        for panel in self._parts.panels:
            panel.show(snapshot)
        self._update_bar()

    # --- keys and mouse -------------------------------------------------------------------------------------

    def show_changes(self) -> None:
        """Show what a key or the mouse has changed."""
        self._parts.feed.show_changes()

    @on(Slider.Dragged)
    @on(Slider.Cancelled)
    def _show_ghost(self) -> None:
        self.charts.show_ghost()

    @on(DescendantFocus)
    def _follow_focus(self, event: DescendantFocus) -> None:
        # The event may be outdated: the focus may have moved on.
        if event.widget is self.focused:
            self.side.focused(event.widget)
            self._update_bar()

    def _update_bar(self) -> None:
        """Show in the key bar what keys do in the panels as they are now."""
        words = {key: word for panel in self._parts.panels for key, word in panel.key_words().items()}
        if words != self._words:
            self._words = words
            self._bar.show(bar(self.keyboard.rows, words))

    def show_help(self) -> None:
        """Show the help."""
        from concwatch.ui.dialogs.help import HelpScreen  # not needed for the first frame

        if self._help.watched:
            from concwatch.ui.dialogs.watch_words import WORDS
        else:
            from concwatch.ui.dialogs.help import WORDS
        lines = help_lines(self.keyboard.rows)
        self.app.push_screen(HelpScreen(self._help.subject, lines, WORDS, self._help.mouse))
