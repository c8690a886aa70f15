"""A recording as the source of a screen: the lanes at the play head."""

from collections.abc import Callable, Sequence

from msgspec import structs

from concwatch.monitor.events import Event, Log, Mark
from concwatch.monitor.metrics import LaneSnapshot
from concwatch.monitor.snapshot import Snapshot
from concwatch.recordings.format import Header
from concwatch.recordings.history import RecordedSeries
from concwatch.recordings.recording import Recording
from concwatch.ui.play_head import PlayHead
from concwatch.worker.threads import default_threads


def recorded_pool_threads(header: Header) -> int | None:
    """Return the default number of threads in a pool on the recorded machine; None if unknown."""
    cores = header.machine.get("cores")
    return default_threads(cores) if isinstance(cores, int) and cores > 0 else None


class RecordingSource:
    """The lanes of a recording, as a `concwatch.ui.source.LaneSource`."""

    def __init__(self, recording: Recording, head: PlayHead, clock: Callable[[], float]) -> None:
        """Create the source of ``recording`` at ``head``; ``clock`` returns a monotonic time in seconds."""
        self.began = 0.0
        """Times are in seconds since the beginning of the recording."""
        self.recording = recording
        self.head = head
        self.clock = clock
        self.at = 0.0
        """Position of the last snapshot in seconds."""
        self.all_marks = recording.marks(recording.duration).since(0)
        """The marks of the whole recording."""
        self._pool_threads = recorded_pool_threads(recording.header)

    def snapshot(self) -> Snapshot:
        """Return the lanes at the play head."""
        self.at = self.head.at(self.clock())
        view = self.recording.snapshot(self.at)
        if view.settings.threads is None and self._pool_threads:
            # Else the panel would show the default of this machine.
            view = structs.replace(view, settings=structs.replace(view.settings, threads=self._pool_threads))
        return view

    def series(self) -> Sequence[RecordedSeries]:
        """Return the series of each lane up to the play head."""
        return self.recording.series_until(self.at)

    @property
    def events(self) -> Log[Event]:
        """The events up to the play head."""
        return self.recording.events(self.at)

    @property
    def marks(self) -> Log[Mark]:
        """The commands and notes up to the play head."""
        return self.recording.marks(self.at)

    def names(self, snapshot: Snapshot) -> Sequence[Sequence[str]]:
        """Return the name of each lane."""
        return [(lane.name,) for lane in snapshot.lanes]

    def largest_target(self, lane: int, view: LaneSnapshot) -> int:
        """Return the largest target on a lane's slider during the whole recording."""
        return self.recording.largest_target(lane)
