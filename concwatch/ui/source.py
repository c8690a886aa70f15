"""What a screen of lanes shows: live lanes, or lanes as they were recorded."""

import math
from collections.abc import Sequence
from typing import Protocol

from concwatch.charts.lines import Samples
from concwatch.lab.events import Event, Log
from concwatch.lab.lab import Lab
from concwatch.lab.marks import Mark
from concwatch.lab.series import Series
from concwatch.lab.settings import slider_end
from concwatch.lab.snapshot import Snapshot


class Source(Protocol):
    """Lanes at one moment, and what led there."""

    def snapshot(self) -> Snapshot:
        """Return the lanes as they are at this moment."""
        ...

    def series(self) -> Sequence[Samples]:
        """Return the series of each lane, in the order of the snapshot's."""
        ...

    @property
    def events(self) -> Log[Event]:
        """What has happened until this moment."""
        ...

    @property
    def marks(self) -> Log[Mark]:
        """What was asked for until this moment, and what a person noted."""
        ...

    @property
    def began(self) -> float:
        """The time of the first sample, on the snapshot's clock; infinite before it."""
        ...

    def largest_target(self, lane: int) -> int:
        """Return the tasks at the end of a lane's slider."""
        ...


class LabSource:
    """The live lanes of a lab, as a `Source`."""

    def __init__(self, lab: Lab) -> None:
        """Show ``lab``, which somebody else steps."""
        self._lab = lab
        self.events = lab.events
        self.marks = lab.marks

    def snapshot(self) -> Snapshot:
        """Return the lanes as they are now."""
        return self._lab.snapshot()

    def series(self) -> Sequence[Series]:
        """Return the series of each lane."""
        return [lane.series for lane in self._lab.lanes]

    @property
    def began(self) -> float:
        """When the first worker was looked at."""
        return min((lane.series.began for lane in self._lab.lanes), default=math.inf)

    def largest_target(self, lane: int) -> int:
        """Return a million, or what the limits on threads let this machine hold."""
        chosen = self._lab.lanes[lane]
        return slider_end(
            self._lab.host_of(chosen).capacity.fit(chosen).tasks if chosen.engine.threads else None
        )
