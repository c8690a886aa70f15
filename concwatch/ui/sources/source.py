"""The lanes of a lab as the rows of a screen."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.lanes.lane import Lane
from concwatch.monitor.metrics.metrics import LaneSnapshot
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.ui.sources.lane_row import LaneRow


class LabSource:
    """Makes the snapshots of a screen from those of a lab: an engine's lanes on several hosts are one row."""

    def __init__(self, lab: Lab) -> None:
        """Create the source of ``lab``, which the caller runs."""
        self._lab = lab
        self.even = False
        """Whether targets are divided evenly among hosts, instead of by what each can hold."""
        self.show_range = False
        """Whether the charts of a folded row show median and range of its lanes, instead of their sum."""
        self._folded: dict[str, LaneRow] = {}
        self._single: dict[int, LaneRow] = {}
        self._unfolded: set[str] = set()
        self._present: Sequence[bool] = ()
        self.rows: Sequence[LaneRow] = ()
        """The rows on screen, from the top."""
        self.update()

    def update(self) -> bool:
        """Update the rows after hosts have joined or left; return whether anything changed."""
        lanes = self._lab.snapshot().lanes
        before, self._present = self._present, [lane.present for lane in lanes]
        if before == self._present:
            return False
        groups: dict[str, list[int]] = {}
        for number, lane in enumerate(lanes):
            groups.setdefault(lane.own_name, []).append(number)
        single = {}
        for name, numbers in groups.items():
            present = [number for number in numbers if lanes[number].present] or numbers
            row, parts = self._folded.get(name), (present, lanes[present[0]].engine)
            self._folded[name] = row.with_lanes(*parts) if row else LaneRow(*parts)
            for number in present:
                single[number] = self._single.get(number) or LaneRow([number], lanes[number].engine)
        self._single = single
        self._arrange()
        if self.folds and self._record not in self._lab.observers:
            self._lab.observers.append(self._record)
        return True

    def _arrange(self) -> None:
        rows: list[LaneRow] = []
        for row in self._folded.values():
            rows += [self._single[lane] for lane in row.numbers] if row.own_name in self._unfolded else [row]
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

    def snapshot(self) -> Snapshot:
        """Return the current state of the rows."""
        return self.by_row(self._lab.snapshot())

    def by_row(self, snapshot: Snapshot) -> Snapshot:
        """Return a snapshot of the lab that has one lane per row."""
        if not self.folds and len(self.rows) == len(snapshot.lanes):
            return snapshot
        return structs.replace(
            snapshot,
            lanes=tuple(
                row.snapshot(self._counted_once(row.numbers, snapshot.lanes), number)
                for number, row in enumerate(self.rows)
            ),
            series=tuple(row.series(snapshot, self.show_range) for row in self.rows),
        )

    def _counted_once(self, numbers: Sequence[int], lanes: Sequence[LaneSnapshot]) -> list[LaneSnapshot]:
        """Return the lanes of a row, adapted where several are on one machine.

        Only the first there has tasks that fit, and the cores that one uses are not used by others.
        """
        machines: dict[str, list[int]] = {}
        for number in numbers:
            machines.setdefault(lanes[number].machine_name, []).append(number)
        parts = []
        for number in numbers:
            part = lanes[number]
            first, *_ = together = machines[part.machine_name]
            if number != first:
                part = structs.replace(part, status=structs.replace(part.status, fits=0))
            if len(together) > 1 and part.sample.others:
                used = sum(lanes[each].sample.cpu or 0.0 for each in together if each != number)
                others = max(0.0, part.sample.others - used / part.machine_cores)
                part = structs.replace(part, sample=structs.replace(part.sample, others=others))
            parts.append(part)
        return parts

    def _record(self, snapshot: Snapshot) -> None:
        """Add a snapshot of the lab to the series of the folded rows."""
        for row in self._folded.values():
            row.update([snapshot.lanes[number] for number in row.numbers], snapshot.time)

    def lanes(self, row: int) -> Mapping[Lane, LaneSnapshot]:
        """Return the lanes of a row, as the lab takes them in commands, with their current snapshots."""
        now = self._lab.snapshot().lanes
        return {self._lab.lanes[number]: now[number] for number in self.rows[row].numbers}
