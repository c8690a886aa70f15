"""What every screen of lanes has: cards, charts, costs, events, and the commands that change how they look.

Over 300 lines, since all of it shows the same snapshot.
"""

from collections.abc import Callable, Iterable
from functools import partial
from inspect import isawaitable
from typing import ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import DescendantFocus, Resize
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget

from concwatch.charts.colors import lane_color
from concwatch.charts.plot import LaneSeries
from concwatch.lab.snapshot import Snapshot
from concwatch.ui import keys
from concwatch.ui.chart_control import ChartControl
from concwatch.ui.mark_view import MarkView
from concwatch.ui.palette import FEW_COLORS
from concwatch.ui.screens.base import StyledOnce, is_ending
from concwatch.ui.source import Source
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

Answer = TypeVar("Answer")

NAME_CELLS = 8
"""Cells of a lane's name where there is room for little; more if one is longer."""

MANY = 6
"""Lanes beyond which each has one line, and the table as many as there is room for."""

TABLE_ROWS = 5
"""Those of the table then, at least."""

CHART_ROWS, OTHER_ROWS = 22, 10
"""Rows that charts should have then, and those of the status, the events, the keys and the table's frame."""

FRAME = 0.1
"""Seconds between two looks."""


class LanesScreen(StyledOnce[None]):
    """Shows the lanes of a source, and passes what a person does on to the controls of it.

    A key runs ``do`` with the name of a command: a method of the controls, of the charts' control, or of the
    screen itself.
    """

    HORIZONTAL_BREAKPOINTS = [
        (0, "-narrow"),
        (100, "-normal"),
        (160, "-wide"),
        (210, "-huge"),
        (240, "-vast"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (19, "-short"), (34, "-tall"), (50, "-roomy")]

    SUBJECT: ClassVar[str] = ""
    """What is shown, for the title of the help."""
    MOUSE: ClassVar[str] = ""
    """What the mouse does, for the help."""
    SIDE: type[Sidebar] = Sidebar
    """What holds the lanes."""
    CARD: type[LaneCard] = LaneCard
    """What shows a lane."""
    COSTS: type[CostTable] = CostTable
    """What shows the costs."""
    EVENTS = SHOWN
    """Events on screen at most."""
    EVENT_ROWS: int | None = None
    """Rows that they always have, or None for as many as they need."""

    selected: reactive[int] = reactive(0)
    """The lane that the keys act on."""

    def __init__(
        self,
        source: Source,
        size: Size,
        aside: Callable[[], str] = str,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Show lanes.

        Args:
            source: what is shown.
            size: of the terminal at first, in cells.
            aside: says in a few words what else runs.
            tell: hears what is done to charts and table.
        """
        super().__init__(size)
        self._source = source
        self._aside = aside
        self._tell = tell
        self._marks = MarkView(source)
        self._grid = ChartGrid()
        self.charts = ChartControl(self._grid, self.look, tell)
        """What the keys do to the charts."""
        self.controls: object = None
        """What the keys do to what is shown."""
        self.view = source.snapshot()
        """The snapshot that is shown."""
        self._baseline: Snapshot | None = None
        self._told = 0
        self._live: list[int] = []
        self._colors: list[str] = []
        self._arranging = False

    # What is seen.

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        self._choose_colors()
        yield self.heading()
        with Horizontal(id="body"):
            with self.SIDE(id="side"):
                yield from self.side()
            yield self._grid
        yield self.table()
        yield EventView(self.EVENT_ROWS)
        yield from self.foot()

    def side(self) -> Iterable[Widget]:
        """Return what stands on the left: the lanes, and what they have in common."""
        room = max([NAME_CELLS, *(len(lane.name) + 1 for lane in self.view.lanes)])
        for index, (lane, color) in enumerate(zip(self.view.lanes, self._colors, strict=True)):
            maximum = self._source.largest_target(index)
            yield self.CARD(index, lane.name, room, maximum, color, index == self.selected)
        yield CommonPanel()

    async def rearrange(self, chosen: int) -> None:
        """Show other rows than before, of which the keys act on ``chosen``."""
        self._arranging = True
        await self.query(LaneCard).remove()
        self.view = self._source.snapshot()
        self._choose_colors()
        self.set_reactive(LanesScreen.selected, chosen)
        *cards, _ = self.side()
        await self.query_one(Sidebar).mount_all(cards, before=0)
        self._arranging = False
        self._grid.redraw()
        self._told = -1
        self.look()
        self.choose(chosen)

    def table(self) -> Widget:
        """Return the table below the charts."""
        return self.COSTS()

    def heading(self) -> StatusBar:
        """Return the line at the top."""
        return StatusBar()

    def foot(self) -> Iterable[Widget]:
        """Return the lines at the bottom."""
        return [KeyBar(keys.bar(self.KEYS))]

    def on_mount(self) -> None:
        """Begin to follow."""
        self.look()

    def follow(self, snapshot: Snapshot) -> None:
        """Show what is so now, unless another full screen stands before this one."""
        if self.is_active or self.app.screen.is_modal:
            self.look(snapshot)

    def _choose_colors(self) -> None:
        """Choose every lane's colour, which depends on whether the theme is dark."""
        dark, few = self.app.current_theme.dark, self.app.theme == FEW_COLORS
        self._colors = [lane_color(index, dark, few) for index in range(len(self.view.lanes))]

    def follow_theme(self) -> None:
        """Take the colours that go with the present theme."""
        self._choose_colors()
        for card, color in zip(self.query(LaneCard), self._colors, strict=True):
            card.color = color
        self._told = -1
        self._grid.redraw()
        self.look()

    def look_now(self) -> None:
        """Have everything show this very moment, also charts that were drawn a moment ago: for a picture."""
        if not is_ending(self.app):
            self._grid.redraw()
            self.look()

    def look(self, snapshot: Snapshot | None = None) -> None:
        """Have everything show a snapshot, or what is so at this moment."""
        if is_ending(self.app) or self._arranging:
            return
        self.view = view = snapshot or self._source.snapshot()
        if len(self._colors) != len(view.lanes):
            self._choose_colors()
        self.set_class(len(view.lanes) > MANY, "-many")
        self.query_one(StatusBar).show(view, self.charts.paused, self._aside())
        self.show_lanes(view)
        self.show_table(view)
        if not self.charts.paused:
            self._draw(view)
        if self._told != self._source.events.count:
            self._told = self._source.events.count
            events = self._source.events.since(max(0, self._told - self.EVENTS))
            self.query_one(EventView).show(events, self.colors_of(view))

    def _draw(self, view: Snapshot) -> None:
        """Have the charts show a snapshot, and what led there."""
        series = self._source.series()
        names = [
            f"{lane.name}, median" if samples.band else lane.name
            for lane, samples in zip(view.lanes, series, strict=True)
        ]
        shown = [LaneSeries(names[lane], series[lane], self._colors[lane]) for lane in self.drawn(view)]
        theme = self.app.theme_variables
        colors = self.colors_of(view)
        seconds = self.charts.window(view.time - self._source.began)
        marks = self._marks.moments(view, seconds, colors, theme["foreground"], theme["accent"])
        live = [lane.live for lane in view.lanes]
        calm, self._live = live == self._live, live
        self._grid.show(shown, view.time, seconds, marks, partial(self._marks.tell, view), calm)

    def colors_of(self, view: Snapshot) -> dict[str, str]:
        """Return the colour of each lane that events and marks name."""
        return {lane.name: color for lane, color in zip(view.lanes, self._colors, strict=True)}

    def drawn(self, view: Snapshot) -> Iterable[int]:
        """Return the numbers of the lanes that have lines in the charts."""
        return range(len(view.lanes))

    def show_lanes(self, view: Snapshot) -> None:
        """Have what stands on the left show a snapshot."""
        for card, lane in zip(self.query(LaneCard), view.lanes, strict=True):
            card.show(lane, view.settings.refill)
        self.query_one(CommonPanel).show(view)
        side = self.query_one(Sidebar)
        side.make_room(len(view.lanes))
        side.set_subtitle(f"{format_bytes(view.total_rss)} of {format_bytes(view.budget)}")

    def show_table(self, view: Snapshot) -> None:
        """Have the table show a snapshot."""
        tall = not self.has_class("-short", "-tiny")
        framed = tall and not self.has_class("-narrow")
        lanes = len(view.lanes)
        side = lanes + 3  # with its frame, and a row for what lanes have in common
        left = self.size.height - OTHER_ROWS - max(side, CHART_ROWS)
        most = lanes if lanes <= MANY else max(TABLE_ROWS, left)
        self.query_one(CostTable).show(view, self._colors, not framed, tall, self._baseline, most)

    def watch_selected(self, selected: int) -> None:
        """Mark the lane that the keys act on."""
        for index, card in enumerate(self._cards):
            card.selected = index == selected

    # What a person chooses.

    async def action_do(self, command: str, args: tuple[object, ...]) -> None:
        """Run a command: a method of the controls, of the charts' control, or of the screen."""
        part = next(part for part in (self.controls, self.charts, self) if hasattr(part, command))
        done = getattr(part, command)(*args)
        if isawaitable(done):
            await done
        self.acted()

    def acted(self) -> None:
        """Show what a command has changed."""
        self.look()

    @on(DescendantFocus)
    def _follow_focus(self, event: DescendantFocus) -> None:
        sliders = [card.slider for card in self._cards]
        # It may be told after another choice: then it is no news.
        if event.widget in sliders and event.widget is self.focused:
            self.selected = sliders.index(event.widget)

    def choose(self, lane: int) -> None:
        """Have the keys act on lane number ``lane`` (from 0), if there is one."""
        if lane < len(self._cards):
            card = self._cards[lane]
            self.selected = lane
            # At once, unlike a widget's `focus`: the next key may be there already.
            if card.slider in self.focus_chain:
                self.set_focus(card.slider)
            elif isinstance(self.focused, Slider):
                self.set_focus(None)
            card.scroll_visible(animate=False)

    @property
    def _cards(self) -> list[LaneCard]:
        return list(self.query(LaneCard))

    def ask(
        self,
        take: Callable[[Answer], object],
        title: str,
        value: str,
        read: Callable[[str], Answer],
        told: Callable[[Answer], str],
        choices: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Open the dialog of these arguments, and have ``take`` called with the answer, if one is given."""
        from concwatch.ui.screens.dialog import TypeDialog  # only here: the first frame need not wait for it

        def answer(value: Answer | None) -> None:
            if value is not None:
                take(value)
                self.acted()

        self.app.push_screen(TypeDialog(title, value, read, told, choices), answer)

    def sort(self, by: int) -> None:
        """Sort the cost table by the next column, or the one before; behind the last, as the lanes stand."""
        self.query_one(CostTable).sort(by)

    def sort_by(self, title: str) -> None:
        """Sort the cost table by a column, or no more by that."""
        table = self.query_one(CostTable)
        table.sorted_by = "" if table.sorted_by == title else title
        self.look()

    def baseline(self) -> None:
        """Freeze the present figures for the cost table to compare with, or let them go."""
        self._baseline = self._source.snapshot() if self._baseline is None else None
        self._tell("baseline: the present figures" if self._baseline else "no baseline")

    def help(self) -> None:
        """Show the keys and the words."""
        from concwatch.ui.screens.help import HelpScreen  # only here: the first frame can do without

        self.app.push_screen(HelpScreen(self.SUBJECT, keys.help_lines(self.KEYS), mouse=self.MOUSE))

    def on_resize(self, _: Resize) -> None:
        """Fill the new room at once."""
        if not is_ending(self.app):
            self._grid.redraw()
            self.call_after_refresh(self.look)
