"""A recording read from a file: snapshots, series, events and marks at any moment."""

import math
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import starmap
from typing import TypeVar

import msgspec
from msgspec.structs import astuple, replace

from concwatch.monitor.metrics.group_status import GroupStatus
from concwatch.monitor.metrics.metrics import EngineFacts, LaneSnapshot, LaneStatus, Sample, blank_sample
from concwatch.monitor.metrics.series import BACKFILLED
from concwatch.monitor.metrics.settings import slider_end
from concwatch.monitor.metrics.snapshot import Snapshot, with_cheapest
from concwatch.monitor.verdicts.blocks import BlockedPlace
from concwatch.monitor.verdicts.events import BLOCK, Event, Log, Mark
from concwatch.portable.protocol.text import flat, plain
from concwatch.recordings.format import (
    BlocksLine,
    EndLine,
    EventLine,
    GroupsLine,
    Header,
    LabLine,
    LaneLine,
    Line,
    MarkLine,
    OwnLine,
    SettingsLine,
)
from concwatch.recordings.history import HistoryLog, L, RecordedSeries, Timeline

NO_LAB = LabLine(0.0, 10.0, 0, ())
NO_MACHINE = OwnLine(time=0.0)
NO_SETTINGS = SettingsLine(time=0.0)
"""The values before the first line of a type, which every recording has unless it was damaged."""

_sample = msgspec.json.Decoder(Sample)


class RecordedLane:
    """The samples and states of one lane. Times are in seconds since the recording began."""

    def __init__(
        self,
        engine: EngineFacts,
        times: "array[float]",
        metrics: "Mapping[str, array[float]]",
        lines: Sequence[bytes],
        changes: Iterable[LaneLine],
    ) -> None:
        """Store the ascending times, metrics (or NaN) and undecoded lines of the samples."""
        self.name = flat(plain(engine.name))
        self.engine = replace(engine, name=self.name)
        self.times = times
        """The time of each sample."""
        self.series = RecordedSeries(times, metrics)
        """All samples, for charts."""
        self.changes = Timeline(changes)
        """The changes of its state."""
        self._lines = lines

    def __len__(self) -> int:
        return len(self.times)

    def state(self, at: float) -> LaneStatus:
        """Return the status at ``at``."""
        found = self.changes.at(at)
        if found is not None or not self.changes.entries:
            return found or LaneStatus()
        # Before its lab begins, the forecast of the first status holds.
        first = self.changes.entries[0]
        known = ("bytes_per_task", "fits", "fits_limit", "fits_forecast", "most_held", "missing")
        return LaneStatus(**{name: getattr(first, name) for name in known})

    @cached_property
    def slider_end(self) -> int:
        """The right end of its slider, which includes every recorded target."""
        changes = [self.state(0.0), *self.changes.entries]
        fits = max(change.fits for change in changes) if self.engine.threads else None
        return max(*(change.target for change in changes), slider_end(fits))

    def sample(self, at: float) -> Sample | None:
        """Return the newest sample at ``at`` of the worker that ran then, or None."""
        index = bisect_right(self.times, at) - 1
        if index < 0 or self.times[index] <= self.state(at).born:
            return None
        return self._sample(index, self._lines[index])

    def _sample(self, index: int, line: bytes) -> Sample:
        """Decode sample ``index``, adding the rates that a later tick reported."""
        sample = _sample.decode(line)
        unknown = (metric for metric in BACKFILLED if getattr(sample, metric) is None)
        rates = {metric: self.series.value(metric, index) for metric in unknown}
        known = {metric: value for metric, value in rates.items() if math.isfinite(value)}
        return replace(sample, **known) if known else sample

    def samples(self) -> Iterable[Sample]:
        """Return all samples, oldest first."""
        return starmap(self._sample, enumerate(self._lines))


Of = TypeVar("Of", GroupsLine, BlocksLine)


