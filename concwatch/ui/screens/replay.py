"""The screen that plays a recording."""

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING

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
from concwatch.ui.play_head import PlayHead, format_moment, parse_moment
from concwatch.ui.recording_source import RecordingSource
from concwatch.ui.renderables import transport_line
from concwatch.ui.screens.base import is_exiting
from concwatch.ui.screens.lanes import FRAME, LanesScreen
from concwatch.ui.widgets.chart import Chart
from concwatch.ui.widgets.common_panel import CommonPanel
from concwatch.ui.widgets.cost_table import RecordedCosts
from concwatch.ui.widgets.key_bar import KeyBar
from concwatch.ui.widgets.lane_card import LaneCard, RecordedCard
from concwatch.ui.widgets.status_bar import ReplayBar, StatusBar
from concwatch.ui.widgets.transport import Playing, Transport
from concwatch.units import counted, format_bytes

if TYPE_CHECKING:
    from concwatch.ui.lanes_app import LanesApp

REFUSAL = "this is a recording: lanes and settings cannot be changed"
REFUSAL_SECONDS = 5.0
"""How long the notification is shown; it is not repeated meanwhile."""

GRACE = 0.5
"""Seconds of real time after passing a mark in which "previous mark" skips that mark."""

FOLD_INTERVAL = 0.02
"""Seconds between two steps of preparing the charts, so that keys are handled in between."""


def recorded_on(header: Header) -> str:
    """Return when and where a recording was made: ``21 Nov 2026 12:30 · CPython 3.11.7 · 2 cores``."""
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


def missing_parts(recording: Recording) -> str:
    """Return what is missing from a recording, or an empty string."""
    damaged = f"{counted(recording.damaged, 'damaged line')} left out" if recording.damaged else ""
    return plain(", ".join(filter(None, (recording.cut, damaged))))


class ReplayCommands:
    """The commands for the play head."""

    def __init__(self, source: RecordingSource, screen: "ReplayScreen") -> None:
        """Create the commands for the play head of ``source``; dialogs are opened on ``screen``."""
        self._source = source
        self._head = source.head
        self._screen = screen
        self._refused = False

    def _jump(self, moment: float) -> None:
        self._head.jump(moment, self._source.clock())

    def toggle_play(self) -> None:
        """Play or pause."""
        now = self._source.clock()
        if self._head.playing:
            self._head.pause(now)
        else:
            self._head.play(now)

    def skip(self, seconds: float) -> None:
        """Move by a number of seconds; back if negative."""
        self._jump(self._head.at(self._source.clock()) + seconds)

    def step(self, direction: int) -> None:
        """Pause and move to the next (1) or previous (-1) sample of any lane."""
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

    def to_start(self) -> None:
        """Move to the beginning."""
        self._jump(0.0)

    def to_end(self) -> None:
        """Move to the end."""
        self._jump(self._head.duration)

    def next_mark(self, direction: int) -> None:
        """Move to the next (1) or previous (-1) mark."""
        at = self._head.at(self._source.clock())
        marks = self._source.all_marks
        if direction > 0:
            times = [mark.time for mark in marks if mark.time > at]
        else:
            # While playing, skip the mark that the play head has just passed.
            least = GRACE * self._head.speed if self._head.playing else 0.0
            times = [mark.time for mark in reversed(marks) if mark.time < at - least]
        if times:
            self._jump(times[0])

    def speed(self, step: int) -> None:
        """Play faster (1) or slower (-1)."""
        self._head.change_speed(step, self._source.clock())

    def ask_moment(self) -> None:
        """Ask for a moment and move there."""
        duration = self._head.duration

        self._screen.ask(
            self._jump,
            "jump to a moment",
            format_moment(self._source.at, duration).strip(),
            lambda text: parse_moment(text, duration),
            lambda moment: f"{format_moment(moment, duration)} of {format_moment(duration, duration)}",
        )

    def refuse(self) -> None:
        """Notify the user that a recording cannot be changed."""
        if not self._refused:
            self._refused = True
            self._screen.notify(REFUSAL, timeout=REFUSAL_SECONDS)
            self._screen.set_timer(REFUSAL_SECONDS, self._forget_refusal)

    def _forget_refusal(self) -> None:
        self._refused = False


