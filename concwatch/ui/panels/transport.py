"""The transport bar of a recording, and the commands for its play head."""

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from datetime import datetime

from textual.widget import Widget

from concwatch.charts.table import DRAWN
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.verdicts.events import NOTE, mark_text
from concwatch.portable.protocol.text import plain
from concwatch.portable.protocol.units import counted, format_bytes
from concwatch.recordings.format import Header
from concwatch.recordings.recording import Recording
from concwatch.ui.panels.panel import Feed
from concwatch.ui.sources.play_head import format_moment, parse_moment
from concwatch.ui.sources.recording_source import RecordingSource
from concwatch.ui.widgets.bars import transport_line
from concwatch.ui.widgets.bars.transport import Playing, Transport

FRAME = 0.1
"""Seconds between two updates of a replay."""

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


class TransportPanel(Feed):
    """Shows the play head of a recording, and moves it."""

    rows = 1

    def __init__(self, source: RecordingSource) -> None:
        """Create the panel of ``source``."""
        self.source = source
        """The recording and its play head."""
        self._head = source.head
        self._bar = Transport(source.recording.duration, self)
        self._refused = False
        self._update_pending = False

    def widgets(self) -> Iterable[Widget]:
        """Return the transport bar."""
        return [self._bar]

    def start(self) -> None:
        """Start playing."""
        self.screen.set_interval(FRAME, self._play_on)
        self._head.play(self.source.clock())
        self.recolor()
        self.screen.call_after_refresh(self.screen.run_worker, self._fold_ahead, name="fold")

    async def _fold_ahead(self) -> None:
        """Prepare the data of the charts in the background, so that the first jump over hours is fast."""
        for lane in self.source.recording.lanes:
            for metric in DRAWN:
                lane.series.precompute(metric)
                await asyncio.sleep(FOLD_INTERVAL)

    def show(self, snapshot: Snapshot) -> None:
        """Show the state of the play head."""
        self._update_pending = False
        self._bar.show(Playing(self.source.at, self._head.playing, self._head.speed))

    def _play_on(self) -> None:
        """Update the screen while the recording is playing."""
        if self._head.playing and self.screen.in_view:
            self.screen.show_snapshot(self.source.snapshot())

    def recolor(self) -> None:
        """Show the marks of the whole recording in the colors of their lanes."""
        colors = self.screen.colors_of(self.screen.snapshot)
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
        self._bar.show_marks(strokes, [mark_text(mark) for mark in marks])

    def show_changes(self) -> None:
        """Update the screen once after all queued keys and mouse events."""
        if not self._update_pending:
            self._update_pending = True
            self.screen.call_later(self._show_moved)

    def _show_moved(self) -> None:
        if self._head.at(self.source.clock()) == self.source.at:  # dropped where it was held
            self.screen.show_snapshot()
        else:
            self.screen.update_now()

    def hold(self, moment: float) -> None:
        """Move the play head to a moment while it is dragged."""
        self.screen.set_focus(None)  # so that the arrow keys move the play head again
        self._head.hold(moment, self.source.clock())

    def drop(self, moment: float) -> None:
        """Move the play head to the moment where it is dropped."""
        self._head.drop(moment, self.source.clock())

    def _jump(self, moment: float) -> None:
        self._head.jump(moment, self.source.clock())

    def toggle_play(self) -> None:
        """Play or pause."""
        now = self.source.clock()
        if self._head.playing:
            self._head.pause(now)
        else:
            self._head.play(now)

    def skip(self, seconds: float) -> None:
        """Move by a number of seconds; back if negative."""
        self._jump(self._head.at(self.source.clock()) + seconds)

    def step(self, direction: int) -> None:
        """Pause and move to the next (1) or previous (-1) sample of any lane."""
        now = self.source.clock()
        self._head.pause(now)
        at = self._head.at(now)
        times = [lane.times for lane in self.source.recording.lanes]
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
        at = self._head.at(self.source.clock())
        marks = self.source.all_marks
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
        self._head.change_speed(step, self.source.clock())

    def ask_moment(self) -> None:
        """Ask for a moment and move there."""
        duration = self._head.duration

        self.screen.ask(
            self._jump,
            "jump to a time",
            format_moment(self.source.at, duration).strip(),
            lambda text: parse_moment(text, duration),
            lambda moment: f"{format_moment(moment, duration)} of {format_moment(duration, duration)}",
        )

    def refuse(self) -> None:
        """Notify the user that a recording cannot be changed."""
        if not self._refused:
            self._refused = True
            self.screen.notify(REFUSAL, timeout=REFUSAL_SECONDS)
            self.screen.set_timer(REFUSAL_SECONDS, self._forget_refusal)

    def _forget_refusal(self) -> None:
        self._refused = False
