"""The monitor: what a person does goes to the lab, and what the lab measures is shown."""

from collections.abc import Callable, Mapping

from textual.geometry import Size

from concwatch.lab.events import NOTE
from concwatch.lab.forecast import Forecast
from concwatch.lab.lab import Lab
from concwatch.lab.lane import Lane
from concwatch.lab.lane_row import LaneRow
from concwatch.lab.pages import read_workload
from concwatch.lab.settings import LARGEST_TARGET
from concwatch.lab.snapshot import Snapshot
from concwatch.ui import keys
from concwatch.ui.screens.lanes import FRAME, LanesScreen
from concwatch.ui.source import LabSource
from concwatch.ui.widgets.lane_card import forecast
from concwatch.units import format_clock, format_count, parse_count
from concwatch.worker.collector import MODES
from concwatch.worker.engines import default_threads
from concwatch.worker.workloads import FORMS, USER

EXAMPLES = {"sleep": "sleep:5..15", "ticks": "ticks:10x0.1", "payload": "payload:4KiB", "spin": "spin:0.001"}
"""What the workload dialog offers for a word that takes values."""


class LabControls:
    """What a person does to live lanes.

    Where a command takes a ``lane``, that is its number from 0; without one it is about the lane chosen.
    """

    def __init__(self, lab: Lab, source: LabSource, screen: LanesScreen) -> None:
        """Control ``lab`` by the rows of ``source``, and ask on ``screen`` what has to be asked."""
        self._lab = lab
        self._source = source
        self._screen = screen
        self._asking = False

    def _row(self, lane: int | None = None) -> LaneRow:
        return self._source.rows[self._screen.selected if lane is None else lane]

    # What a person does to a lane.

    def switch(self, lane: int | None = None) -> None:
        """Switch a lane on or off."""
        chosen = self._row(lane)
        broken = [each for each in chosen.lanes if each.state.broken]
        on = not chosen.on or bool(broken)
        for each in broken if chosen.on and broken else chosen.lanes:
            self._lab.switch(each, on)

    def hold(self, tasks: int, lane: int | None = None) -> None:
        """Have a lane hold ``tasks``, once they are known to fit or a person wants them all the same."""
        chosen, tasks = self._row(lane), min(tasks, LARGEST_TARGET)
        shares = chosen.split(tasks, self._source.fits)
        for each, share in shares.items():
            capacity = self._lab.host_of(each).capacity
            # Of several hosts each guard grants what fits there, and of one that has not answered yet.
            asks = len(shares) == 1 and capacity.budget.known
            grows = share > each.target and not each.missing
            found = capacity.forecast(each, share) if grows and asks else None
            if found is None or found.fits:
                self._lab.set_target(each, share)
            elif not self._asking:
                self._ask_whether(each, found)

    def move(self, by: int, lane: int | None = None) -> None:
        """Have a lane hold so many tasks more."""
        self.hold(max(0, self._row(lane).target + by), lane)

    def _ask_whether(self, lane: Lane, found: Forecast) -> None:
        """Ask what to do about a target that will not fit; until then the lane holds what it held."""
        from concwatch.ui.screens.fit_dialog import FitDialog  # only here: the first frame can do without

        def answer(tasks: int | None) -> None:
            self._asking = False
            if tasks is not None:
                self._lab.set_target(lane, tasks)
                self._screen.look()

        self._asking = True  # more keys may have been pressed before the question can be seen
        self._screen.app.push_screen(FitDialog(lane.engine.name, found, lane.target), answer)

    def number(self, lane: int | None = None) -> None:
        """Ask how many tasks a lane is to hold."""
        index = self._screen.selected if lane is None else lane

        self._screen.ask(
            lambda tasks: self.hold(tasks, index),
            f"number of tasks: {self._row(index).name}",
            str(self._row(index).target),
            lambda text: parse_count(text, LARGEST_TARGET),
            lambda tasks: forecast(self._screen.view.lanes[index], tasks),
        )

    def again(self) -> None:
        """Ask the chosen lane for its target once more: without refill that starts it anew."""
        row = self._row()
        if self._lab.settings.refill:
            self._screen.notify("tasks that end are replaced already: f turns refill off", severity="warning")
        elif row.asked:
            self.hold(row.asked)

    def trim(self) -> None:
        """Have the chosen lane give memory back."""
        for lane in self._row().lanes:
            self._lab.trim(lane)

    def how(self) -> None:
        """Show how the chosen lane is measured."""
        from textual.content import Content

        from concwatch.lab.engine_notes import engine_notes
        from concwatch.ui.screens.help import ReadDialog  # only here: the first frame can do without

        lane = self._row().lanes[0]
        stands = lane.worker.tally.ready
        runs = (
            f"{stands.runtime}{''.join(f' · {flag}' for flag in lane.worker.tally.flags)}"
            if stands
            else "not running"
        )
        text = Content.assemble(
            (lane.engine.task, "bold"), "\n", (runs, "$accent"), "\n\n", engine_notes(lane.engine)
        )
        self._screen.app.push_screen(ReadDialog(f"{lane.engine.name}: how it is measured", text))

    # What a person does to lanes on several hosts.

    async def fold(self) -> None:
        """Show the chosen row's lanes by themselves, or in one row again."""
        if self._several():
            chosen = self._source.fold(self._screen.selected)
            await self._screen.rearrange(chosen)

    def _several(self) -> bool:
        """Return whether an engine runs on several hosts; if not, say so."""
        if not self._source.folds:
            self._screen.notify("each engine runs on one host: --host names others", severity="warning")
        return self._source.folds

    def spread(self) -> None:
        """Have the charts show the median host and the band from the least to the most, or the sum."""
        if not self._several():
            return
        self._source.spread = not self._source.spread
        what = "the median, and the band in which all lie" if self._source.spread else "the sum"
        self._lab.tell(f"charts of folded hosts: {what}")
        self._screen.look_now()

    def evenly(self) -> None:
        """Split targets evenly over hosts from now on, or by what each can hold."""
        self._source.even = not self._source.even
        how = "evenly" if self._source.even else "by what each host can hold"
        self._lab.tell(f"targets for several hosts are split {how}")
        row = self._row()
        if len(row.lanes) > 1 and row.target:
            self.hold(row.target)

    # What a person does to all lanes.

    def stop_all(self) -> None:
        """Switch every lane off."""
        self._lab.stop_all()

    def workload(self) -> None:
        """Choose what each task does."""
        choices = tuple((EXAMPLES.get(word, word), what) for word, (_, what, _) in FORMS.items())

        def read(text: str) -> str:
            if text.strip() == USER:
                raise ValueError(f'"{USER}" is a pattern: expected names of your own, such as "shop:order"')
            return read_workload(text)

        def take(spec: str) -> None:
            try:
                self._lab.set_workload(spec)
            except ValueError as error:  # the machine refused to start what serves the page
                self._screen.notify(str(error), severity="error")

        self._screen.ask(
            take,
            "what each task does",
            self._lab.settings.workload,
            read,
            lambda spec: f"{spec}: enter applies it; running tasks are replaced",
            (*choices, (USER, "your own, from the working directory")),
        )

    def refill(self) -> None:
        """Switch refill."""
        self._lab.set_refill(not self._lab.settings.refill)

    def trace(self) -> None:
        """Switch tracing."""
        self._lab.set_trace(not self._lab.settings.trace)

    def collector(self) -> None:
        """Take the next mode of the collector."""
        modes = list(MODES)
        self._lab.set_gc(modes[(modes.index(self._lab.settings.gc) + 1) % len(modes)])

    def mark(self) -> None:
        """Mark this moment with a note."""
        moment = self._lab.clock()

        def read(text: str) -> str:
            if not text.strip():
                raise ValueError("a mark without a text is hard to tell from others: expected a few words")
            return " ".join(text.split())

        def take(text: str) -> None:
            self._lab.note(text, moment)
            self._screen.charts.redraw()

        self._screen.ask(
            take,
            "a note for this moment",
            f"mark {sum(mark.kind == NOTE for mark in self._lab.marks.since(0)) + 1}",
            read,
            lambda text: f"enter marks {format_clock(moment - self._lab.began)} on the charts",
        )

    def threads(self) -> None:
        """Ask how many threads a pool is to have."""

        def read(text: str) -> int:
            count = parse_count(text, 100_000)
            if not count:
                raise ValueError("a pool of 0 threads runs nothing: expected a number from 1 to 100,000")
            return count

        self._screen.ask(
            self._lab.set_threads,
            "number of threads in the pool",
            str(self._lab.settings.threads or default_threads()),
            read,
            lambda count: f"{format_count(count)} threads serve its jobs",
        )


