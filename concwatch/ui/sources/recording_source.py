"""A recording as the source of a screen: the lanes at the play head."""

from bisect import bisect_left, bisect_right

from msgspec import structs

from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.portable.worker.threads import default_threads
from concwatch.recordings.format import Header
from concwatch.recordings.recording import Recording
from concwatch.ui.sources.play_head import PlayHead

GRACE = 0.5
"""Seconds of real time after passing a mark in which "previous mark" skips that mark."""


def recorded_pool_threads(header: Header) -> int | None:
    """Return the default number of threads in a pool on the recorded machine; None if unknown."""
    cores = header.machine.get("cores")
    return default_threads(cores) if isinstance(cores, int) and cores > 0 else None


class RecordingSource:
    """Makes the snapshots of a screen from a recording, and moves its play head to what is recorded."""

    def __init__(self, recording: Recording, head: PlayHead) -> None:
        """Create the source of ``recording`` at ``head``."""
        self.recording = recording
        self.head = head
        self.at = 0.0
        """Position of the last snapshot in seconds."""
        self.all_marks = recording.marks(recording.duration).since(0)
        """The marks of the whole recording."""
        self._pool_threads = recorded_pool_threads(recording.header)

    def snapshot(self) -> Snapshot:
        """Return the lanes at the play head."""
        self.at = self.head.at()
        view = self.recording.snapshot(self.at)
        if view.settings.threads is None and self._pool_threads:
            # Else the panel would show the default of this machine.
            view = structs.replace(view, settings=structs.replace(view.settings, threads=self._pool_threads))
        return view

    def step(self, direction: int) -> None:
        """Pause and move to the next (1) or previous (-1) sample of any lane."""
        self.head.pause()
        at, times = self.head.at(), [lane.times for lane in self.recording.lanes]
        if direction > 0:
            later = [(each, bisect_right(each, at)) for each in times]
            self.head.jump(min((each[i] for each, i in later if i < len(each)), default=self.head.duration))
        else:
            earlier = [(each, bisect_left(each, at) - 1) for each in times]
            self.head.jump(max((each[i] for each, i in earlier if i >= 0), default=0.0))

    def next_mark(self, direction: int) -> None:
        """Move to the next (1) or previous (-1) mark."""
        at = self.head.at()
        if direction > 0:
            times = [mark.time for mark in self.all_marks if mark.time > at]
        else:
            # While playing, skip the mark that the play head has just passed.
            least = GRACE * self.head.speed if self.head.playing else 0.0
            times = [mark.time for mark in reversed(self.all_marks) if mark.time < at - least]
        if times:
            self.head.jump(times[0])
