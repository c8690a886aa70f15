"""A recording, played back: where the play head stands, and what a person does to it."""

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from msgspec import structs
from textual import on
from textual.app import SystemCommand
from textual.geometry import Size
from textual.widget import Widget

from concwatch.charts.table import DRAWN
from concwatch.lab.events import Event, Log, plain
from concwatch.lab.marks import NOTE, Mark, tell_mark
from concwatch.lab.snapshot import Snapshot
from concwatch.recordings.format import Header
from concwatch.recordings.past import RecordedSeries
from concwatch.recordings.recording import Recording
from concwatch.ui import replay_keys
from concwatch.ui.moment import format_moment, read_moment
from concwatch.ui.play_head import PlayHead
from concwatch.ui.renderables import transport_line
from concwatch.ui.screens.lanes import FRAME, LanesScreen
from concwatch.ui.screens.leaving import is_ending
from concwatch.ui.widgets.chart import Chart
from concwatch.ui.widgets.chart_grid import ChartGrid
from concwatch.ui.widgets.cost_table import PastCosts
from concwatch.ui.widgets.key_bar import KeyBar
from concwatch.ui.widgets.replay_bar import ReplayBar
from concwatch.ui.widgets.status_bar import StatusBar
from concwatch.ui.widgets.still_card import StillCard
from concwatch.ui.widgets.transport import Playing, Transport
from concwatch.units import counted, format_bytes
from concwatch.worker.engines.pool import default_threads

REFUSAL = "a recording: nothing to switch here"
REFUSAL_SECONDS = 5.0
"""For so long the refusal stands; asked again meanwhile it is not said again."""

GRACE = 0.5
"""Seconds after passing a mark, on a person's clock, in which the way back leads to the one before it."""

IDLE = 0.02
"""Seconds between two things that are done ahead of time, so that no key waits for more than one."""


def tell_facts(header: Header) -> str:
    """Say when a recording was taken, and on what: ``21 Nov 2026 12:30 · CPython 3.11.7 · 2 cores``."""
    try:
        began = f"{datetime.fromisoformat(header.began).astimezone():%d %b %Y %H:%M}".lstrip("0")
    except (ValueError, OverflowError, OSError):
        began = header.began[:20]
    machine = header.machine
    memory = machine.get("memory_total")
    facts = [
        began,
        str(machine.get("python", ""))[:40],
        f"{machine['cores']} cores"[:20] if "cores" in machine else "",
        format_bytes(memory) if isinstance(memory, int | float) else "",
    ]
    return plain(" · ".join(filter(None, facts)))


def tell_lack(recording: Recording) -> str:
    """Say what a recording lacks, or nothing."""
    damaged = f"{counted(recording.damaged, 'damaged line')} left out" if recording.damaged else ""
    return plain(", ".join(filter(None, (recording.cut, damaged))))


def own_threads(header: Header) -> int | None:
    """Give how many threads a pool had by itself where the recording was taken; None if that is not known."""
    cores = header.machine.get("cores")
    return default_threads(cores) if isinstance(cores, int) and cores > 0 else None


