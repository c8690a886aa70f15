"""The transport bar of a recording, which shows its play head."""

import asyncio
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
from concwatch.ui.widgets.bars.transport import Transport

FRAME = 0.1
"""Seconds between two updates of a replay."""

REFUSAL = "this is a recording: lanes and settings cannot be changed"
REFUSAL_SECONDS = 5.0
"""How long the notification is shown; it is not repeated meanwhile."""

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
    """Shows the play head of a recording, and the recording as it goes on."""

    rows = 1

    def __init__(self, source: RecordingSource) -> None:
        """Create the panel of ``source``."""
        self._source = source
        self._head = source.head
        self._bar = Transport(source.head)
        self._refused = False
        self._update_pending = False

    def widgets(self) -> Iterable[Widget]:
        """Return the transport bar."""
        return [self._bar]

    def start(self) -> None:
        """Start playing."""
        self.screen.set_interval(FRAME, self._play_on)
        self._head.play()
        self.recolor()
        self.screen.call_after_refresh(self.screen.run_worker, self._fold_ahead, name="fold")

    async def _fold_ahead(self) -> None:
        """Prepare the data of the charts in the background, so that the first jump over hours is fast."""
        for lane in self._source.recording.lanes:
            for metric in DRAWN:
                lane.series.precompute(metric)
                await asyncio.sleep(FOLD_INTERVAL)

    def show(self, snapshot: Snapshot) -> None:
        """Show the state of the play head."""
        self._update_pending = False
        self._bar.show(self._source.at)

    def _play_on(self) -> None:
        """Update the screen while the recording is playing."""
        if self._head.playing and self.in_view:
            self.screen.show_snapshot(self._source.snapshot())

    def recolor(self) -> None:
        """Show the marks of the whole recording in the colors of their lanes."""
        colors = self.screen.colors_of(self.screen.snapshot)
        duration = max(self._head.duration, 1e-9)
        marks = self._source.all_marks
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
        if self._head.at() == self._source.at:  # dropped where it was held
            self.screen.show_snapshot()
        else:
            self.screen.update_now()

    def ask_moment(self) -> None:
        """Ask for a moment and move there."""
        duration = self._head.duration

        self.screen.ask(
            self._head.jump,
            "jump to a time",
            format_moment(self._source.at, duration).strip(),
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
