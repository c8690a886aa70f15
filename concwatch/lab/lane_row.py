"""What stands in one row of a screen: a lane, or the lanes of one engine on several hosts, taken together."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import structs

from concwatch.lab.lane import Lane
from concwatch.lab.lane_state import COMING, State
from concwatch.lab.series import Series, Spread
from concwatch.lab.snapshot import LaneSnapshot, LaneStatus, Sample, blank_sample

SUMMED = (
    "rss", "created_per_second", "completed_per_second", "live", "cpu", "threads", "virtual", "created",
    "completed", "failed", "cancelled", "queued", "gc", "completed_mean", "cpu_seconds", "switches",
    "switches_per_second", "traced", "tracer", "heap", "measured_live",
)  # fmt: skip
"""Figures of a sample of which several hosts together have the sum."""

WORST = ("lag", "stalled", "others", "duration")
"""Those of which they have the highest."""

WEIGHED = ("rss_per_task", "traced_per_task", "cpu_per_task")
"""Those of which they have the mean over their tasks."""

STATUS_SUMMED = (
    "target", "asked", "create_rate", "completion_rate", "peak_live", "peak_rss", "idle_rss", "idle_virtual",
    "idle_traced", "fits",
)  # fmt: skip
STATUS_WORST = (
    "create_seconds", "create_others", "stop_seconds", "longest_stall", "wake_lag_p99", "start_delay_p99",
    "duration_p50", "duration_p99", "born",
)  # fmt: skip


def _known(lanes: Iterable[object], name: str) -> list[Any]:
    return [value for lane in lanes if (value := getattr(lane, name)) is not None]


def _combined(parts: Sequence[object], summed: Iterable[str], worst: Iterable[str]) -> dict[str, Any]:
    """Return the sums and the highest values of what is known of ``parts``."""
    found: dict[str, Any] = {}
    for names, combine in ((summed, sum), (worst, max)):
        for name in names:
            known = _known(parts, name)
            found[name] = combine(known) if known else None
    return found


def combined_sample(samples: Sequence[Sample], lane: int) -> Sample:
    """Return the sample of several lanes together, of which the newest tells the time.

    No two hosts' clocks are mixed: ``tick_time`` is unknown.
    """
    found = _combined(samples, SUMMED, WORST)
    for name in WEIGHED:
        weights = [
            (value, sample.measured_live or sample.live or 1)
            for sample in samples
            if (value := getattr(sample, name)) is not None
        ]
        total = sum(weight for _, weight in weights)
        found[name] = sum(value * weight for value, weight in weights) / total if weights else None
    found["stalled"] = found["stalled"] or 0.0
    return blank_sample(lane, max(sample.time for sample in samples), **found)


def _state(states: Sequence[State]) -> State:
    """Return the state of several lanes: of those that are on the one that is furthest behind."""
    for state in (*COMING, State.STALLED, State.RUNNING, State.STOPPING, State.LOST, State.FAILED):
        if state in states:
            return state
    return State.OFF


def combined_status(lanes: Sequence[LaneSnapshot]) -> LaneStatus:
    """Return what changes seldom of several lanes together."""
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
    return LaneStatus(
        **_combined(parts, STATUS_SUMMED, STATUS_WORST),
        state=state,
        reason=next(reasons, ""),
        wall=wall,
        wall_text=wall_text,
        runtime=_same([part.runtime for part in parts]),
        flags=_same([part.flags for part in parts]) or (),
        can=tuple(word for word in parts[0].can if all(word in part.can for part in parts)),
        tracing=any(part.tracing for part in parts),
        clean=all(part.clean for part in parts),
        bytes_per_task=sum(part.bytes_per_task * max(1, part.fits) for part in parts) / tasks,
        fits_wall=min(parts, key=lambda part: part.fits).fits_wall,
        missing=missing[0] if len(missing) == len(parts) else None,
    )


def _same(values: Sequence[Any]) -> Any:
    """Return what all have that know it, None where they differ."""
    known = [value for value in values if value]
    return known[0] if known and all(value == known[0] for value in known) else None


class LaneRow:
    """One lane, or several that are steered as one."""

    def __init__(self, lanes: Sequence[Lane], even: Callable[[], bool] = lambda: False) -> None:
        """Take ``lanes`` of one engine together; ``even`` returns whether each holds the same number."""
        self.lanes = lanes
        first = lanes[0].facts
        self.own_name = lanes[0].engine.own_name
        several = len(lanes) > 1
        name = f"{self.own_name} × {len(lanes)}"
        self.facts = structs.replace(first, name=name, host="") if several else first
        self.series = Series() if several else lanes[0].series
        """What they hold together."""
        self.spread = Spread() if several else self.series
        """What the median of them holds, and the least and the most."""
        self._even = even
        self._followed = 0.0

    def of(self, lanes: Sequence[Lane]) -> "LaneRow":
        """Return the row of other lanes of the same engine, with what several held together until now."""
        row = LaneRow(lanes, self._even)
        if len(lanes) > 1 and len(self.lanes) > 1:
            row.series, row.spread, row._followed = self.series, self.spread, self._followed
        return row

    @property
    def name(self) -> str:
        """The lane's, or the engine's with the number of hosts."""
        return self.facts.name

    @property
    def on(self) -> bool:
        """Whether any of its lanes is on."""
        return any(lane.on for lane in self.lanes)

    @property
    def target(self) -> int:
        """Tasks that its workers are to hold."""
        return sum(lane.target for lane in self.lanes)

    @property
    def asked(self) -> int:
        """Tasks that were asked for last."""
        return sum(lane.worker.goal.asked for lane in self.lanes)

    @property
    def missing(self) -> str | None:
        """Why none of its lanes can run, as far as is known."""
        reasons = [lane.missing for lane in self.lanes]
        return None if None in reasons else reasons[0]

    def split(self, tasks: int, fits: Callable[[Lane], int]) -> Mapping[Lane, int]:
        """Return how many of ``tasks`` each lane is to hold: by what it ``fits``, or the same for each.

        Lanes that have failed or are lost get none while others can take them.
        """
        able = [lane for lane in self.lanes if not (lane.state.broken or lane.missing)] or list(self.lanes)
        weights = [1 if self._even() else max(0, fits(lane)) for lane in able]
        if not any(weights):  # hosts that have not answered yet
            weights = [1] * len(able)
        shares: dict[Lane, int] = dict.fromkeys(self.lanes, 0)
        left, rest = tasks, sum(weights)
        for lane, weight in zip(able, weights, strict=True):
            shares[lane] = round(left * weight / rest) if rest else 0
            left, rest = left - shares[lane], rest - weight
        return shares

    def follow(self, lanes: Sequence[LaneSnapshot], time: float) -> None:
        """Keep the sample of all lanes together, if any was taken at ``time``."""
        new = time > self._followed and any(lane.sample.time == time for lane in lanes)
        if isinstance(self.spread, Spread) and new:
            self._followed = time
            samples = _samples(lanes)
            self.series.append(structs.replace(combined_sample(samples, 0), time=time))
            self.spread.take(samples, time)

    def picture(self, lanes: Sequence[LaneSnapshot], number: int) -> LaneSnapshot:
        """Return the snapshot of the row ``number`` of a screen."""
        if len(lanes) == 1:
            return lanes[0]
        sample = combined_sample(_samples(lanes), number)
        return LaneSnapshot(self.facts, combined_status(lanes), sample, lanes[0].cheapest)


def _samples(lanes: Sequence[LaneSnapshot]) -> list[Sample]:
    """Return the samples of the lanes that are on, of all where none is."""
    return [lane.sample for lane in lanes if lane.on] or [lane.sample for lane in lanes]