class ReplayScreen(LanesScreen):
    """Shows the lanes at the play head of a recording."""

    AUTO_FOCUS = ""  # nothing: the arrow keys move the play head
    DEFAULT_CSS = """
    ReplayScreen {
        /* Above the transport bar. */
        & ToastRack { margin-bottom: 2; }
    }
    """
    BINDINGS = keys.bindings(keys.REPLAY)
    SUBJECT = "playing a recording"
    COSTS = RecordedCosts
    EVENTS = 20  # fewer than on the monitor, so that jumps are fast
    EVENT_ROWS = 40  # fixed, so that jumps need no layout
    BARS = 3

    def __init__(
        self,
        app: "LanesApp",
        recording: Recording,
        name: str,
        size: Size,
        clock: Callable[[], float],
        speed: float = 1.0,
    ) -> None:
        """Create the screen.

        Args:
            app: the app that shows it.
            recording: the recording to play.
            name: the name of its file.
            size: the terminal's initial size, in cells.
            clock: returns a monotonic time in seconds.
            speed: seconds of the recording per second.
        """
        self.source = RecordingSource(recording, PlayHead(recording.duration, speed), clock)
        """The recording and its play head."""
        self._file = name
        self._update_pending = False
        super().__init__(self.source, size)
        self.commands = ReplayCommands(self.source, self)
        """The commands for the play head."""
        self.keyboard = keys.Keyboard(keys.REPLAY, keys.ReplayKeys(app, self, self.charts, self.commands))
        self.charts.selected_window = shortest_span(recording.duration)

    def status_bar(self) -> StatusBar:
        """Return the status bar."""
        recording = self.source.recording
        return ReplayBar(plain(self._file), recorded_on(recording.header), missing_parts(recording))

    def card(self, lane: int, name: str, name_width: int, maximum: int, color: str) -> LaneCard:
        """Return the card of a lane, which cannot be changed."""
        selected = lane == self.selected
        return RecordedCard(
            self.select_lane, self.commands.refuse, lane, name, name_width, maximum, color, selected
        )

    def settings(self) -> CommonPanel:
        """Return the panel of the common settings, which cannot be changed."""
        return CommonPanel(lambda _: self.commands.refuse())

    def footer(self) -> Iterable[Widget]:
        """Return the transport bar and the key bar."""
        return [
            Transport(self.source.recording.duration, self.commands),
            KeyBar(keys.bar(self.keyboard.rows)),
        ]

    def on_mount(self) -> None:
        """Start playing."""
        if is_exiting(self.app):
            return
        for chart in self.query(Chart):
            chart.hint = "nothing recorded up to this moment"
        self.set_interval(FRAME, self._play_on)
        self.source.head.play(self.source.clock())
        self._show_marks()
        self.call_after_refresh(self.run_worker, self._fold_ahead, name="fold")

    async def _fold_ahead(self) -> None:
        """Prepare the data of the charts in the background, so that the first jump over hours is fast."""
        for lane in self.source.recording.lanes:
            for metric in DRAWN:
                lane.series.precompute(metric)
                await asyncio.sleep(FOLD_INTERVAL)

    def show_snapshot(self, snapshot: Snapshot | None = None) -> None:
        """Show a snapshot, or the one at the play head."""
        self._update_pending = False
        super().show_snapshot(snapshot)
        self._update_transport()

    def _update_transport(self) -> None:
        head = self.source.head
        self.query_one(Transport).show(Playing(self.source.at, head.playing, head.speed))

    def _play_on(self) -> None:
        """Update the screen while the recording is playing."""
        if self.source.head.playing:
            self.show_if_visible(self.source.snapshot())

    def apply_theme(self) -> None:
        """Choose the colours again after the theme has changed."""
        super().apply_theme()
        self._show_marks()

    def _show_marks(self) -> None:
        colors = dict(zip((lane.name for lane in self.snapshot.lanes), self._colors, strict=True))
        duration = max(self.source.recording.duration, 1e-9)
        marks = self.source.all_marks
        strokes = [
            transport_line.TransportMark(
                mark.time / duration,
                "$accent" if mark.kind == NOTE else colors.get(mark.lane, "$foreground"),
                mark.kind == NOTE,
            )
            for mark in marks
        ]
        self.query_one(Transport).show_marks(strokes, [mark_text(mark) for mark in marks])

    def show_changes(self) -> None:
        """Update the screen once after all queued keys and mouse events."""
        if not self._update_pending:
            self._update_pending = True
            self.call_later(self._show_moved)

    def _show_moved(self) -> None:
        source = self.source
        if source.head.at(source.clock()) == source.at:  # dropped where it was held
            self.show_snapshot()
        else:
            self.charts.redraw()

    @on(Transport.Dragged)
    def _hold(self, event: Transport.Dragged) -> None:
        self.set_focus(None)  # so that the arrow keys move the play head again
        self.source.head.hold(event.moment, self.source.clock())
        self.show_changes()

    @on(Transport.Released)
    def _drop(self, event: Transport.Released) -> None:
        self.source.head.drop(event.moment, self.source.clock())
        self.show_changes()
