"""A recording that has been read: what the screen knew at any of its moments."""

from collections.abc import Sequence

from msgspec.structs import astuple

from concwatch.lab.events import Event, Log
from concwatch.lab.marks import Mark
from concwatch.lab.settings import slider_end
from concwatch.lab.snapshot import Snapshot, with_cheapest
from concwatch.recordings.format import (
    EndLine,
    EventLine,
    GroupsLine,
    Header,
    LabLine,
    Line,
    MarkLine,
    OwnLine,
    SettingsLine,
)
from concwatch.recordings.history import HistoryLog, RecordedSeries, Timeline
from concwatch.recordings.lane import RecordedLane
from concwatch.watch.group import GroupStatus

NO_LAB = LabLine(0.0, 10.0, 0, ())
NO_MACHINE = OwnLine(time=0.0)
NO_SETTINGS = SettingsLine(time=0.0)
"""What holds before the first line of a type: only where that line was damaged."""


class Recording:
    """What one file holds: every moment is looked up, none is run again.

    Times are in seconds since its beginning.
    """

    def __init__(
        self,
        header: Header,
        lanes: Sequence[RecordedLane],
        lines: Sequence[Line],
        damaged: int,
    ) -> None:
        """Keep what was read; ``lines`` are those that are neither samples nor of one lane alone."""
        self.header = header
        self.lanes = tuple(lanes)
        self.cut = ""
        """Where it breaks off, or that it is damaged, in words; an empty string where all is in order."""
        self.damaged = damaged
        """How many lines could not be read."""
        self.end = next((line for line in lines if isinstance(line, EndLine)), None)
        """The last line, where it ended in order."""
        self._labs = Timeline(line for line in lines if isinstance(line, LabLine))
        self._settings = Timeline(line for line in lines if isinstance(line, SettingsLine))
        self._own = Timeline(line for line in lines if isinstance(line, OwnLine))
        self._events = Timeline(line for line in lines if isinstance(line, EventLine))
        self._marks = Timeline(line for line in lines if isinstance(line, MarkLine))
        self._all_events = [Event(n, *astuple(line)) for n, line in enumerate(self._events.entries, 1)]
        self._all_marks = [Mark(n, *astuple(line)) for n, line in enumerate(self._marks.entries, 1)]
        by_lane: dict[int, list[GroupsLine]] = {}
        for line in lines:
            if isinstance(line, GroupsLine):
                by_lane.setdefault(line.lane, []).append(line)
        self._groups = {lane: Timeline(found) for lane, found in by_lane.items()}
        last = (line.time for line in lines)
        self.duration = max([0.0, *last, *(lane.times[-1] for lane in lanes if len(lane))])
        """Seconds from its beginning to the last that it knows."""

    @property
    def samples(self) -> int:
        """How many samples it has, of all lanes."""
        return sum(map(len, self.lanes))

    # What there was to see.

    def snapshot(self, at: float) -> Snapshot:
        """Return what was so at ``at``; takes some tens of microseconds."""
        lab = self._labs.at(at) or NO_LAB
        return Snapshot(
            time=at,
            elapsed=at,
            hz=lab.rate,
            budget=lab.budget,
            lanes=with_cheapest([lane.parts(at) for lane in self.lanes]),
            settings=self._settings.at(at) or NO_SETTINGS,
            machine=self._own.at(at) or NO_MACHINE,
        )

    @property
    def watched(self) -> bool:
        """Whether it is of a watched program, whose tasks are known by coroutine function."""
        return bool(self._groups)

    def groups(self, lane: int, at: float) -> Sequence[GroupStatus]:
        """Return the groups of a lane's tasks as they were at ``at``."""
        found = self._groups[lane].at(at) if lane in self._groups else None
        return found.groups if found else ()

    def series_until(self, at: float) -> list[RecordedSeries]:
        """Return the series of each lane, without what comes after ``at``."""
        return [lane.series.until(at) for lane in self.lanes]

    def events(self, at: float) -> Log[Event]:
        """Return the event log as it was at ``at``; numbers count from the recording's beginning."""
        return HistoryLog(self._all_events, self._events.count(at))

    def marks(self, at: float) -> Log[Mark]:
        """Return what had been asked for or noted until ``at``, in the order of the moments."""
        return HistoryLog(self._all_marks, self._marks.count(at))

    def largest_target(self, lane: int) -> int:
        """Return where the slider of lane number ``lane`` ends: what was ever asked for fits on it."""
        recorded = self.lanes[lane]
        asked = max((change.target for change in recorded.changes.entries), default=0)
        return max(asked, slider_end(recorded.state(0.0).fits if recorded.engine.threads else None))