class MonitorScreen(LanesScreen):
    """The first screen of the program: live lanes."""

    KEYS = keys.MONITOR
    BINDINGS = keys.bindings(keys.MONITOR)
    SUBJECT = "what does one more task cost?"
    MOUSE = "Drag a slider, or click a lane's ○ off, its number, or a setting to change it."

    def __init__(self, lab: Lab, size: Size, aside: Callable[[], str]) -> None:
        """Show ``lab``, which somebody else steps, on a terminal of ``size`` at first.

        ``aside`` says in a few words what else runs, or nothing.
        """
        self._rows = LabSource(lab)
        super().__init__(self._rows, size, aside, lab.tell)
        self.controls = self._controls = LabControls(lab, self._rows, self)
        self._lab = lab
        self._due = 0.0
        self._latest: Snapshot | None = None

    def on_mount(self) -> None:
        """Follow the lab's steps."""
        self._lab.observers.append(self._observe)

    def on_unmount(self) -> None:
        """Follow them no more."""
        self._lab.observers.remove(self._observe)

    def colors_of(self, view: Snapshot) -> dict[str, str]:
        """Return the colour of each lane, of folded ones that of their row."""
        pairs = zip(self._rows.rows, super().colors_of(view).values(), strict=True)
        return {lane.engine.name: color for row, color in pairs for lane in row.lanes}

    def hold(self, tasks: Mapping[str, int]) -> None:
        """Ask the rows of engines for so many tasks, by name."""
        for index, row in enumerate(self._rows.rows):
            if row.own_name in tasks:
                self._controls.hold(tasks[row.own_name], index)

    def _observe(self, snapshot: Snapshot) -> None:
        """Show a step of the lab, at most one a frame: while tasks grow it steps faster than anybody sees."""
        self._rows.follow(snapshot)
        if self._latest is not None:  # one that waits to be shown is old by now
            self._latest = snapshot
        elif snapshot.time >= self._due:
            self._latest, self._due = snapshot, snapshot.time + FRAME * 0.9
            self.call_later(self._show)

    async def _show(self) -> None:
        """Show the latest step of the lab with a lane for each row that there is by now."""
        latest, self._latest = self._latest, None
        if self._rows.update():
            await self.rearrange(min(self.selected, len(self._rows.rows) - 1))
        elif latest is not None:
            self.follow(self._rows.shown(latest))
