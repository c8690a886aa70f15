"""The monitor: what a person does goes to the lab, and what the lab measures is shown."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from textual import on
from textual.app import ComposeResult, SystemCommand
from textual.containers import Horizontal, VerticalScroll
from textual.geometry import Size
from textual.reactive import reactive
from textual.screen import Screen

from concwatch.lab.lab import Lab
from concwatch.lab.lane import Lane
from concwatch.lab.pages import read_workload
from concwatch.lab.view import LabView, LaneView, lane_fit, take_view
from concwatch.ui import keys
from concwatch.ui.messages import LaneSelected, LaneToggled, NumberWanted, TargetAsked, TargetMoved
from concwatch.ui.palette import lane_color
from concwatch.ui.scale import LARGEST_TARGET
from concwatch.ui.widgets.chart import Chart
from concwatch.ui.widgets.chart_grid import CHARTS, WINDOWS, ChartGrid
from concwatch.ui.widgets.common_panel import CommonPanel
from concwatch.ui.widgets.cost_table import CostTable
from concwatch.ui.widgets.event_view import SHOWN, EventView
from concwatch.ui.widgets.key_bar import KeyBar
from concwatch.ui.widgets.lane_card import LaneCard, forecast
from concwatch.ui.widgets.status_bar import StatusBar
from concwatch.units import format_bytes, format_count, parse_count
from concwatch.worker.collector import MODES
from concwatch.worker.engines.pool import default_threads
from concwatch.worker.workloads import FORMS, USER

Answer = TypeVar("Answer")

FRAME = 0.1
"""Seconds between two looks at the lab."""

EXAMPLES = {"sleep": "sleep:10", "ticks": "ticks:10x0.1", "payload": "payload:4KiB", "spin": "spin:0.001"}
"""What the workload dialog offers for a word that takes values."""


def largest_target(lab: Lab, lane: Lane) -> int:
    """Give where a lane's slider ends: a million, or what the limits on threads let this machine hold."""
    if not lane.engine.threads:
        return LARGEST_TARGET
    tasks = lane_fit(lab, lane).tasks
    return min(LARGEST_TARGET, max(100, tasks // 100 * 100))


def size_class(breakpoints: Sequence[tuple[int, str]], cells: int) -> str:
    """Give the class of the last of ``breakpoints`` that ``cells`` reach."""
    return [name for least, name in breakpoints if cells >= least][-1]


class MonitorScreen(Screen[None]):
    """The one full screen of the program."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-normal"), (160, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (34, "-tall"), (50, "-roomy")]

    BINDINGS = list(keys.BINDINGS)

    selected: reactive[int] = reactive(0)
    """The lane that the keys act on."""
    window: reactive[int] = reactive(WINDOWS.index(60.0))
    """Which of `WINDOWS` the charts show."""
    paused: reactive[bool] = reactive(False)
    """Whether the charts stand still."""

    def __init__(self, lab: Lab, size: Size, aside: Callable[[], str]) -> None:
        """Show ``lab``, which somebody else steps, on a terminal of ``size`` at first.

        ``aside`` says in a few words what else runs, or nothing.
        """
        # Textual would find these classes at the first resize only, and style everything twice.
        super().__init__(
            classes=f"{size_class(self.HORIZONTAL_BREAKPOINTS, size.width)} "
            f"{size_class(self.VERTICAL_BREAKPOINTS, size.height)}"
        )
        self._lab = lab
        self._aside = aside
        self._view = take_view(lab, lab.clock())
        self._told = 0
        self._colors: list[str] = []
        self._laid_out = False

    # What is seen.

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        self._choose_colors()
        yield StatusBar()
        with Horizontal(id="body"):
            with VerticalScroll(id="side", can_focus=False) as side:
                side.border_title = "lanes"
                for index, (lane, color) in enumerate(zip(self._lab.lanes, self._colors, strict=True)):
                    maximum = largest_target(self._lab, lane)
                    yield LaneCard(index, lane.engine.name, maximum, color, index == self.selected)
                yield CommonPanel()
            yield ChartGrid()
        yield CostTable()
        yield EventView()
        yield KeyBar(keys.BAR)

    def update_node_styles(self, animate: bool = True) -> None:
        """Style everything anew, but not as the screen is shown for the first time.

        Textual asks for it then too; but every widget has just been styled, when it was made, and the first
        frame need not wait for the same again.
        """
        if self._laid_out:
            super().update_node_styles(animate)

    def on_mount(self) -> None:
        """Begin to follow the lab."""
        self.look()
        self.set_interval(FRAME, self._follow)

    def _follow(self) -> None:
        """Look, unless another full screen stands before this one."""
        if self.is_active or self.app.screen.is_modal:
            self.look()

    def _choose_colors(self) -> None:
        """Choose every lane's colour, which depends on whether the theme is dark."""
        dark = self.app.current_theme.dark
        self._colors = [lane_color(index, dark) for index in range(len(self._lab.lanes))]

    def follow_theme(self) -> None:
        """Take the colours that go with the present theme."""
        self._choose_colors()
        for card, color in zip(self.query(LaneCard), self._colors, strict=True):
            card.color = color
        self._told = -1
        self.query_one(ChartGrid).redraw()
        self.look()

    def look(self) -> None:
        """Take one picture of the lab and have everything show it."""
        now = self._lab.clock()
        self._view = view = take_view(self._lab, now)
        self.query_one(StatusBar).show(view, self.paused, self._aside())
        for card, lane in zip(self.query(LaneCard), view.lanes, strict=True):
            card.show(lane)
        self.query_one(CommonPanel).show(view)
        self._show_budget(view)
        self.query_one(CostTable).show(view, self._colors, self.has_class("-narrow"))
        if not self.paused:
            self.query_one(ChartGrid).show(
                list(zip(self._lab.lanes, self._colors, strict=True)), now, self._seconds
            )
        if self._told != self._lab.events.count:
            self._told = self._lab.events.count
            names = [lane.engine.name for lane in self._lab.lanes]
            events = self._lab.events.since(max(0, self._told - SHOWN))
            self.query_one(EventView).show(events, dict(zip(names, self._colors, strict=True)))

    def _show_budget(self, view: LabView) -> None:
        side = self.query_one("#side")
        text = f"{format_bytes(view.total_rss)} of {format_bytes(view.budget)}"
        if side.border_subtitle != text:
            side.border_subtitle = text

    @property
    def _seconds(self) -> float:
        return WINDOWS[self.window]

    def watch_selected(self, selected: int) -> None:
        """Mark the lane that the keys act on."""
        for index, card in enumerate(self.query(LaneCard)):
            card.selected = index == selected

    # What a person does to a lane.

    def _open(
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

    @property
    def _lane(self) -> Lane:
        return self._lab.lanes[self.selected]

    @property
    def _lane_view(self) -> LaneView:
        return self._view.lanes[self.selected]

    @on(LaneSelected)
    def _select(self, event: LaneSelected) -> None:
        self.selected = event.lane

    @on(LaneToggled)
    def _toggle(self, event: LaneToggled) -> None:
        lane = self._lab.lanes[event.lane]
        self._lab.switch(lane, not lane.on)
        self.look()

    @on(TargetAsked)
    def _ask(self, event: TargetAsked) -> None:
        lane = self._lab.lanes[event.lane]
        self._lab.set_target(lane, min(event.tasks, LARGEST_TARGET))
        self.look()

    @on(TargetMoved)
    def _move(self, event: TargetMoved) -> None:
        target = self._lab.lanes[event.lane].target + event.by
        self._ask(TargetAsked(event.lane, max(0, target)))

    @on(NumberWanted)
    def _want_number(self, event: NumberWanted) -> None:
        view = self._view.lanes[event.lane]

        def answer(tasks: int | None) -> None:
            if tasks is not None:
                self._ask(TargetAsked(event.lane, tasks))

        self._open(
            answer,
            f"how many tasks shall {view.name} hold?",
            str(view.target),
            lambda text: parse_count(text, LARGEST_TARGET),
            lambda tasks: forecast(self._view.lanes[event.lane], tasks),
        )

    def action_choose(self, lane: int) -> None:
        """Have the keys act on lane number ``lane`` (from 0), if there is one."""
        cards = list(self.query(LaneCard))
        if lane < len(cards):
            self.selected = lane
            cards[lane].slider.focus()
            cards[lane].scroll_visible(animate=False)

    def action_switch(self) -> None:
        """Switch the chosen lane on or off."""
        self._toggle(LaneToggled(self.selected))

    def action_move(self, by: int) -> None:
        """Ask the chosen lane for so many tasks more."""
        self._move(TargetMoved(self.selected, by))

    def action_number(self) -> None:
        """Ask for an exact number."""
        self._want_number(NumberWanted(self.selected))

    def action_stop_all(self) -> None:
        """Switch every lane off."""
        self._lab.stop_all()
        self.look()

    def action_trim(self) -> None:
        """Have the chosen lane give memory back."""
        self._lane.trim()

    # What a person does to all lanes.

    def action_workload(self) -> None:
        """Choose what each task does."""
        choices = tuple((EXAMPLES.get(word, word), what) for word, (_, what, _) in FORMS.items())

        def read(text: str) -> str:
            if text.strip() == USER:
                raise ValueError(f'"{USER}" is a pattern: expected names of your own, such as "shop:order"')
            return read_workload(text)

        def answer(spec: str | None) -> None:
            if spec is None:
                return
            try:
                self._lab.set_workload(spec)
            except ValueError as error:  # the machine refused to start what serves the page
                self.notify(str(error), severity="error")
            self.look()

        self._open(
            answer,
            "what shall each task do?",
            self._lab.settings.workload,
            read,
            lambda spec: f"{spec}: enter applies it; running tasks are replaced",
            (*choices, (USER, "your own, from the working directory")),
        )

    def action_refill(self) -> None:
        """Switch refill."""
        self._lab.set_refill(not self._lab.settings.refill)
        self.look()

    def action_trace(self) -> None:
        """Switch tracing."""
        self._lab.set_trace(not self._lab.settings.trace)
        self.look()

    def action_collector(self) -> None:
        """Take the next mode of the collector."""
        modes = list(MODES)
        self._lab.set_gc(modes[(modes.index(self._lab.settings.gc) + 1) % len(modes)])
        self.look()

    def action_threads(self) -> None:
        """Ask how many threads a pool shall have."""

        def read(text: str) -> int:
            count = parse_count(text, 100_000)
            if not count:
                raise ValueError("a pool of 0 threads runs nothing: expected a number from 1 to 100,000")
            return count

        def answer(count: int | None) -> None:
            if count is not None:
                self._lab.set_threads(count)

        self._open(
            answer,
            "how many threads shall a pool have?",
            str(self._lab.settings.threads or default_threads()),
            read,
            lambda count: f"{format_count(count)} threads serve its jobs",
        )

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

    def on_resize(self) -> None:
        """Fill the new room at once."""
        self._laid_out = True
        self.query_one(ChartGrid).redraw()
        self.call_after_refresh(self.look)

    def commands(self) -> Iterable[SystemCommand]:
        """Give what the command palette offers of this screen."""
        yield SystemCommand(
            "Exact number", "Type how many tasks the chosen lane shall hold", self.action_number
        )
        yield SystemCommand("Stop all", "Switch every lane off", self.action_stop_all)
        yield SystemCommand("Workload", "Choose what each task does", self.action_workload)
        yield SystemCommand("Refill", "Replace tasks that end, or not", self.action_refill)
        yield SystemCommand("Trace", "Trace allocations, or not", self.action_trace)
        yield SystemCommand("Collector", "Next mode of the garbage collector", self.action_collector)
        yield SystemCommand("Trim", "Have the chosen lane give memory back", self.action_trim)
        yield SystemCommand("Pool threads", "Choose how many threads a pool has", self.action_threads)
        yield SystemCommand("Logarithmic axis", "Switch the y axes", self.action_logarithmic)
        yield SystemCommand("Pause charts", "Stand still, or catch up", self.action_pause)
        yield SystemCommand("One chart", "Give one chart all the room, or take it back", self.action_zoom)
        yield SystemCommand("Help", "The keys, and what the words mean", self.action_help)

    @property
    def view(self) -> LabView:
        """The picture that is shown."""
        return self._view
