"""The lanes of a lab as the rows of a screen."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from concwatch.monitor.admission import Capacity
from concwatch.monitor.lab import Lab
from concwatch.monitor.lane import Lane
from concwatch.monitor.metrics import LaneSnapshot
from concwatch.monitor.snapshot import Snapshot
from concwatch.ui.lane_row import LaneRow


class LabSource:
    """Makes the snapshots of a screen from those of a lab: an engine's lanes on several hosts are one row."""

    def __init__(self, lab: Lab) -> None:
        """Create the source of ``lab``, which the caller runs."""
        self._lab = lab
        self.even = False
        """Whether targets are split evenly over hosts, instead of by what each can hold."""
        self.show_range = False
        """Whether the charts of a folded row show median and range of its lanes, instead of their sum."""
        self._folded: dict[str, LaneRow] = {}
        self._single: dict[Lane, LaneRow] = {}
        self._unfolded: set[str] = set()
        self._revision = -1
        self.rows: Sequence[LaneRow] = ()
        """The rows on screen, from the top."""
        self.update()

    def update(self) -> bool:
        """Update the rows after hosts have joined or left; return whether anything changed."""
        if self._revision == self._lab.fleet.revision:
            return False
        self._revision = self._lab.fleet.revision
        groups: dict[str, list[Lane]] = {}
        for lane in self._lab.lanes:
            groups.setdefault(lane.engine.own_name, []).append(lane)
        for name, lanes in groups.items():
            present = [lane for lane in lanes if self._lab.host_of(lane).present] or lanes
            row = self._folded.get(name)
            self._folded[name] = row.with_lanes(present) if row else LaneRow(present, lambda: self.even)
        lanes = [lane for row in self._folded.values() for lane in row.lanes]
        self._single = {lane: self._single.get(lane) or LaneRow([lane]) for lane in lanes}
        self._arrange()
        if self.folds and self._record not in self._lab.observers:
            self._lab.observers.append(self._record)
        return True

    def _arrange(self) -> None:
        rows: list[LaneRow] = []
        for row in self._folded.values():
            rows += [self._single[lane] for lane in row.lanes] if row.own_name in self._unfolded else [row]
        self.rows = rows

    @property
    def folds(self) -> bool:
        """Whether an engine runs on several hosts, so that there is something to fold."""
        return len(self._folded) < len(self._single)

    def toggle_fold(self, row: int) -> int:
        """Show the lanes of a row separately, or in one row again; return the row to select then."""
        name = self.rows[row].own_name
        self._unfolded ^= {name}
        self._arrange()
        return next(number for number, each in enumerate(self.rows) if each.own_name == name)

    def fits(self, lane: Lane) -> int | None:
        """Return how many tasks a lane can hold; None before its host has answered."""
        capacity = self._lab.host_of(lane).capacity
        return capacity.fit(lane).tasks if capacity.budget.known else None

    def snapshot(self) -> Snapshot:
        """Return the current state of the rows."""
        return self.by_row(self._lab.snapshot())

    def by_row(self, snapshot: Snapshot) -> Snapshot:
        """Return a snapshot of the lab that has one lane per row."""
        if not self.folds and len(self.rows) == len(snapshot.lanes):
            return snapshot
        if len(snapshot.lanes) < len(self._lab.lanes):  # outdated: lanes have been added since
            snapshot = self._lab.snapshot()
        by_lane = dict(zip(self._lab.lanes, snapshot.lanes, strict=True))
        return structs.replace(
            snapshot,
            lanes=tuple(
                row.snapshot(self._counted_once(row.lanes, by_lane), number)
                for number, row in enumerate(self.rows)
            ),
            series=tuple(row.spread if self.show_range else row.series for row in self.rows),
        )

    def _counted_once(
        self, lanes: Sequence[Lane], by_lane: Mapping[Lane, LaneSnapshot]
    ) -> list[LaneSnapshot]:
        """Return the lanes of a row, adapted where several are on one machine.

        Only the first there has tasks that fit, and the cores that one uses are not used by others.
        """
        machines: dict[Capacity, list[Lane]] = {}
        for lane in lanes:
            machines.setdefault(self._lab.host_of(lane).capacity, []).append(lane)
        parts = []
        for lane in lanes:
            part, host = by_lane[lane], self._lab.host_of(lane)
            first, *_ = together = machines[host.capacity]
            if lane is not first:
                part = structs.replace(part, status=structs.replace(part.status, fits=0))
            if len(together) > 1 and part.sample.others:
                used = sum(by_lane[each].sample.cpu or 0.0 for each in together if each is not lane)
                others = max(0.0, part.sample.others - used / host.meter.cores)
                part = structs.replace(part, sample=structs.replace(part.sample, others=others))
            parts.append(part)
        return parts

    def _record(self, snapshot: Snapshot) -> None:
        """Add a snapshot of the lab to the series of the folded rows."""
        by_lane = dict(zip(self._lab.lanes, snapshot.lanes, strict=True))
        for row in self._folded.values():
            row.update([by_lane[lane] for lane in row.lanes], snapshot.time)
