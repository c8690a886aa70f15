"""A recording as the source of a screen: the lanes at the play head."""

from collections.abc import Callable

from msgspec import structs

from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.portable.worker.threads import default_threads
from concwatch.recordings.format import Header
from concwatch.recordings.recording import Recording
from concwatch.ui.sources.play_head import PlayHead


def recorded_pool_threads(header: Header) -> int | None:
    """Return the default number of threads in a pool on the recorded machine; None if unknown."""
    cores = header.machine.get("cores")
    return default_threads(cores) if isinstance(cores, int) and cores > 0 else None


class RecordingSource:
    """Makes the snapshots of a screen from a recording."""

    def __init__(self, recording: Recording, head: PlayHead, clock: Callable[[], float]) -> None:
        """Create the source of ``recording`` at ``head``; ``clock`` returns a monotonic time in seconds."""
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
