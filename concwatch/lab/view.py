"""One frozen picture of the lab, taken between two steps: what a screen or a table shows."""

from msgspec import Struct

from concwatch.lab.cost import Cost
from concwatch.lab.forecast import weigh
from concwatch.lab.lab import Lab
from concwatch.lab.lane import COMING, STANDING, Lane, State
from concwatch.lab.limits import Fit, fits
from concwatch.lab.sampler import Reading
from concwatch.lab.settings import Settings


class LaneView(Struct, frozen=True):
    """One lane at one moment."""

    name: str
    state: State
    reason: str
    stalled: float
    """Seconds; 0 when all is well."""
    target: int
    live: int
    queued: int | None
    """Jobs that wait for a thread; None for engines without a queue."""
    failed: int
    rss: int | None
    traced: int | None
    create_speed: float | None
    """Tasks a second at which the last target was created; None before the first."""
    completion_rate: float
    """Tasks a second, the mean of the last ten seconds; NaN before there are two ticks."""
    completed_now: float
    """The same between the last two ticks; NaN as above."""
    lag: float
    gc_share: float | None
    """Share of the worker's life that the garbage collector took."""
    threads: int | None
    cost: Cost | None
    ratio: float | None
    """Cost over that of the cheapest lane."""
    fit: Fit
    limited: str
    """The wall that holds the lane short of what was asked, or an empty string."""
    traceable: bool
    missing: str | None
    bytes_per_task: float
    """Measured here, or else the catalog's figure; what a forecast goes by."""

    @property
    def on(self) -> bool:
        """Whether there is a worker, and it is not on its way out."""
        return self.state in COMING + STANDING


class LabView(Struct, frozen=True):
    """The whole lab at one moment."""

    now: float
    """Seconds on the lab's clock."""
    elapsed: float
    """Seconds since the lab was made."""
    hz: float
    lanes: tuple[LaneView, ...]
    settings: Settings
    total_rss: int
    budget: int
    memory_total: int
    own: Reading | None


def expected_bytes(lane: Lane, settings: Settings) -> float:
    """Give the bytes of RSS that one more task will take: as measured here, else by the catalog."""
    return weigh(lane.engine, settings, lane.meter.cost).one_more


def lane_fit(lab: Lab, lane: Lane) -> Fit:
    """Tell how many of this lane's tasks the machine would hold if nothing else ran."""
    walls = lane.engine.bound_by(lab.walls)
    return fits(expected_bytes(lane, lab.settings), lab.room, walls, lab.memory.bound)


def _lane_view(lab: Lab, lane: Lane, now: float, cheapest: float | None) -> LaneView:
    tick, cost = lane.tick, lane.meter.cost
    running = lane.state in STANDING
    age = lane.age(now)
    return LaneView(
        name=lane.engine.name,
        state=lane.state,
        reason=lane.reason,
        stalled=lane.stalled_for(now) if running else 0.0,
        target=lane.target,
        live=lane.live,
        queued=tick.queued if tick and lane.engine.queues else None,
        failed=tick.failed if tick else 0,
        rss=lane.reading.rss if lane.reading else None,
        traced=tick.traced if tick else None,
        create_speed=lane.create_speed,
        completion_rate=lane.rates.mean_completed,
        completed_now=lane.series.last("completion_rate"),
        lag=lane.series.last("lag"),
        gc_share=tick.gc / age if tick and tick.gc is not None and age > 0 else None,
        threads=lane.reading.threads if lane.reading else None,
        cost=cost,
        ratio=cost.rss / cheapest if cost and cheapest else None,
        fit=lane_fit(lab, lane),
        limited=lane.limit.wall if lane.limit else "",
        traceable=lane.ready is None or lane.can("trace"),
        missing=lane.missing,
        bytes_per_task=expected_bytes(lane, lab.settings),
    )


def take_view(lab: Lab, now: float) -> LabView:
    """Take the picture; ``now`` in seconds on the lab's clock."""
    costs = [lane.meter.cost.rss for lane in lab.lanes if lane.meter.cost and lane.meter.cost.rss > 0]
    cheapest = min(costs, default=None)
    return LabView(
        now=now,
        elapsed=now - lab.began,
        hz=lab.hz,
        lanes=tuple(_lane_view(lab, lane, now, cheapest) for lane in lab.lanes),
        settings=lab.settings,
        total_rss=lab.total_rss,
        budget=lab.budget,
        memory_total=lab.memory.total,
        own=lab.own,
    )
