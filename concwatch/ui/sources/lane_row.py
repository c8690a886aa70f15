"""One row of a screen: a lane, or the lanes of one engine on several hosts, combined."""

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from concwatch.monitor.metrics.metric import combined
from concwatch.monitor.metrics.metrics import EngineFacts, LaneSnapshot, LaneStatus, Sample, blank_sample
from concwatch.monitor.metrics.series import Samples, Series, Spread
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.metrics.state import PENDING, State
from concwatch.monitor.verdicts.failures import added
from concwatch.monitor.workers.catalog import ON


def combined_sample(samples: Sequence[Sample], lane: int) -> Sample:
    """Return the combined sample of several lanes, at the time of the newest."""
    tasks = [sample.measured_live or sample.live or 1 for sample in samples]
    return blank_sample(lane, max(sample.time for sample in samples), **combined(samples, tasks))


def _state(states: Sequence[State]) -> State:
    """Return the combined state of several lanes: the least advanced of those that are on."""
    for state in (*PENDING, State.STALLED, State.RUNNING, State.STOPPING, State.LOST, State.FAILED):
        if state in states:
            return state
    return State.OFF


def combined_status(lanes: Sequence[LaneSnapshot]) -> LaneStatus:
    """Return the combined status of several lanes."""
    parts = [lane.status for lane in lanes]
    state = _state([part.state for part in parts])
    broken = [lane.engine.host for lane in lanes if lane.status.state.broken]
    limit, limit_text = next(((part.limit, part.limit_text) for part in parts if part.limit), ("", ""))
    if broken and state.on:
        more = f" and {len(broken) - 2} more" if len(broken) > 2 else ""
        limit = limit_text = f"without {', '.join(broken[:2])}{more}"
    tasks = sum(max(1, part.fits) for part in parts)
    reasons = (f"{lane.engine.host}: {lane.status.reason}" for lane in lanes if lane.status.reason)
    missing = [part.missing for part in parts if part.missing]
    answered = [part for part in parts if part.fits_limit]
    return LaneStatus(
        **combined(parts, [1] * len(parts)),
        state=state,
        reason=next(reasons, ""),
        failures=added(failure for part in parts for failure in part.failures),
        limit=limit,
        limit_text=limit_text,
        runtime=_same([part.runtime for part in parts]),
        flags=_same([part.flags for part in parts]) or (),
        can=tuple(word for word in parts[0].can if all(word in part.can for part in parts)),
        bytes_per_task=sum(part.bytes_per_task * max(1, part.fits) for part in parts) / tasks,
        fits_limit=min(answered or parts, key=lambda part: part.fits).fits_limit,
        missing=missing[0] if len(missing) == len(parts) else None,
    )


def _same(values: Sequence[Any]) -> Any:
    """Return the value that all known ones equal; None if they differ."""
    known = [value for value in values if value]
    return known[0] if known and all(value == known[0] for value in known) else None


def split(tasks: int, lanes: Sequence[LaneSnapshot], even: bool = False) -> list[int]:
    """Split ``tasks`` over lanes, evenly or in proportion to what fits there.

    A lane whose host has not answered yet gets the mean share. Lanes that have failed or are lost get none
    unless all have.
    """
    parts = [lane.status for lane in lanes]
    able = [not (part.state.broken or part.missing) for part in parts]
    if not any(able):
        able = [True] * len(parts)
    known = [part.fits for part, can in zip(parts, able, strict=True) if can and part.fits_limit]
    mean = round(sum(known) / len(known)) if known else 1
    weights = [
        can * (1 if even else part.fits if part.fits_limit else mean)
        for part, can in zip(parts, able, strict=True)
    ]
    if not any(weights):
        weights = [int(can) for can in able]
    shares, left, rest = [], tasks, sum(weights)
    for weight in weights:
        share = round(left * weight / rest) if rest else 0
        shares.append(share)
        left, rest = left - share, rest - weight
    return shares


class LaneRow:
    """One lane, or several that are shown and controlled as one."""

    def __init__(self, numbers: Sequence[int], first: EngineFacts) -> None:
        """Combine lanes of one engine: their numbers among all lanes, and the facts of the first."""
        self.numbers = numbers
        self.own_name = first.name.partition(ON)[0]
        name = f"{self.own_name} × {len(numbers)}"
        self._facts = structs.replace(first, name=name, host="") if self._several else first
        self._sum = Series()
        self._spread = Spread(self._sum)
        self._updated_at = 0.0

    @property
    def _several(self) -> bool:
        return len(self.numbers) > 1

    def with_lanes(self, numbers: Sequence[int], first: EngineFacts) -> "LaneRow":
        """Return a row of other lanes of the same engine, with the combined samples so far."""
        row = LaneRow(numbers, first)
        if row._several and self._several:
            row._sum, row._spread, row._updated_at = self._sum, self._spread, self._updated_at
        return row

    def series(self, snapshot: Snapshot, show_range: bool = False) -> Samples:
        """Return the samples of its lane, or the sum of its lanes' or their median and range."""
        if not self._several:
            return snapshot.series[self.numbers[0]]
        return self._spread if show_range else self._sum

    def update(self, lanes: Sequence[LaneSnapshot], time: float) -> None:
        """Add the combined sample of its lanes, if one of them was sampled at ``time``."""
        new = time > self._updated_at and any(lane.sample.time == time for lane in lanes)
        if self._several and new:
            self._updated_at = time
            samples = _samples(lanes)
            self._sum.append(structs.replace(combined_sample(samples, 0), time=time))
            self._spread.add(samples, time)

    def snapshot(self, lanes: Sequence[LaneSnapshot], number: int) -> LaneSnapshot:
        """Return the combined snapshot of its lanes, as number ``number`` of a screen."""
        if not self._several:
            return lanes[0]
        sample, names = combined_sample(_samples(lanes), number), tuple(lane.name for lane in lanes)
        return LaneSnapshot(self._facts, combined_status(lanes), sample, lanes[0].cheapest, combines=names)


def _samples(lanes: Sequence[LaneSnapshot]) -> list[Sample]:
    """Return the samples of the lanes that are on, or of all if none is."""
    return [lane.sample for lane in lanes if lane.on] or [lane.sample for lane in lanes]
