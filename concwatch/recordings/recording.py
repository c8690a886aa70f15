"""A recording that has been read: what the screen knew at any of its moments."""

import math
from collections.abc import Sequence

from concwatch.lab.cost import Cost
from concwatch.lab.events import Event, Log, plain
from concwatch.lab.lane import State
from concwatch.lab.limits import fits
from concwatch.lab.marks import Mark
from concwatch.lab.sampler import Reading
from concwatch.lab.settings import Settings
from concwatch.lab.view import LabView, LaneView
from concwatch.recordings.format import (
    EndLine,
    EventLine,
    Header,
    LabLine,
    LaneLine,
    Line,
    MarkLine,
    OwnLine,
    Sample,
    SettingsLine,
)
from concwatch.recordings.lane import RecordedLane
from concwatch.recordings.past import PastLog, RecordedSeries
from concwatch.recordings.timeline import Timeline
from concwatch.worker.walls import Wall

LARGEST_TARGET = 1_000_000
"""Tasks at the end of a slider, whatever the machine holds."""

NO_LAB = LabLine(0.0, 10.0, 0, ())
NO_MACHINE = OwnLine(0.0, None, None, None, None, 0, 0, "memory")
NO_SETTINGS = SettingsLine(0.0)
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
        *,
        cut: str = "",
        damaged: int = 0,
    ) -> None:
        """Keep what was read.

        Args:
            header: the first line.
            lanes: one for each of the header's.
            lines: all others that are no samples, those of lanes left out.
            cut: where it breaks off, or that it is damaged, in words; nothing where all is in order.
            damaged: how many lines could not be read.
        """
        self.header = header
        self.lanes = tuple(lanes)
        self.cut = cut
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
        self._all_events = [
            Event(number, line.time, plain(line.lane), plain(line.text), line.weight)
            for number, line in enumerate(self._events.entries, 1)
        ]
        self._all_marks = [
            Mark(number, line.time, plain(line.lane), plain(line.kind), plain(line.text))
            for number, line in enumerate(self._marks.entries, 1)
        ]
        last = (line.time for line in lines)
        self.duration = max([0.0, *last, *(lane.times[-1] for lane in lanes if len(lane))])
        """Seconds from its beginning to the last that it knows."""

    @property
    def samples(self) -> int:
        """How many samples it has, of all lanes."""
        return sum(map(len, self.lanes))

    # What there was to see.

    def view(self, at: float) -> LabView:
        """Give the picture at ``at``; takes some tens of microseconds."""
        lab = self._labs.at(at) or NO_LAB
        own = self._own.at(at) or NO_MACHINE
        line = self._settings.at(at) or NO_SETTINGS
        settings = Settings(
            line.workload, line.refill, line.trace, line.gc, line.threads, line.stack, line.page
        )
        moments = [(lane, lane.state(at), lane.sample(at)) for lane in self.lanes]
        costs = [sample.cost_rss for _, _, sample in moments if sample and sample.cost_rss]
        cheapest = min(costs, default=None)
        return LabView(
            now=at,
            elapsed=at,
            hz=lab.rate,
            lanes=tuple(_lane_view(*moment, at, cheapest, lab, own) for moment in moments),
            settings=settings,
            total_rss=sum(sample.rss or 0 for _, _, sample in moments if sample),
            budget=lab.budget,
            memory_total=own.total,
            own=_own_reading(own),
        )

    def series_until(self, at: float) -> list[RecordedSeries]:
        """Give the series of each lane, without what comes after ``at``."""
        return [lane.series.until(at) for lane in self.lanes]

    def events(self, at: float) -> Log[Event]:
        """Give the event log as it was at ``at``; numbers count from the recording's beginning."""
        return PastLog(self._all_events, self._events.count(at))

    def marks(self, at: float) -> Log[Mark]:
        """Give what had been asked for or noted until ``at``, in the order of the moments."""
        return PastLog(self._all_marks, self._marks.count(at))

    def largest_target(self, lane: int) -> int:
        """Give where the slider of lane number ``lane`` ends: what was ever asked for fits on it."""
        asked = max((change.target for change in self.lanes[lane].changes.entries), default=0)
        if not self.lanes[lane].engine.threads:
            return max(LARGEST_TARGET, asked)
        fit = self.view(0.0).lanes[lane].fit.tasks
        return max(asked, min(LARGEST_TARGET, max(100, fit // 100 * 100)))


def _own_reading(line: OwnLine) -> Reading | None:
    if line.rss is None or line.cpu is None or line.threads is None:
        return None
    return Reading(line.rss, line.cpu, line.threads, line.virtual or 0)


def _cost(state: LaneLine, sample: Sample | None) -> Cost | None:
    if sample is None or sample.cost_rss is None or sample.cost_live is None:
        return None
    return Cost(sample.cost_rss, sample.cost_traced, sample.cost_live, state.cost_tracing, state.cost_clean)


def _lane_view(
    lane: RecordedLane,
    state: LaneLine,
    sample: Sample | None,
    at: float,
    cheapest: float | None,
    lab: LabLine,
    own: OwnLine,
) -> LaneView:
    """Put one lane's picture together, as `concwatch.lab.view.take_view` does of a live one."""
    cost = _cost(state, sample)
    expected = state.bytes_per_task
    if expected is None:
        expected = max(1.0, cost.rss) if cost else 1.0
    walls = [Wall(*wall) for wall in lab.walls] if lane.engine.threads else []
    age = at - state.born
    mean = sample.mean_completion_rate if sample else None
    now = sample.completion_rate if sample else None
    lag = sample.lag if sample else None
    gc = sample.gc if sample else None
    return LaneView(
        name=lane.name,
        state=state.state,
        reason=plain(state.reason),
        stalled=sample.stalled if sample and state.state in (State.RUNNING, State.STALLED) else 0.0,
        target=state.target,
        live=(sample.live if sample else None) or 0,
        queued=sample.queued if sample and lane.engine.queues else None,
        failed=(sample.failed if sample else None) or 0,
        rss=sample.rss if sample else None,
        traced=sample.traced if sample else None,
        create_speed=state.create_speed,
        completion_rate=math.nan if mean is None else mean,
        completed_now=math.nan if now is None else now,
        lag=math.nan if lag is None else lag,
        gc_share=gc / age if gc is not None and age > 0 else None,
        threads=sample.threads if sample else None,
        cost=cost,
        ratio=cost.rss / cheapest if cost and cheapest else None,
        fit=fits(expected, own.room, walls, own.bound),
        limited=plain(state.limited),
        traceable=state.traceable,
        missing=state.missing,
        bytes_per_task=expected,
    )
