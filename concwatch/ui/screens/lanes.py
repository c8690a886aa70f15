"""The base class of screens that show lanes: cards, charts, cost table, events, and what they share."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import DescendantFocus, MouseEvent, MouseScrollDown, MouseScrollUp, Resize
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget

from concwatch.charts.colors import lane_colors
from concwatch.charts.cost import CostCurves
from concwatch.charts.decimation import Memo
from concwatch.charts.plot import LaneSeries
from concwatch.lab.snapshot import Snapshot
from concwatch.ui import keys
from concwatch.ui.chart_commands import ChartCommands
from concwatch.ui.layout import FRAME as FRAME_ROWS
from concwatch.ui.layout import Layout, layout
from concwatch.ui.mark_view import MarkView
from concwatch.ui.palette import FEW_COLORS
from concwatch.ui.screens.base import PrestyledScreen, is_exiting
from concwatch.ui.source import Source
from concwatch.ui.widgets.chart import Chart
from concwatch.ui.widgets.chart_grid import ChartGrid
from concwatch.ui.widgets.common_panel import CommonPanel
from concwatch.ui.widgets.cost_table import CostTable
from concwatch.ui.widgets.event_view import SHOWN, EventView
from concwatch.ui.widgets.key_bar import KeyBar
from concwatch.ui.widgets.lane_card import LaneCard
from concwatch.ui.widgets.sidebar import Sidebar
from concwatch.ui.widgets.slider import Slider
from concwatch.ui.widgets.status_bar import StatusBar
from concwatch.units import format_bytes

Result = TypeVar("Result")

NAME_CELLS = 8
"""Minimum width of the column of lane names, in cells."""

FRAME = 0.1
"""Seconds between two updates of a replay."""

READING, COVERED = 0.25, 2.0
"""The minimum seconds between two updates of live figures, so that people can read them; and behind a dialog,
where Textual draws the whole screen twice each time. An event, and what the user does, is shown at once.
"""


class LanesScreen(PrestyledScreen[None]):
    """Shows the lanes of a source."""

    HORIZONTAL_BREAKPOINTS = [
        (0, "-narrow"),
        (100, "-normal"),
        (160, "-wide"),
        (210, "-huge"),
        (240, "-vast"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (19, "-short"), (34, "-tall"), (50, "-roomy")]

    keyboard: keys.Keyboard[Any]
    SUBJECT: ClassVar[str] = ""
    """What the screen shows, for the title of the help."""
    MOUSE: ClassVar[str] = ""
    """What the mouse does, for the help."""
    SIDEBAR: type[Sidebar] = Sidebar
    """The widget that contains the lanes."""
    COSTS: type[CostTable] = CostTable
    """The widget for the cost table."""
    EVENTS = SHOWN
    """Maximum number of events shown."""
    EVENT_ROWS: int | None = None
    """Fixed height of the event log in rows; None for as many as it needs."""
    BARS = 2
    """Rows of the bars at the top and the bottom."""

    selected: reactive[int] = reactive(0)
    """Index of the lane that the keys act on."""

    def __init__(
        self,
        source: Source,
        size: Size,
        status_text: Callable[[], str] = str,
        log_event: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Create the screen.

        Args:
            source: the lanes to show.
            size: the terminal's initial size, in cells.
            status_text: returns what else is running, for the status bar.
            log_event: logs what the user changed on charts and table.
        """
        super().__init__(size)
        self._source = source
        self._status_text = status_text
        self._log_event = log_event
        self._marks = MarkView(source)
        self._grid = ChartGrid()
        self.charts = ChartCommands(self._grid, self.show_snapshot, log_event)
        """The commands for the charts."""
        self.snapshot = source.snapshot()
        """The snapshot that is shown."""
        self._baseline: Snapshot | None = None
        self._events_shown = 0
        self._live: list[int] = []
        self._curves = CostCurves()
        self._memos: dict[str, dict[str, Memo]] = {}
        self._due = 0.0
        self._colors: list[str] = []
        self._cards: list[LaneCard] = []
        self._rearranging = False
        self._placed: Layout | None = None
        self._set_layout_classes(self.layout_of(size))  # now, so that no widget is styled twice

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        self._choose_colors()
        yield self.status_bar()
        with Horizontal(id="body"):
            with self.SIDEBAR(id="side"):
                yield from self.side_widgets()
            yield self._grid
        yield self.table()
        yield EventView(self.EVENT_ROWS)
        yield from self.footer()

    def side_widgets(self) -> Iterable[Widget]:
        """Yield the widgets on the left: the lanes and their common settings."""
        lanes = self.snapshot.lanes
        name_width = max([NAME_CELLS, *(len(lane.name) + 1 + (len(lanes) > 9) for lane in lanes)])
        self._cards = [
            self.card(index, lane.name, name_width, self._source.largest_target(index, lane), color)
            for index, (lane, color) in enumerate(zip(lanes, self._colors, strict=True))
        ]
        yield from self._cards
        yield self.settings()

    def card(self, lane: int, name: str, name_width: int, maximum: int, color: str) -> LaneCard:
        """Return the card of a lane; the arguments are those of `LaneCard`."""
        raise NotImplementedError

    def settings(self) -> CommonPanel:
        """Return the panel of the settings that all lanes share."""
        raise NotImplementedError

    async def rearrange(self, selected: int) -> None:
        """Replace the rows after the source's rows have changed, and select row ``selected``."""
        self._rearranging = True
        await self.query(LaneCard).remove()
        self.snapshot = self._source.snapshot()
        self._memos.clear()
        self._choose_colors()
        self.set_reactive(LanesScreen.selected, selected)
        *cards, _ = self.side_widgets()
        await self.query_one(Sidebar).mount_all(cards, before=0)
        self._rearranging, self._placed = False, None
        self._place_widgets(self.size)
        self._grid.redraw()
        self._events_shown = -1
        self.show_snapshot()
        self.select_lane(selected)

    def table(self) -> Widget:
        """Return the table below the charts."""
        return self.COSTS(self.sort_by)

    def status_bar(self) -> StatusBar:
        """Return the status bar."""
        return StatusBar()

    def footer(self) -> Iterable[Widget]:
        """Return the widgets at the bottom."""
        return [KeyBar(keys.bar(self.keyboard.rows))]

    def on_mount(self) -> None:
        """Show the first snapshot."""
        if not is_exiting(self.app):
            self._place_widgets(self.app.size)
            self.show_snapshot()

    def layout_of(self, size: Size) -> Layout:
        """Return the layout for a terminal of ``size``."""
        return layout(size.width, size.height, len(self.snapshot.lanes), self.BARS)

    def _place_widgets(self, size: Size) -> None:
        """Place every widget in a terminal of ``size``."""
        found = self.layout_of(size)
        if found == self._placed:
            return
        self._placed = found
        below = found.below
        self._set_layout_classes(found)
        self.place_side(found)
        self.place_table(found)
        self._grid.display = bool(found.chart)
        events = self.query_one(EventView)
        events.display = bool(found.events)
        events.styles.height = found.events + FRAME_ROWS * below.framed

    def _set_layout_classes(self, found: Layout) -> None:
        self.set_class(not found.beside, "-above")
        self.set_class(not found.below.framed, "-bare")

    def place_side(self, found: Layout) -> None:
        """Set the rows of the lanes and settings."""
        side = self.query_one(Sidebar)
        side.styles.width = found.side
        side.styles.height = "1fr" if found.beside else found.lanes * found.card + found.settings
        for card in self._cards:
            card.place(found.card, found.card_width, found.beside, not found.below.table)
        self.query_one(CommonPanel).styles.height = found.settings

    def place_table(self, found: Layout) -> None:
        """Set the rows of the table."""
        self.query_one(CostTable).place(found.table, found.below)

    def show_if_visible(self, snapshot: Snapshot) -> None:
        """Show a snapshot, unless another full screen covers this one."""
        if self.is_active or self.app.screen.is_modal:
            self.show_snapshot(snapshot)

    def view(self, snapshot: Snapshot) -> None:
        """Show a snapshot of something live."""
        self.show_if_visible(snapshot)

    def is_due(self, now: float) -> bool:
        """Return whether the last snapshot has been shown for long enough; ``now`` is on their clock."""
        new = self._events_shown != self._source.events.count
        if now < self._due and not new:
            return False
        self._due = now + (READING if self.is_active else COVERED)  # `is_current` is true behind a dialog too
        return True

    def on_screen_resume(self) -> None:
        """Show the next snapshot at once after a dialog has been closed."""
        self._due = 0.0

    def _choose_colors(self) -> None:
        """Choose the colour of each lane, which depends on the theme."""
        dark, few = self.app.current_theme.dark, self.app.theme == FEW_COLORS
        self._colors = lane_colors([lane.name for lane in self.snapshot.lanes], dark, few)

    def apply_theme(self) -> None:
        """Choose the colours again after the theme has changed."""
        self._choose_colors()
        for card, color in zip(self._cards, self._colors, strict=True):
            card.color = color
        self._events_shown = -1
        self._grid.redraw()
        self.show_snapshot()

    def update_now(self) -> None:
        """Update everything now, including charts that were drawn a moment ago; for a picture."""
        if not is_exiting(self.app):
            self._grid.redraw()
            self.show_snapshot()

    def show_snapshot(self, snapshot: Snapshot | None = None) -> None:
        """Show a snapshot, or the current one of the source."""
        if is_exiting(self.app) or self._rearranging:
            return
        self.snapshot = snapshot = snapshot or self._source.snapshot()
        if len(self._colors) != len(snapshot.lanes):
            self._choose_colors()
        self.query_one(StatusBar).show(snapshot, self.charts.paused, self._status_text())
        self.show_lanes(snapshot)
        self.show_table(snapshot)
        if not self.charts.paused:
            self._draw_charts(snapshot)
        if self._events_shown != self._source.events.count:
            self._events_shown = self._source.events.count
            events = self._source.events.since(max(0, self._events_shown - self.EVENTS))
            self.query_one(EventView).show(events, self.colors_of(snapshot))

    def _draw_charts(self, snapshot: Snapshot) -> None:
        """Draw the charts up to a snapshot, if an update is due."""
        seconds = self.charts.window(snapshot.time - self._source.began)
        if not self._grid.is_due(snapshot.time, seconds):
            return
        shown = self._lane_series(snapshot)
        theme = self.app.theme_variables
        colors = self.colors_of(snapshot)
        marks = self._marks.annotations(snapshot, seconds, colors, theme["foreground"], theme["accent"])
        live = [lane.live for lane in snapshot.lanes]
        unchanged, self._live = live == self._live, live
        self._grid.show(
            shown, snapshot.time, seconds, marks, partial(self._marks.describe, snapshot), unchanged
        )

    def _lane_series(self, snapshot: Snapshot) -> list[LaneSeries]:
        """Return the lanes as the charts draw them."""
        series = self._source.series()
        cards = self._cards
        held = {index: card.slider.held for index, card in enumerate(cards) if card.slider.held is not None}
        costs = self._curves.costs(snapshot.lanes, series, snapshot.time, held)
        names = [
            f"{lane.name}, median" if samples.band else lane.name
            for lane, samples in zip(snapshot.lanes, series, strict=True)
        ]
        return [
            LaneSeries(
                names[lane],
                series[lane],
                self._colors[lane],
                lane + 1 if cards else 0,
                top=bool(cards) and lane == self.selected,
                cost=costs[lane],
                memos=self._memos.setdefault(names[lane], {}),
            )
            for lane in self.charted_lanes(snapshot)
        ]

    @on(Slider.Dragged)
    @on(Slider.Cancelled)
    def _show_ghost(self) -> None:
        """Show where the lane would be on the chart of the cost."""
        self._grid.show_cost(self._lane_series(self.snapshot))

    def colors_of(self, snapshot: Snapshot) -> dict[str, str]:
        """Return the colour of each lane named in events and marks."""
        return {lane.name: color for lane, color in zip(snapshot.lanes, self._colors, strict=True)}

    def charted_lanes(self, snapshot: Snapshot) -> Iterable[int]:
        """Return the indexes of the lanes drawn in the charts."""
        return range(len(snapshot.lanes))

    def show_lanes(self, snapshot: Snapshot) -> None:
        """Update the widgets on the left."""
        for index, (card, lane) in enumerate(zip(self._cards, snapshot.lanes, strict=True)):
            card.show(lane, snapshot.settings.refill, self._source.largest_target(index, lane))
        self.query_one(CommonPanel).show(snapshot)
        used, allowed = format_bytes(snapshot.total_rss), format_bytes(snapshot.budget)
        self.query_one(Sidebar).set_subtitle(f"memory: {used} of {allowed}")

    def show_table(self, snapshot: Snapshot) -> None:
        """Update the table."""
        self.query_one(CostTable).show(snapshot, self._colors, self.selected, self._baseline)

    def watch_selected(self, selected: int) -> None:
        """Mark the selected lane."""
        for index, card in enumerate(self._cards):
            card.selected = index == selected
        self._grid.redraw()

    async def run(self, action: Callable[[], object]) -> None:
        """Run what a key or a click does, and show what it has changed."""
        await super().run(action)
        self.show_changes()

    def show_changes(self) -> None:
        """Update the screen after a key or a click."""
        self.show_snapshot()

    @on(MouseScrollUp)
    @on(MouseScrollDown)
    def _change_window(self, event: MouseEvent) -> None:
        """Show a shorter or longer time window when the wheel is turned over a chart."""
        if isinstance(event.widget, Chart):
            event.stop()
            self.charts.change_window(-1 if isinstance(event, MouseScrollUp) else 1)
            self.show_changes()

    @on(DescendantFocus)
    def _follow_focus(self, event: DescendantFocus) -> None:
        sliders = [card.slider for card in self._cards]
        # The event may be outdated: the focus may have moved on.
        if event.widget in sliders and event.widget is self.focused:
            self.selected = sliders.index(event.widget)

    def select_lane(self, lane: int) -> None:
        """Select lane ``lane`` (0-based), if there is one."""
        if lane < len(self._cards):
            card = self._cards[lane]
            self.selected = lane
            # Immediately, unlike Widget.focus(): the next key may already be queued.
            if card.slider in self.focus_chain:
                self.set_focus(card.slider)
            elif isinstance(self.focused, Slider):
                self.set_focus(None)
            card.scroll_visible(animate=False)

    def ask(
        self,
        apply: Callable[[Result], object],
        title: str,
        value: str,
        parse: Callable[[str], Result],
        describe: Callable[[Result], str],
        choices: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Open a `TypeDialog`, and call ``apply`` with the value unless the dialog is cancelled."""
        from concwatch.ui.screens.dialog import TypeDialog  # not needed for the first frame

        def on_result(value: Result | None) -> None:
            if value is not None:
                apply(value)
                self.show_changes()

        self.app.push_screen(TypeDialog(title, value, parse, describe, choices), on_result)

    def sort(self, by: int) -> None:
        """Sort the cost table by the next or previous column; after the last, in the order of the lanes."""
        self.query_one(CostTable).sort(by)

    def sort_by(self, title: str) -> None:
        """Sort the cost table by a column, or stop sorting by it."""
        table = self.query_one(CostTable)
        table.sorted_by = "" if table.sorted_by == title else title
        self.show_snapshot()

    def toggle_baseline(self) -> None:
        """Set the current figures as the baseline of the cost table, or remove the baseline."""
        self._baseline = self._source.snapshot() if self._baseline is None else None
        self._log_event("baseline set" if self._baseline else "baseline removed")

    def show_help(self) -> None:
        """Show the help."""
        from concwatch.ui.screens.help import HelpScreen  # not needed for the first frame

        self.app.push_screen(HelpScreen(self.SUBJECT, keys.help_lines(self.keyboard.rows), mouse=self.MOUSE))

    def on_resize(self, _: Resize) -> None:
        """Redraw the charts at the new size."""
        if not is_exiting(self.app):
            self._place_widgets(self.app.size)
            self._grid.redraw()
            self.call_after_refresh(self.show_snapshot)
