"""One row of a screen: a lane, or the lanes of one engine on several hosts, combined."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from concwatch.monitor.lane import Lane
from concwatch.monitor.metrics import COMBINED, Combine, LaneSnapshot, LaneStatus, Sample, blank_sample
from concwatch.monitor.series import Series, Spread
from concwatch.monitor.state import PENDING, State

_COMBINE: Mapping[Combine, Callable[[Sequence[Any]], Any]] = {
    Combine.SUM: sum, Combine.MAX: max, Combine.ANY: any, Combine.ALL: all,
}  # fmt: skip


def _combined(struct: type[Struct], parts: Sequence[Struct], tasks: Sequence[int]) -> dict[str, Any]:
    """Return the combined known values of the fields of ``parts``, which have so many tasks."""
    found: dict[str, Any] = {}
    for name, combine in COMBINED[struct].items():
        pairs = [(getattr(part, name), weight) for part, weight in zip(parts, tasks, strict=True)]
        known = [(value, weight) for value, weight in pairs if value is not None]
        if not known or combine is Combine.NONE:
            continue
        if combine is Combine.MEAN:
            found[name] = sum(value * weight for value, weight in known) / sum(weight for _, weight in known)
        else:
            found[name] = _COMBINE[combine]([value for value, _ in known])
    return found


def combined_sample(samples: Sequence[Sample], lane: int) -> Sample:
    """Return the combined sample of several lanes, at the time of the newest."""
    tasks = [sample.measured_live or sample.live or 1 for sample in samples]
    return blank_sample(lane, max(sample.time for sample in samples), **_combined(Sample, samples, tasks))


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
    wall, wall_text = next(((part.wall, part.wall_text) for part in parts if part.wall), ("", ""))
    if broken and state.on:
        more = f" and {len(broken) - 2} more" if len(broken) > 2 else ""
        wall = wall_text = f"without {', '.join(broken[:2])}{more}"
    tasks = sum(max(1, part.fits) for part in parts)
    reasons = (f"{lane.engine.host}: {lane.status.reason}" for lane in lanes if lane.status.reason)
    missing = [part.missing for part in parts if part.missing]
    answered = [part for part in parts if part.fits_wall]
    return LaneStatus(
        **_combined(LaneStatus, parts, [1] * len(parts)),
        state=state,
        reason=next(reasons, ""),
        wall=wall,
        wall_text=wall_text,
        runtime=_same([part.runtime for part in parts]),
        flags=_same([part.flags for part in parts]) or (),
        can=tuple(word for word in parts[0].can if all(word in part.can for part in parts)),
        bytes_per_task=sum(part.bytes_per_task * max(1, part.fits) for part in parts) / tasks,
        fits_wall=min(answered or parts, key=lambda part: part.fits).fits_wall,
        missing=missing[0] if len(missing) == len(parts) else None,
    )


def _same(values: Sequence[Any]) -> Any:
    """Return the value that all known ones equal; None if they differ."""
    known = [value for value in values if value]
    return known[0] if known and all(value == known[0] for value in known) else None


class LaneRow:
    """One lane, or several that are controlled as one."""

    def __init__(self, lanes: Sequence[Lane], even: Callable[[], bool] = lambda: False) -> None:
        """Combine ``lanes`` of one engine; ``even`` returns whether a target is split evenly."""
        self.lanes = lanes
        first = lanes[0].facts
        self.own_name = lanes[0].engine.own_name
        several = len(lanes) > 1
        name = f"{self.own_name} × {len(lanes)}"
        self.facts = structs.replace(first, name=name, host="") if several else first
        self.series = Series() if several else lanes[0].series
        """The combined samples."""
        self.spread = Spread() if several else self.series
        """The median, minimum and maximum of the lanes."""
        self._even = even
        self._updated_at = 0.0

    def with_lanes(self, lanes: Sequence[Lane]) -> "LaneRow":
        """Return a row of other lanes of the same engine, with the combined samples so far."""
        row = LaneRow(lanes, self._even)
        if len(lanes) > 1 and len(self.lanes) > 1:
            row.series, row.spread, row._updated_at = self.series, self.spread, self._updated_at
        return row

    @property
    def name(self) -> str:
        """The name of the lane, or of the engine with the number of hosts."""
        return self.facts.name

    @property
    def on(self) -> bool:
        """Whether any of its lanes is on."""
        return any(lane.on for lane in self.lanes)

    @property
    def target(self) -> int:
        """The target of its workers together."""
        return sum(lane.target.tasks for lane in self.lanes)

    @property
    def asked(self) -> int:
        """The target that was requested last."""
        return sum(lane.target.asked for lane in self.lanes)

    @property
    def missing(self) -> str | None:
        """Why none of its lanes can run; None if one may."""
        reasons = [lane.missing for lane in self.lanes]
        return None if None in reasons else reasons[0]

    def split(self, tasks: int, fits: Callable[[Lane], int | None]) -> Mapping[Lane, int]:
        """Split ``tasks`` over the lanes, evenly or in proportion to what ``fits`` returns for each.

        A lane whose host has not answered yet, for which it returns None, gets the mean share.
        Lanes that have failed or are lost get none unless all have.
        """
        able = [lane for lane in self.lanes if not (lane.state.broken or lane.missing)] or list(self.lanes)
        found = [1 if self._even() else fits(lane) for lane in able]
        known = [weight for weight in found if weight is not None]
        mean = round(sum(known) / len(known)) if known else 1
        weights = [mean if weight is None else weight for weight in found]
        if not any(weights):
            weights = [1] * len(able)
        shares: dict[Lane, int] = dict.fromkeys(self.lanes, 0)
        left, rest = tasks, sum(weights)
        for lane, weight in zip(able, weights, strict=True):
            shares[lane] = round(left * weight / rest) if rest else 0
            left, rest = left - shares[lane], rest - weight
        return shares

    def update(self, lanes: Sequence[LaneSnapshot], time: float) -> None:
        """Add the combined sample of the lanes, if one of them was sampled at ``time``."""
        new = time > self._updated_at and any(lane.sample.time == time for lane in lanes)
        if isinstance(self.spread, Spread) and new:
            self._updated_at = time
            samples = _samples(lanes)
            self.series.append(structs.replace(combined_sample(samples, 0), time=time))
            self.spread.add(samples, time)

    def snapshot(self, lanes: Sequence[LaneSnapshot], number: int) -> LaneSnapshot:
        """Return the combined snapshot, as number ``number`` of a screen."""
        if len(lanes) == 1:
            return lanes[0]
        sample = combined_sample(_samples(lanes), number)
        names = tuple(lane.name for lane in lanes)
        return LaneSnapshot(self.facts, combined_status(lanes), sample, lanes[0].cheapest, combines=names)


def _samples(lanes: Sequence[LaneSnapshot]) -> list[Sample]:
    """Return the samples of the lanes that are on, or of all if none is."""
    return [lane.sample for lane in lanes if lane.on] or [lane.sample for lane in lanes]
