"""A watched program as the source of a screen: its processes."""

from collections.abc import Sequence

from concwatch.monitor.series import Series
from concwatch.monitor.snapshot import Snapshot
from concwatch.monitor.watching import Watching


class WatchSource:
    """The processes of a watched program, as a `concwatch.ui.source.Source`."""

    def __init__(self, watching: Watching) -> None:
        """Create the source of ``watching``, which the caller steps."""
        self._watching = watching
        self.events = watching.events
        self.marks = watching.marks

    def snapshot(self) -> Snapshot:
        """Return the current state of the processes."""
        return self._watching.snapshot()

    def series(self) -> Sequence[Series]:
        """Return the series of each process."""
        return [lane.series for lane in self._watching.lanes]

    @property
    def began(self) -> float:
        """Time of the first sample of any process; infinity before there is one."""
        return min((lane.series.began for lane in self._watching.lanes), default=float("inf"))

    def names(self, snapshot: Snapshot) -> Sequence[Sequence[str]]:
        """Return the name of each process."""
        return [(lane.name,) for lane in snapshot.lanes]