class ReplayScreen(LanesScreen):
    """Shows lanes as they were at the play head."""

    AUTO_FOCUS = ""  # nothing: the arrow keys are the play head's
    DEFAULT_CSS = """
    ReplayScreen {
        /* Above the line that is played along. */
        & ToastRack { margin-bottom: 2; }
    }
    """
    BINDINGS = list(replay_keys.BINDINGS)
    BAR = replay_keys.BAR
    CARD = StillCard
    COSTS = PastCosts
    EVENTS = 20  # fewer than a monitor has: older ones are a jump away, which need not wait for all of them
    EVENT_ROWS = 40  # nor for a layout

    def __init__(
        self, recording: Recording, name: str, size: Size, clock: Callable[[], float], speed: float = 1.0
    ) -> None:
        """Show a recording on a terminal of ``size`` at first.

        Args:
            recording: what is played.
            name: of its file.
            size: of the terminal, in cells.
            clock: gives seconds that never go back.
            speed: seconds of the recording a second.
        """
        self._recording = recording
        self._file = name
        self._clock = clock
        self._head = PlayHead(recording.duration, speed)
        self._at = 0.0
        self._stale = False
        self._refused = False
        self._pool = own_threads(recording.header)
        self._all_marks = recording.marks(recording.duration).since(0)
        super().__init__(size, lambda: "")

    # What stands behind the screen.

    def snapshot(self) -> Snapshot:
        """Look up what the lanes were at the play head."""
        self._at = self._head.at(self._clock())
        view = self._recording.snapshot(self._at)
        if view.settings.threads is None and self._pool:
            # Else the panel would tell how many a pool has here.
            view = structs.replace(view, settings=structs.replace(view.settings, threads=self._pool))
        return view

    def series(self) -> Sequence[RecordedSeries]:
        """Give the series of each lane, until the play head."""
        return self._recording.series_until(self._at)

    @property
    def events(self) -> Log[Event]:
        """What had happened."""
        return self._recording.events(self._at)

    @property
    def marks(self) -> Log[Mark]:
        """What had been asked for, and noted."""
        return self._recording.marks(self._at)

    def largest_target(self, lane: int) -> int:
        """Give where a slider ended."""
        return self._recording.largest_target(lane)

    # What is seen.

    def heading(self) -> StatusBar:
        """Give the line at the top."""
        recording = self._recording
        return ReplayBar(plain(self._file), tell_facts(recording.header), tell_lack(recording))

    def foot(self) -> Iterable[Widget]:
        """Give the lines at the bottom."""
        return [Transport(self._recording.duration), KeyBar(self.BAR)]

    def on_mount(self) -> None:
        """Play."""
        if is_ending(self.app):
            return
        for chart in self.query(Chart):
            chart.hint = "nothing recorded by this moment"
        self.set_interval(FRAME, self._play_on)
        self._head.play(self._clock())
        self._show_marks()
        self.call_after_refresh(self.run_worker, self._fold_ahead, name="fold")

    async def _fold_ahead(self) -> None:
        """Fold what the charts show while nobody waits, so that the first jump over hours need not."""
        for lane in self._recording.lanes:
            for metric in DRAWN:
                lane.series.fold(metric)
                await asyncio.sleep(IDLE)

    def look(self, snapshot: Snapshot | None = None) -> None:
        """Show everything as it was at the play head."""
        self._stale = False
        super().look(snapshot)
        self._show_playing()

    def _show_playing(self) -> None:
        self.query_one(Transport).show(Playing(self._at, self._head.playing, self._head.speed))

    def _play_on(self) -> None:
        """Look, if the play head has moved since the last time."""
        if self._head.playing:
            self.follow(self.snapshot())

    def follow_theme(self) -> None:
        """Take the colours that go with the present theme."""
        super().follow_theme()
        self._show_marks()

    def _show_marks(self) -> None:
        colors = dict(zip((lane.name for lane in self._view.lanes), self._colors, strict=True))
        duration = max(self._recording.duration, 1e-9)
        marks = [
            transport_line.Mark(
                mark.time / duration,
                "$accent" if mark.kind == NOTE else colors.get(mark.lane, "$foreground"),
                mark.kind == NOTE,
            )
            for mark in self._all_marks
        ]
        self.query_one(Transport).show_marks(marks, [tell_mark(mark) for mark in self._all_marks])

    # What a person does to the play head.

    def _moved(self) -> None:
        """Show where the play head is, once, after however many keys and moves of the mouse wait by now."""
        if not self._stale:
            self._stale = True
            self.call_later(self._show_moved)

    def _show_moved(self) -> None:
        if self._head.at(self._clock()) == self._at:  # it was let go where it was held
            self._stale = False
            self._show_playing()
        else:
            self.query_one(ChartGrid).redraw()
            self.look()

    def _jump(self, moment: float) -> None:
        self._head.jump(moment, self._clock())
        self._moved()

    @on(Transport.Held)
    def _hold(self, event: Transport.Held) -> None:
        self.set_focus(None)  # from now on the arrow keys are the play head's again
        self._head.hold(event.moment, self._clock())
        self._moved()

    @on(Transport.Dropped)
    def _drop(self, event: Transport.Dropped) -> None:
        self._head.drop(event.moment, self._clock())
        self._moved()

    def action_play(self) -> None:
        """Play, or pause."""
        now = self._clock()
        if self._head.playing:
            self._head.pause(now)
        else:
            self._head.play(now)
        self._moved()

    def action_pause(self) -> None:
        """Play, or pause: what is shown is always the play head's moment."""
        self.action_play()

    def action_go(self, seconds: float) -> None:
        """Go so many seconds on, or back."""
        self._jump(self._head.at(self._clock()) + seconds)

    def action_step(self, direction: int) -> None:
        """Go to the next sample of any lane, or to the one before, and pause."""
        now = self._clock()
        self._head.pause(now)
        at = self._head.at(now)
        times = [lane.times for lane in self._recording.lanes]
        if direction > 0:
            later = [(each, bisect_right(each, at)) for each in times]
            self._jump(min((each[i] for each, i in later if i < len(each)), default=self._head.duration))
        else:
            earlier = [(each, bisect_left(each, at) - 1) for each in times]
            self._jump(max((each[i] for each, i in earlier if i >= 0), default=0.0))

    def action_beginning(self) -> None:
        """Go to the beginning."""
        self._jump(0.0)

    def action_end(self) -> None:
        """Go to the end."""
        self._jump(self._head.duration)

    def action_next_mark(self, direction: int) -> None:
        """Go to the next mark, or to the one before."""
        now = self._clock()
        at = self._head.at(now)
        if direction > 0:
            times = [mark.time for mark in self._all_marks if mark.time > at]
        else:
            # While it plays, the mark that was just passed is where the play head comes from.
            least = GRACE * self._head.speed if self._head.playing else 0.0
            times = [mark.time for mark in reversed(self._all_marks) if mark.time < at - least]
        if times:
            self._jump(times[0])

    def action_speed(self, step: int) -> None:
        """Play faster, or slower."""
        self._head.change_speed(step, self._clock())
        self._moved()

    def action_jump(self) -> None:
        """Ask for a moment."""
        duration = self._head.duration

        def answer(moment: float | None) -> None:
            if moment is not None:
                self._jump(moment)

        self.ask(
            answer,
            "to which moment?",
            format_moment(self._at, duration).strip(),
            lambda text: read_moment(text, duration),
            lambda moment: f"{format_moment(moment, duration)} of {format_moment(duration, duration)}",
        )

    # What is not for a recording.

    def action_refuse(self) -> None:
        """Say, once, that nothing can be switched here."""
        if not self._refused:
            self._refused = True
            self.notify(REFUSAL, timeout=REFUSAL_SECONDS)
            self.set_timer(REFUSAL_SECONDS, self._forget_refusal)

    def _forget_refusal(self) -> None:
        self._refused = False

    # The panel of common settings runs these.
    action_workload = action_refill = action_trace = action_collector = action_refuse
    action_stop_all = action_threads = action_refuse

    def action_help(self) -> None:
        """Show the keys and the words."""
        from concwatch.ui.screens.help import HelpScreen  # only here: the first frame need not wait for it

        self.app.push_screen(HelpScreen("a recording, played back", replay_keys.HELP))

    def commands(self) -> Iterable[SystemCommand]:
        """Give what the command palette offers of this screen."""
        yield SystemCommand("Play or pause", "Let the play head move, or stand still", self.action_play)
        yield SystemCommand("Jump", "Type the moment to go to", self.action_jump)
        yield SystemCommand("Beginning", "Go to the beginning", self.action_beginning)
        yield SystemCommand("End", "Go to the end", self.action_end)
        yield from (command for command in super().commands() if command.title != "Pause charts")
