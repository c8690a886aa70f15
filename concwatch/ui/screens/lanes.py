"""What every screen of lanes has: cards, charts, costs, events, and how one looks at them."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from textual import on
from textual.app import ComposeResult, SystemCommand
from textual.containers import Horizontal
from textual.events import DescendantFocus, Resize
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget

from concwatch.lab.events import KEPT, Event, Log
from concwatch.lab.marks import NOTE, Mark, mark_text
from concwatch.lab.snapshot import Snapshot
from concwatch.ui.messages import LaneSelected
from concwatch.ui.palette import lane_color
from concwatch.ui.renderables.moments import Moment
from concwatch.ui.screens.leaving import is_ending
from concwatch.ui.screens.sized import Sized
from concwatch.ui.widgets.chart import Chart
from concwatch.ui.widgets.chart_grid import CHARTS, WINDOWS, ChartGrid, Samples, Shown
from concwatch.ui.widgets.common_panel import CommonPanel
from concwatch.ui.widgets.cost_table import CostTable
from concwatch.ui.widgets.event_view import SHOWN, EventView
from concwatch.ui.widgets.key_bar import Key, KeyBar
from concwatch.ui.widgets.lane_card import LaneCard
from concwatch.ui.widgets.side import Side
from concwatch.ui.widgets.slider import Slider
from concwatch.ui.widgets.status_bar import StatusBar
from concwatch.units import format_bytes, format_clock, format_seconds

Answer = TypeVar("Answer")

NAME_CELLS = 8
"""Cells of a lane's name where there is room for little; more if one is longer."""

FRAME = 0.1
"""Seconds between two looks."""

MARKS = 200
"""Notes, and commands, that are shown at most."""

TOLD = 2
"""Marks that the cursor tells of at most."""


def size_class(breakpoints: Sequence[tuple[int, str]], cells: int) -> str:
    """Give the class of the last of ``breakpoints`` that ``cells`` reach."""
    return [name for least, name in breakpoints if cells >= least][-1]


