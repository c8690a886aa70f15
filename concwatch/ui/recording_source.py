"""A recording as what a screen of lanes shows: lanes as they were at the play head."""

from collections.abc import Callable, Sequence

from msgspec import structs

from concwatch.lab.events import Event, Log, Mark
from concwatch.lab.snapshot import Snapshot
from concwatch.recordings.format import Header
from concwatch.recordings.history import RecordedSeries
from concwatch.recordings.recording import Recording
from concwatch.ui.play_head import PlayHead
from concwatch.worker.engines import default_threads


def own_threads(header: Header) -> int | None:
    """Return how many threads a pool had by itself where a recording was taken; None if that is not known."""
    cores = header.machine.get("cores")
    return default_threads(cores) if isinstance(cores, int) and cores > 0 else None


class RecordingSource:
    """The lanes of a recording, as a `concwatch.ui.source.Source`."""

    def __init__(self, recording: Recording, head: PlayHead, clock: Callable[[], float]) -> None:
        """Show ``recording`` at its play head ``head``, which goes by ``clock`` (seconds)."""
        self.began = 0.0
        """Times are seconds since the recording's beginning."""
        self.recording = recording
        self.head = head
        self.clock = clock
        self.at = 0.0
        """The moment of the last snapshot, in seconds since the recording's beginning."""
        self.all_marks = recording.marks(recording.duration).since(0)
        """The marks of the whole recording."""
        self._pool = own_threads(recording.header)

    def snapshot(self) -> Snapshot:
        """Return the lanes as they were at the play head."""
        self.at = self.head.at(self.clock())
        view = self.recording.snapshot(self.at)
        if view.settings.threads is None and self._pool:
            # Else the panel would tell how many a pool has here.
            view = structs.replace(view, settings=structs.replace(view.settings, threads=self._pool))
        return view

    def series(self) -> Sequence[RecordedSeries]:
        """Return the series of each lane, until the play head."""
        return self.recording.series_until(self.at)

    @property
    def events(self) -> Log[Event]:
        """What had happened."""
        return self.recording.events(self.at)

    @property
    def marks(self) -> Log[Mark]:
        """What had been asked for, and noted."""
        return self.recording.marks(self.at)

    def largest_target(self, lane: int) -> int:
        """Return where the slider of a lane ended."""
        return self.recording.largest_target(lane)
