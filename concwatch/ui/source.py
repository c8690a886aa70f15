"""What a screen of lanes shows: live lanes, or lanes as they were recorded."""

import math
from collections.abc import Sequence
from typing import Protocol

from msgspec import structs

from concwatch.charts.plot import Samples
from concwatch.lab.events import Event, Log, Mark
from concwatch.lab.lab import Lab
from concwatch.lab.lane import Lane
from concwatch.lab.lane_row import LaneRow
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
    """The live lanes of a lab, as a `Source`: those of one engine on several hosts folded into a row each."""

    def __init__(self, lab: Lab) -> None:
        """Show ``lab``, which somebody else steps."""
        self._lab = lab
        self.events = lab.events
        self.marks = lab.marks
        self.even = False
        """Whether a target for several hosts is split evenly, else by what each can hold."""
        self.spread = False
        """Whether charts show of a folded row the median of its lanes and between which values they lie."""
        self._folded: dict[str, LaneRow] = {}
        self._single: dict[Lane, LaneRow] = {}
        self._open: set[str] = set()
        self._arrangement = -1
        self.rows: Sequence[LaneRow] = ()
        """What is shown, from above."""
        self.update()

    def update(self) -> bool:
        """Take up the lanes of hosts that have joined, and drop those of hosts that have left.

        Returns:
            Whether there are other rows than before.
        """
        if self._arrangement == self._lab.fleet.arrangement:
            return False
        self._arrangement = self._lab.fleet.arrangement
        groups: dict[str, list[Lane]] = {}
        for lane in self._lab.lanes:
            groups.setdefault(lane.engine.own_name, []).append(lane)
        for name, lanes in groups.items():
            present = [lane for lane in lanes if self._lab.host_of(lane).present] or lanes
            row = self._folded.get(name)
            self._folded[name] = row.of(present) if row else LaneRow(present, lambda: self.even)
        lanes = [lane for row in self._folded.values() for lane in row.lanes]
        self._single = {lane: self._single.get(lane) or LaneRow([lane]) for lane in lanes}
        self._arrange()
        return True

    def _arrange(self) -> None:
        rows: list[LaneRow] = []
        for row in self._folded.values():
            rows += [self._single[lane] for lane in row.lanes] if row.own_name in self._open else [row]
        self.rows = rows

    @property
    def folds(self) -> bool:
        """Whether there is anything to fold."""
        return len(self._folded) < len(self._single)

    def fold(self, row: int) -> int:
        """Show the lanes of a row by themselves, or in one row again; return the row that is chosen then."""
        name = self.rows[row].own_name
        self._open ^= {name}
        self._arrange()
        return next(number for number, found in enumerate(self.rows) if found.own_name == name)

    def fits(self, lane: Lane) -> int:
        """Return how many tasks a lane can hold."""
        return self._lab.host_of(lane).capacity.fit(lane).tasks

    def snapshot(self) -> Snapshot:
        """Return the rows as they are now."""
        return self.shown(self._lab.snapshot())

    def shown(self, snapshot: Snapshot) -> Snapshot:
        """Return a snapshot of the lab with a lane a row."""
        if not self.folds and len(self.rows) == len(snapshot.lanes):
            return snapshot
        if len(snapshot.lanes) < len(self._lab.lanes):  # of a moment ago: others have come since
            snapshot = self._lab.snapshot()
        by_lane = dict(zip(self._lab.lanes, snapshot.lanes, strict=True))
        return structs.replace(
            snapshot,
            lanes=tuple(
                row.picture([by_lane[lane] for lane in row.lanes], number)
                for number, row in enumerate(self.rows)
            ),
        )

    def follow(self, snapshot: Snapshot) -> None:
        """Keep what folded rows show over time; once a step of the lab."""
        by_lane = dict(zip(self._lab.lanes, snapshot.lanes, strict=True))
        for row in self._folded.values():
            row.follow([by_lane[lane] for lane in row.lanes], snapshot.time)

    def series(self) -> Sequence[Series]:
        """Return the series of each row."""
        return [row.spread if self.spread else row.series for row in self.rows]

    @property
    def began(self) -> float:
        """When the first worker was looked at."""
        return min((lane.series.began for lane in self._lab.lanes), default=math.inf)

    def largest_target(self, lane: int) -> int:
        """Return a million, or what the limits on threads let the hosts of a row hold."""
        row = self.rows[lane]
        return slider_end(sum(map(self.fits, row.lanes)) if row.facts.threads else None)