class LanesScreen(Sized[None]):
    """Shows lanes as they are, or as they were; what stands behind them is for those who inherit."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-normal"), (160, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (34, "-tall"), (50, "-roomy")]

    BAR: Sequence[Key] = ()
    """The keys at the bottom, the most needed first."""
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
    window: reactive[int] = reactive(WINDOWS.index(60.0))
    """Which of `WINDOWS` the charts show."""
    paused: reactive[bool] = reactive(False)
    """Whether the charts stand still."""

    def __init__(self, size: Size, aside: Callable[[], str]) -> None:
        """Show lanes on a terminal of ``size`` at first; ``aside`` says in a few words what else runs."""
        # Textual would find these classes at the first resize only, and style everything twice.
        super().__init__(
            classes=f"{size_class(self.HORIZONTAL_BREAKPOINTS, size.width)} "
            f"{size_class(self.VERTICAL_BREAKPOINTS, size.height)}"
        )
        self._aside = aside
        self._view = self.snapshot()
        self._baseline: Snapshot | None = None
        self._told = 0
        self._colors: list[str] = []
        self._laid_out = False

    # What stands behind the screen.

    def snapshot(self) -> Snapshot:
        """Return the lanes as they are at this moment."""
        raise NotImplementedError

    def series(self) -> Sequence[Samples]:
        """Give the series of each lane, in the order of the view's."""
        raise NotImplementedError

    @property
    def events(self) -> Log[Event]:
        """What has happened until this moment."""
        raise NotImplementedError

    @property
    def marks(self) -> Log[Mark]:
        """What was asked for until this moment, and what a person noted."""
        raise NotImplementedError

    def largest_target(self, lane: int) -> int:
        """Tasks at the end of a lane's slider."""
        raise NotImplementedError

    # What is seen.

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        self._choose_colors()
        room = max([NAME_CELLS, *(len(lane.name) + 1 for lane in self._view.lanes)])
        yield self.heading()
        with Horizontal(id="body"):
            with Side(id="side") as side:
                side.border_title = "lanes"
                for index, (lane, color) in enumerate(zip(self._view.lanes, self._colors, strict=True)):
                    maximum = self.largest_target(index)
                    yield self.CARD(index, lane.name, room, maximum, color, index == self.selected)
                yield CommonPanel()
            yield ChartGrid()
        yield self.COSTS()
        yield EventView(self.EVENT_ROWS)
        yield from self.foot()

    def heading(self) -> StatusBar:
        """Give the line at the top."""
        return StatusBar()

    def foot(self) -> Iterable[Widget]:
        """Give the lines at the bottom."""
        return [KeyBar(self.BAR)]

    def update_node_styles(self, animate: bool = True) -> None:
        """Style everything anew, but not as the screen is shown for the first time.

        Textual asks for it then too; but every widget has just been styled, when it was made, and the first
        frame need not wait for the same again.
        """
        if self._laid_out:
            super().update_node_styles(animate)

    def on_mount(self) -> None:
        """Begin to follow."""
        self.look()

    def follow(self, snapshot: Snapshot) -> None:
        """Show what is so now, unless another full screen stands before this one."""
        if self.is_active or self.app.screen.is_modal:
            self.look(snapshot)

    def _choose_colors(self) -> None:
        """Choose every lane's colour, which depends on whether the theme is dark."""
        dark = self.app.current_theme.dark
        self._colors = [lane_color(index, dark) for index in range(len(self._view.lanes))]

    def follow_theme(self) -> None:
        """Take the colours that go with the present theme."""
        self._choose_colors()
        for card, color in zip(self.query(LaneCard), self._colors, strict=True):
            card.color = color
        self._told = -1
        self.query_one(ChartGrid).redraw()
        self.look()

    def look_now(self) -> None:
        """Have everything show this very moment, also charts that were drawn a moment ago: for a picture."""
        if not is_ending(self.app):
            self.query_one(ChartGrid).redraw()
            self.look()

    def look(self, snapshot: Snapshot | None = None) -> None:
        """Have everything show a snapshot, or what is so at this moment."""
        if is_ending(self.app):
            return
        self._view = view = snapshot or self.snapshot()
        self.query_one(StatusBar).show(view, self.paused, self._aside())
        for card, lane in zip(self.query(LaneCard), view.lanes, strict=True):
            card.show(lane)
        self.query_one(CommonPanel).show(view)
        self._show_budget(view)
        narrow, tall = self.has_class("-narrow"), not self.has_class("-short")
        self.query_one(CostTable).show(view, self._colors, narrow, tall, self._baseline)
        if not self.paused:
            names = [lane.name for lane in view.lanes]
            shown = [Shown(*lane) for lane in zip(names, self.series(), self._colors, strict=True)]
            self.query_one(ChartGrid).show(
                shown, view.time, self._seconds, self._moments(view), partial(self._tell_moment, view)
            )
        if self._told != self.events.count:
            self._told = self.events.count
            names = [lane.name for lane in view.lanes]
            events = self.events.since(max(0, self._told - self.EVENTS))
            self.query_one(EventView).show(events, dict(zip(names, self._colors, strict=True)))

    def _moments(self, view: Snapshot) -> list[Moment]:
        """Give the marks that may be in sight: a person's by a line and its text, the others by a tick.

        Those with a text are last, so that they are on top.
        """
        began = view.time - view.elapsed
        colors = dict(zip((lane.name for lane in view.lanes), self._colors, strict=True))
        common = self.app.theme_variables["foreground"]
        accent = self.app.theme_variables["accent"]
        marks = [mark for mark in self._recent_marks() if mark.time >= view.elapsed - self._seconds]
        return [
            Moment(
                began + mark.time,
                accent if mark.kind == NOTE else colors.get(mark.lane, common),
                mark.text if mark.kind == NOTE else "",
            )
            for mark in marks
        ]

    def _recent_marks(self) -> Sequence[Mark]:
        """Give the last commands, and behind them the last notes, which no number of commands shall hide."""
        marks = self.marks.since(self.marks.count - KEPT)
        notes = [mark for mark in marks if mark.kind == NOTE]
        return [*[mark for mark in marks if mark.kind != NOTE][-MARKS:], *notes[-MARKS:]]

    def _tell_moment(self, view: Snapshot, time: float, span: float) -> str:
        """Say which moment the cursor stands at: how far back, and what was asked for or noted just there."""
        moment = time - (view.time - view.elapsed)
        told = [mark_text(mark) for mark in self._recent_marks() if moment - span <= mark.time <= moment]
        told.reverse()  # notes before commands, the newest first
        more = [f"+{len(told) - TOLD}"] if len(told) > TOLD else []
        ago = f"−{format_seconds(view.time - time)}" if view.time - time >= 0.05 else "now"
        clock = format_clock(moment) if moment >= 0 else "before the start"
        return " · ".join([f"{clock} ({ago})", *told[:TOLD], *more])

    def _show_budget(self, view: Snapshot) -> None:
        text = f"{format_bytes(view.total_rss)} of {format_bytes(view.budget)}"
        self.query_one(Side).note(text)

    @property
    def _seconds(self) -> float:
        return WINDOWS[self.window]

    def watch_selected(self, selected: int) -> None:
        """Mark the lane that the keys act on."""
        for index, card in enumerate(self._cards):
            card.selected = index == selected

    # What a person chooses.

    @on(LaneSelected)
    def _select(self, event: LaneSelected) -> None:
        self.selected = event.lane

    @on(DescendantFocus)
    def _follow_focus(self, event: DescendantFocus) -> None:
        sliders = [card.slider for card in self._cards]
        # It may be told after another choice: then it is no news.
        if event.widget in sliders and event.widget is self.focused:
            self.selected = sliders.index(event.widget)

    def action_choose(self, lane: int) -> None:
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
        answer: Callable[[Answer | None], None],
        title: str,
        value: str,
        read: Callable[[str], Answer],
        told: Callable[[Answer], str],
        choices: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Open the dialog of these arguments and have ``answer`` called with what comes of it."""
        from concwatch.ui.screens.dialog import TypeDialog  # only here: the first frame need not wait for it

        self.app.push_screen(TypeDialog(title, value, read, told, choices), answer)

    # What a person does to the charts.

    def action_window(self, step: int) -> None:
        """Show a longer or a shorter time."""
        self.window = max(0, min(len(WINDOWS) - 1, self.window + step))
        for chart in self.query(Chart):
            chart.window = self._seconds
        self.query_one(ChartGrid).redraw()
        self.look()

    def action_logarithmic(self) -> None:
        """Switch the y axes between linear and logarithmic."""
        for chart in self.query(Chart):
            chart.logarithmic = not chart.logarithmic

    def action_pause(self) -> None:
        """Have the charts stand still, or catch up; collecting goes on."""
        self.paused = not self.paused
        self.query_one(ChartGrid).redraw()
        self.look()

    def action_baseline(self) -> None:
        """Freeze the present figures for the cost table to compare with, or let them go."""
        self._baseline = self.snapshot() if self._baseline is None else None
        self.look()

    def action_next_chart(self) -> None:
        """Show the next chart where there is room for one only."""
        grid = self.query_one(ChartGrid)
        grid.current = (grid.current + 1) % len(CHARTS)
        self.look()

    def action_zoom(self) -> None:
        """Give one chart all the room, or take it back."""
        grid = self.query_one(ChartGrid)
        focused = self.focused
        if not grid.single and isinstance(focused, Chart):
            grid.current = list(grid.query(Chart)).index(focused)
        grid.single = not grid.single
        self.call_after_refresh(self.look)

    def action_help(self) -> None:
        """Show the keys and the words."""
        from concwatch.ui.screens.help import HelpScreen  # only here, as in `_open`

        self.app.push_screen(HelpScreen())

    def on_resize(self, _: Resize) -> None:
        """Fill the new room at once."""
        if is_ending(self.app):
            return
        self._laid_out = True
        self.query_one(ChartGrid).redraw()
        self.call_after_refresh(self.look)

    def commands(self) -> Iterable[SystemCommand]:
        """Give what the command palette offers of this screen."""
        yield SystemCommand("Logarithmic axis", "Switch the y axes", self.action_logarithmic)
        yield SystemCommand("Pause charts", "Stand still, or catch up", self.action_pause)
        yield SystemCommand(
            "Baseline", "Compare with the present figures from now on, or no more", self.action_baseline
        )
        yield SystemCommand("One chart", "Give one chart all the room, or take it back", self.action_zoom)
        yield SystemCommand("Help", "The keys, and what the words mean", self.action_help)

    @property
    def view(self) -> Snapshot:
        """The picture that is shown."""
        return self._view
