"""What is new of a lab since the last look, as lines of a recording."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from concwatch.lab.lab import Lab
from concwatch.lab.lane import Lane
from concwatch.lab.view import LabView, LaneView, take_view
from concwatch.recordings.format import (
    EventLine,
    LabLine,
    LaneLine,
    Line,
    MarkLine,
    OwnLine,
    Sample,
    SettingsLine,
    cut_time,
    rounded,
)


class News:
    """Looks at one lab again and again; the first look gives all that holds then, and nothing of before."""

    def __init__(self, lab: Lab, places: Mapping[str, int], began: float) -> None:
        """Prepare to look at ``lab``.

        Args:
            lab: what is looked at.
            places: the number of each lane in the recording, by its engine's name.
            began: when the recording began, seconds on the lab's clock.
        """
        self.lab = lab
        self._places = [places[lane.engine.name] for lane in lab.lanes]
        self._began = began
        self._sampled = [float("-inf")] * len(lab.lanes)
        self._events = lab.events.count
        self._marks = lab.marks.count
        self._told: dict[object, object] = {}

    def beginning(self, now: float) -> LabLine:
        """Give the line that says which lab comes in; ``now`` in seconds on its clock."""
        walls = tuple((wall.name, wall.value, wall.used) for wall in self.lab.walls)
        return LabLine(self._time(now), self.lab.hz, self.lab.budget, tuple(self._places), walls)

    def look(self, now: float) -> Iterator[Line | Sample]:
        """Give what is new; ``now`` in seconds on the lab's clock."""
        lab, time = self.lab, self._time(now)
        view = take_view(lab, now)
        if self._is_new("settings", view.settings):
            yield _settings_line(time, view)
        if self._is_new("own", (view.own, lab.room, lab.memory.total, lab.memory.bound)):
            yield _own_line(time, lab)
        for index, (lane, seen) in enumerate(zip(lab.lanes, view.lanes, strict=True)):
            slow = self._slow(index, lane, seen)
            if self._is_new(index, slow):
                yield replace(slow, time=time)
            if lane.sampled != self._sampled[index]:
                self._sampled[index] = lane.sampled
                if lane.sampled >= lane.born:  # else it is of a worker that nothing is known of any more
                    yield _sample(self._time(lane.sampled), self._places[index], lane, seen)
        yield from self._new_entries()

    def _new_entries(self) -> Iterator[EventLine | MarkLine]:
        for event in self.lab.events.since(self._events):
            time = self._time(event.time + self.lab.began)
            yield EventLine(time, event.lane, event.text, event.weight)
        for mark in self.lab.marks.since(self._marks):
            moment = mark.time + self.lab.began
            if moment >= self._began:  # a note may be put on any moment of the past
                yield MarkLine(self._time(moment), mark.lane, mark.kind, mark.text)
        self._events, self._marks = self.lab.events.count, self.lab.marks.count

    def _time(self, clock: float) -> float:
        return cut_time(max(0.0, clock - self._began))

    def _is_new(self, key: object, value: object) -> bool:
        if self._told.get(key) == value:
            return False
        self._told[key] = value
        return True

    def _slow(self, index: int, lane: Lane, seen: LaneView) -> LaneLine:
        """Give what changes slowly, without its time."""
        ready, cost = lane.ready, seen.cost
        own = cost is not None and cost.clean and seen.bytes_per_task == max(1.0, cost.rss)
        return LaneLine(
            time=0.0,
            lane=self._places[index],
            state=seen.state,
            reason=seen.reason,
            target=seen.target,
            limited=seen.limited,
            create_speed=rounded(seen.create_speed),
            runtime=ready.runtime if ready else None,
            pid=ready.pid if ready else None,
            flags=lane.flags,
            born=cut_time(lane.born - self._began),
            cost_tracing=cost is not None and cost.tracing,
            cost_clean=cost is not None and cost.clean,
            bytes_per_task=None if own else seen.bytes_per_task,
            traceable=seen.traceable,
            missing=seen.missing,
        )


def _settings_line(time: float, view: LabView) -> SettingsLine:
    s = view.settings
    return SettingsLine(time, s.workload, s.refill, s.trace, s.gc, s.threads, s.stack, s.page)


def _own_line(time: float, lab: Lab) -> OwnLine:
    own, memory = lab.own, lab.memory
    return OwnLine(
        time=time,
        rss=own.rss if own else None,
        cpu=own.cpu if own else None,
        threads=own.threads if own else None,
        virtual=own.virtual if own else None,
        room=lab.room,
        total=memory.total,
        bound=memory.bound,
    )


def _sample(time: float, place: int, lane: Lane, seen: LaneView) -> Sample:
    """Write down a lane's newest sample: what a worker that has ended said is not of it."""
    tick, reading, cost = lane.tick, lane.reading, seen.cost
    return Sample(
        lane=place,
        time=time,
        rss=reading.rss if reading else None,
        traced=tick.traced if tick else None,
        heap=tick.heap if tick else None,
        create_rate=rounded(lane.rates.created) if tick else None,
        completion_rate=rounded(lane.rates.completed) if tick else None,
        live=tick.live if tick else None,
        lag=seen.lag if tick else None,
        cpu=reading.cpu if reading else None,
        threads=reading.threads if reading else None,
        virtual=reading.virtual if reading else None,
        tick_time=tick.time if tick else None,
        created=tick.created if tick else None,
        completed=tick.completed if tick else None,
        failed=tick.failed if tick else None,
        cancelled=tick.cancelled if tick else None,
        queued=tick.queued if tick else None,
        tick_lag=tick.lag if tick else None,
        gc=tick.gc if tick else None,
        tracer=tick.tracer if tick else None,
        mean_completion_rate=rounded(seen.completion_rate),
        stalled=rounded(seen.stalled) or 0.0,
        cost_rss=rounded(cost.rss) if cost else None,
        cost_traced=rounded(cost.traced) if cost else None,
        cost_live=cost.live if cost else None,
    )
