"""The monitor: what a person does goes to the lab, and what the lab measures is shown."""

from collections.abc import Callable, Iterable, Sequence

from textual import on
from textual.app import SystemCommand
from textual.geometry import Size

from concwatch.lab.events import EventLog
from concwatch.lab.forecast import Forecast
from concwatch.lab.lab import Lab
from concwatch.lab.lane import Lane
from concwatch.lab.marks import NOTE, MarkLog
from concwatch.lab.pages import read_workload
from concwatch.lab.series import Series
from concwatch.lab.snapshot import Snapshot
from concwatch.ui import keys
from concwatch.ui.messages import LaneToggled, NumberWanted, TargetAsked, TargetMoved
from concwatch.ui.scale import LARGEST_TARGET
from concwatch.ui.screens.lanes import FRAME, LanesScreen
from concwatch.ui.widgets.chart_grid import ChartGrid
from concwatch.ui.widgets.lane_card import forecast
from concwatch.units import format_clock, format_count, parse_count
from concwatch.worker.collector import MODES
from concwatch.worker.engines.pool import default_threads
from concwatch.worker.workloads import FORMS, USER

EXAMPLES = {"sleep": "sleep:10", "ticks": "ticks:10x0.1", "payload": "payload:4KiB", "spin": "spin:0.001"}
"""What the workload dialog offers for a word that takes values."""


class MonitorScreen(LanesScreen):
    """The first screen of the program: live lanes."""

    BINDINGS = list(keys.BINDINGS)
    BAR = keys.BAR

    def __init__(self, lab: Lab, size: Size, aside: Callable[[], str]) -> None:
        """Show ``lab``, which somebody else steps, on a terminal of ``size`` at first.

        ``aside`` says in a few words what else runs, or nothing.
        """
        self._lab = lab
        self._asking = False
        self._due = 0.0
        super().__init__(size, aside)

    # What stands behind the screen.

    def snapshot(self) -> Snapshot:
        """Return the lanes as they are now."""
        return self._lab.snapshot()

    def on_mount(self) -> None:
        """Follow the lab's steps."""
        self._lab.observers.append(self._observe)

    def on_unmount(self) -> None:
        """Follow them no more."""
        self._lab.observers.remove(self._observe)

    def _observe(self, snapshot: Snapshot) -> None:
        """Show a step of the lab, at most one a frame: while tasks grow it steps faster than anybody sees."""
        if snapshot.time >= self._due:
            self._due = snapshot.time + FRAME * 0.9
            self.call_later(self.follow, snapshot)

    def series(self) -> Sequence[Series]:
        """Give the series of each lane."""
        return [lane.series for lane in self._lab.lanes]

    @property
    def events(self) -> EventLog:
        """What has happened."""
        return self._lab.events

    @property
    def marks(self) -> MarkLog:
        """What was asked for, and what a person noted."""
        return self._lab.marks

    def largest_target(self, lane: int) -> int:
        """Give where a slider ends: a million, or what the limits on threads let this machine hold."""
        if not self._lab.lanes[lane].engine.threads:
            return LARGEST_TARGET
        tasks = self._lab.fit(self._lab.lanes[lane]).tasks
        return min(LARGEST_TARGET, max(100, tasks // 100 * 100))

    # What a person does to a lane.

    @property
    def _lane(self) -> Lane:
        return self._lab.lanes[self.selected]

    @on(LaneToggled)
    def _toggle(self, event: LaneToggled) -> None:
        lane = self._lab.lanes[event.lane]
        self._lab.switch(lane, not lane.on)
        self.look()

    @on(TargetAsked)
    def _ask(self, event: TargetAsked) -> None:
        lane, tasks = self._lab.lanes[event.lane], min(event.tasks, LARGEST_TARGET)
        found = self._lab.forecast(lane, tasks) if tasks > lane.target and not lane.missing else None
        if found is None or found.fits:
            self._lab.set_target(lane, tasks)
        elif not self._asking:
            self._ask_whether(lane, found)
        self.look()

    def _ask_whether(self, lane: Lane, found: Forecast) -> None:
        """Ask what to do about a target that will not fit; until then the lane holds what it held."""
        from concwatch.ui.screens.fit_dialog import FitDialog  # only here: the first frame can do without

        def answer(tasks: int | None) -> None:
            self._asking = False
            if tasks is not None:
                self._lab.set_target(lane, tasks)
                self.look()

        self._asking = True  # more keys may have been pressed before the question can be seen
        self.app.push_screen(FitDialog(lane.engine.name, found, lane.target), answer)

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

        self.ask(
            answer,
            f"how many tasks shall {view.name} hold?",
            str(view.status.target),
            lambda text: parse_count(text, LARGEST_TARGET),
            lambda tasks: forecast(self._view.lanes[event.lane], tasks),
        )

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
        self._lab.trim(self._lane)

    def action_how(self) -> None:
        """Say how the chosen lane is measured."""
        from textual.content import Content

        from concwatch.lab.engine_notes import engine_notes
        from concwatch.ui.screens.help import ReadDialog  # only here: the first frame can do without

        lane = self._lane
        stands = lane.tally.ready
        runs = (
            f"{stands.runtime}{''.join(f' · {flag}' for flag in lane.tally.flags)}"
            if stands
            else "not running"
        )
        text = Content.assemble(
            (lane.engine.task, "bold"), "\n", (runs, "$accent"), "\n\n", engine_notes(lane.engine)
        )
        self.app.push_screen(ReadDialog(f"{lane.engine.name}: how it is measured", text))

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

        self.ask(
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

    def action_mark(self) -> None:
        """Mark this moment with a note."""
        moment = self._lab.clock()

        def read(text: str) -> str:
            if not text.strip():
                raise ValueError("a mark without a text is hard to tell from others: expected a few words")
            return " ".join(text.split())

        def answer(text: str | None) -> None:
            if text is not None:
                self._lab.note(text, moment)
                self.query_one(ChartGrid).redraw()
                self.look()

        self.ask(
            answer,
            "what happens at this moment?",
            f"mark {sum(mark.kind == NOTE for mark in self._lab.marks.since(0)) + 1}",
            read,
            lambda text: f"enter marks {format_clock(moment - self._lab.began)} on the charts",
        )

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
                self.look()

        self.ask(
            answer,
            "how many threads shall a pool have?",
            str(self._lab.settings.threads or default_threads()),
            read,
            lambda count: f"{format_count(count)} threads serve its jobs",
        )

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
        yield SystemCommand("Mark", "Mark this moment on the charts, with a note", self.action_mark)
        yield SystemCommand("Trim", "Have the chosen lane give memory back", self.action_trim)
        yield SystemCommand("How it is measured", "What a task is in the chosen lane", self.action_how)
        yield SystemCommand("Pool threads", "Choose how many threads a pool has", self.action_threads)
        yield from super().commands()
