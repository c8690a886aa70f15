"""A recording, played back: where the play head stands, and what a person does to it."""

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from datetime import datetime

from textual import on
from textual.geometry import Size
from textual.widget import Widget

from concwatch.charts.table import DRAWN, shortest_span
from concwatch.lab.events import NOTE, mark_text
from concwatch.lab.snapshot import Snapshot
from concwatch.recordings.format import Header
from concwatch.recordings.recording import Recording
from concwatch.text import plain
from concwatch.ui import keys
from concwatch.ui.moment import format_moment, read_moment
from concwatch.ui.play_head import PlayHead
from concwatch.ui.recording_source import RecordingSource
from concwatch.ui.renderables import transport_line
from concwatch.ui.screens.base import is_ending
from concwatch.ui.screens.lanes import FRAME, LanesScreen
from concwatch.ui.widgets.chart import Chart
from concwatch.ui.widgets.cost_table import RecordedCosts
from concwatch.ui.widgets.key_bar import KeyBar
from concwatch.ui.widgets.lane_card import RecordedCard
from concwatch.ui.widgets.status_bar import ReplayBar, StatusBar
from concwatch.ui.widgets.transport import Playing, Transport
from concwatch.units import counted, format_bytes

REFUSAL = "a recording: nothing to switch here"
REFUSAL_SECONDS = 5.0
"""For so long the refusal stands; asked again meanwhile it is not said again."""

GRACE = 0.5
"""Seconds after passing a mark, on a person's clock, in which the way back leads to the one before it."""

IDLE = 0.02
"""Seconds between two things that are done ahead of time, so that no key waits for more than one."""


def tell_facts(header: Header) -> str:
    """Return when a recording was taken, and on what: ``21 Nov 2026 12:30 · CPython 3.11.7 · 2 cores``."""
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
    """Return what a recording lacks, or nothing."""
    damaged = f"{counted(recording.damaged, 'damaged line')} left out" if recording.damaged else ""
    return plain(", ".join(filter(None, (recording.cut, damaged))))


class ReplayControls:
    """What a person does to the play head."""

    def __init__(self, source: RecordingSource, screen: "ReplayScreen") -> None:
        """Move the play head of ``source``, and show on ``screen`` where it went."""
        self._source = source
        self._head = source.head
        self._screen = screen
        self._refused = False

    def _jump(self, moment: float) -> None:
        self._head.jump(moment, self._source.clock())

    def play(self) -> None:
        """Play, or pause."""
        now = self._source.clock()
        if self._head.playing:
            self._head.pause(now)
        else:
            self._head.play(now)

    def go(self, seconds: float) -> None:
        """Go so many seconds on, or back."""
        self._jump(self._head.at(self._source.clock()) + seconds)

    def step(self, direction: int) -> None:
        """Go to the next sample of any lane, or to the one before, and pause."""
        now = self._source.clock()
        self._head.pause(now)
        at = self._head.at(now)
        times = [lane.times for lane in self._source.recording.lanes]
        if direction > 0:
            later = [(each, bisect_right(each, at)) for each in times]
            self._jump(min((each[i] for each, i in later if i < len(each)), default=self._head.duration))
        else:
            earlier = [(each, bisect_left(each, at) - 1) for each in times]
            self._jump(max((each[i] for each, i in earlier if i >= 0), default=0.0))

    def beginning(self) -> None:
        """Go to the beginning."""
        self._jump(0.0)

    def end(self) -> None:
        """Go to the end."""
        self._jump(self._head.duration)

    def next_mark(self, direction: int) -> None:
        """Go to the next mark, or to the one before."""
        at = self._head.at(self._source.clock())
        marks = self._source.all_marks
        if direction > 0:
            times = [mark.time for mark in marks if mark.time > at]
        else:
            # While it plays, the mark that was just passed is where the play head comes from.
            least = GRACE * self._head.speed if self._head.playing else 0.0
            times = [mark.time for mark in reversed(marks) if mark.time < at - least]
        if times:
            self._jump(times[0])

    def speed(self, step: int) -> None:
        """Play faster, or slower."""
        self._head.change_speed(step, self._source.clock())

    def jump(self) -> None:
        """Ask for a moment."""
        duration = self._head.duration

        self._screen.ask(
            self._jump,
            "jump to a moment",
            format_moment(self._source.at, duration).strip(),
            lambda text: read_moment(text, duration),
            lambda moment: f"{format_moment(moment, duration)} of {format_moment(duration, duration)}",
        )

    def refuse(self) -> None:
        """Show a notice, once, that nothing can be switched here."""
        if not self._refused:
            self._refused = True
            self._screen.notify(REFUSAL, timeout=REFUSAL_SECONDS)
            self._screen.set_timer(REFUSAL_SECONDS, self._forget_refusal)

    def _forget_refusal(self) -> None:
        self._refused = False

    # The panel of common settings runs these.
    workload = refill = trace = collector = stop_all = threads = refuse