def _by_lane(lines: Iterable[Of]) -> dict[int, Timeline[Of]]:
    """Return the lines of each lane."""
    found: defaultdict[int, list[Of]] = defaultdict(list)
    for line in lines:
        found[line.lane].append(line)
    return {lane: Timeline(own) for lane, own in found.items()}


class Recording:
    """The content of a file. Times are in seconds since the recording began."""

    def __init__(
        self, header: Header, lanes: Sequence[RecordedLane], lines: Sequence[Line], damaged: int
    ) -> None:
        self.header = header
        self.lanes = tuple(lanes)
        self.cut = ""
        """Where the recording breaks off, or how it is damaged, in words; empty if it is complete."""
        self.damaged = damaged
        """Number of lines that could not be read."""

        def of(kind: type[L]) -> Timeline[L]:
            return Timeline(line for line in lines if isinstance(line, kind))

        self.end = next(iter(of(EndLine).entries), None)
        """The last line, or None if the recording was not stopped properly."""
        self._labs, self._settings, self._own = of(LabLine), of(SettingsLine), of(OwnLine)
        self._events, marks = of(EventLine), of(MarkLine).entries
        self._marks = Timeline(line for line in marks if line.kind != BLOCK)
        self._blocks = Timeline(line for line in marks if line.kind == BLOCK)
        self._all_events = [Event(n, *astuple(line)) for n, line in enumerate(self._events.entries, 1)]
        self._all_marks = [Mark(n, *astuple(line)) for n, line in enumerate(self._marks.entries, 1)]
        self._all_blocks = [Mark(n, *astuple(line)) for n, line in enumerate(self._blocks.entries, 1)]
        self._groups = _by_lane(of(GroupsLine).entries)
        self._blocked = _by_lane(of(BlocksLine).entries)
        last = (line.time for line in lines)
        self.duration = max([0.0, *last, *(lane.times[-1] for lane in lanes if len(lane))])
        """Seconds from the beginning to the last line."""

    @property
    def samples(self) -> int:
        """Number of samples of all lanes."""
        return sum(map(len, self.lanes))

    def snapshot(self, at: float) -> Snapshot:
        """Return the snapshot at ``at``; takes some tens of microseconds."""
        lab = self._labs.at(at) or NO_LAB
        none = blank_sample(0, -math.inf)
        lanes = [
            LaneSnapshot(
                lane.engine,
                lane.state(at),
                lane.sample(at) or none,
                groups=self.groups(number, at),
                blocks=self.blocked(number, at),
                recorded_end=lane.slider_end,
            )
            for number, lane in enumerate(self.lanes)
        ]
        return Snapshot(
            time=at,
            elapsed=at,
            hz=lab.rate,
            budget=lab.budget,
            lanes=with_cheapest(lanes),
            settings=self._settings.at(at) or NO_SETTINGS,
            machine=self._own.at(at) or NO_MACHINE,
            series=tuple(lane.series.until(at) for lane in self.lanes),
            events=self.events(at),
            marks=self.marks(at),
            blocks=HistoryLog(self._all_blocks, self._blocks.count(at)),
        )

    @property
    def watched(self) -> bool:
        """Whether it is a recording of a watched program."""
        return bool(self._groups)

    def groups(self, lane: int, at: float) -> tuple[GroupStatus, ...]:
        """Return the groups of a lane at ``at``."""
        found = self._groups[lane].at(at) if lane in self._groups else None
        return found.groups if found else ()

    def blocked(self, lane: int, at: float) -> tuple[BlockedPlace, ...]:
        """Return what had blocked the loops of a lane at ``at``."""
        found = self._blocked[lane].at(at) if lane in self._blocked else None
        return found.blocks if found else ()

    def events(self, at: float) -> Log[Event]:
        """Return the event log at ``at``; numbers count from the beginning of the recording."""
        return HistoryLog(self._all_events, self._events.count(at))

    def marks(self, at: float) -> Log[Mark]:
        """Return the marks up to ``at``, in the order of their times."""
        return HistoryLog(self._all_marks, self._marks.count(at))