class ReplayScreen(LanesScreen):
    """Shows lanes as they were at the play head."""

    AUTO_FOCUS = ""  # nothing: the arrow keys are the play head's
    DEFAULT_CSS = """
    ReplayScreen {
        /* Above the line that is played along. */
        & ToastRack { margin-bottom: 2; }
    }
    """
    KEYS = keys.REPLAY
    BINDINGS = keys.bindings(keys.REPLAY)
    SUBJECT = "a recording, played back"
    CARD = RecordedCard
    COSTS = RecordedCosts
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
            clock: returns seconds that never go back.
            speed: seconds of the recording a second.
        """
        self.playing = RecordingSource(recording, PlayHead(recording.duration, speed), clock)
        """What is played, and where."""
        self._file = name
        self._stale = False
        super().__init__(self.playing, size)
        self.controls = ReplayControls(self.playing, self)
        self.charts.chosen = shortest_span(recording.duration)

    # What is seen.

    def heading(self) -> StatusBar:
        """Return the line at the top."""
        recording = self.playing.recording
        return ReplayBar(plain(self._file), tell_facts(recording.header), tell_lack(recording))

    def foot(self) -> Iterable[Widget]:
        """Return the lines at the bottom."""
        return [Transport(self.playing.recording.duration), KeyBar(keys.bar(self.KEYS))]

    def on_mount(self) -> None:
        """Play."""
        if is_ending(self.app):
            return
        for chart in self.query(Chart):
            chart.hint = "nothing recorded by this moment"
        self.set_interval(FRAME, self._play_on)
        self.playing.head.play(self.playing.clock())
        self._show_marks()
        self.call_after_refresh(self.run_worker, self._fold_ahead, name="fold")

    async def _fold_ahead(self) -> None:
        """Fold what the charts show while nobody waits, so that the first jump over hours need not."""
        for lane in self.playing.recording.lanes:
            for metric in DRAWN:
                lane.series.precompute(metric)
                await asyncio.sleep(IDLE)

    def look(self, snapshot: Snapshot | None = None) -> None:
        """Show everything as it was at the play head."""
        self._stale = False
        super().look(snapshot)
        self._show_playing()

    def _show_playing(self) -> None:
        head = self.playing.head
        self.query_one(Transport).show(Playing(self.playing.at, head.playing, head.speed))

    def _play_on(self) -> None:
        """Look, if the play head has moved since the last time."""
        if self.playing.head.playing:
            self.follow(self.playing.snapshot())

    def follow_theme(self) -> None:
        """Take the colours that go with the present theme."""
        super().follow_theme()
        self._show_marks()

    def _show_marks(self) -> None:
        colors = dict(zip((lane.name for lane in self.view.lanes), self._colors, strict=True))
        duration = max(self.playing.recording.duration, 1e-9)
        marks = self.playing.all_marks
        strokes = [
            transport_line.Mark(
                mark.time / duration,
                "$accent" if mark.kind == NOTE else colors.get(mark.lane, "$foreground"),
                mark.kind == NOTE,
            )
            for mark in marks
        ]
        self.query_one(Transport).show_marks(strokes, [mark_text(mark) for mark in marks])

    # Where the play head goes.

    def acted(self) -> None:
        """Show where the play head is, once, after however many keys and moves of the mouse wait by now."""
        if not self._stale:
            self._stale = True
            self.call_later(self._show_moved)

    def _show_moved(self) -> None:
        playing = self.playing
        if playing.head.at(playing.clock()) == playing.at:  # it was let go where it was held
            self.look()
        else:
            self.charts.redraw()

    @on(Transport.Dragged)
    def _hold(self, event: Transport.Dragged) -> None:
        self.set_focus(None)  # from now on the arrow keys are the play head's again
        self.playing.head.hold(event.moment, self.playing.clock())
        self.acted()

    @on(Transport.Released)
    def _drop(self, event: Transport.Released) -> None:
        self.playing.head.drop(event.moment, self.playing.clock())
        self.acted()
