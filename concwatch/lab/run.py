"""One measurement without a screen: start, hold, stop, and what was seen on the way."""

import asyncio
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Protocol

from concwatch.lab.catalog import Engine
from concwatch.lab.events import Event
from concwatch.lab.lab import Lab
from concwatch.lab.lane import COMING, Lane, State
from concwatch.lab.machine import describe_machine, program_version
from concwatch.lab.messages import Tick
from concwatch.lab.rates import BestSecond
from concwatch.lab.tell import name_wall
from concwatch.units import format_count, format_seconds

SETTLE = 0.5
"""Seconds of idling over which the baseline is taken, and again what is retained after the end."""

GROW_LIMIT = 600.0
"""Seconds in which all tasks must have been created; a target that takes longer is given up."""

STUCK = 10.0
"""Seconds without any task ending after which those that do not stop are left to the end of the worker."""

NEAR_ALL = 0.99
"""Share of the most tasks live from which on a sample counts as taken with all of them live."""


@dataclass(frozen=True)
class Plan:
    """What to measure."""

    tasks: int
    seconds: float
    """How long to hold the tasks once all have started."""


@dataclass
class Result:
    """One lane's figures: bytes, seconds, tasks, per second. None is what could not be told."""

    engine: str
    runtime: str | None = None
    flags: list[str] = field(default_factory=list)
    state: str = "done"
    reason: str | None = None
    traced: bool = False
    gc: str = "default"
    tasks: int = 0
    idle_rss: int | None = None
    peak_rss: int | None = None
    peak_live: int = 0
    created: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    rss_per_task: float | None = None
    traced_per_task: float | None = None
    create_rate: float | None = None
    create_seconds: float | None = None
    completion_rate: float | None = None
    wake_lag_p99: float | None = None
    gc_seconds: float | None = None
    retained_rss: int | None = None
    stop_seconds: float | None = None


def percentile(values: Sequence[float], share: float) -> float | None:
    """Give the value below which ``share`` of ``values`` lie (nearest rank); None for none."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


class Counted(Protocol):
    """What a worker has counted at a moment; None where that is not known."""

    @property
    def live(self) -> int | None:
        """Tasks created and not yet ended."""
        ...

    @property
    def created(self) -> int | None:
        """Tasks created so far."""
        ...


def at_work(before: Counted, tick: Counted) -> bool:
    """Tell whether there were tasks from one tick to the next: of an idle worker no lag counts."""
    return bool(before.live or before.created != tick.created)


class Watch:
    """Gathers from a lane's samples what is only known at the end."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self.last: Tick | None = None
        """The newest tick, kept when the worker is gone."""
        self._best = BestSecond()
        self._lags: list[float] = []
        self._full: list[tuple[int, int, int | None]] = []  # live, RSS, traced
        self.idle_traced: int | None = None

    def look(self) -> None:
        """Take in the lane's newest tick and reading, if they are new."""
        tick, reading = self._lane.tick, self._lane.reading
        if tick is None or tick is self.last or reading is None:
            return
        if at_work(self.last or tick, tick):
            self._lags.append(tick.lag)
        self.last = tick
        self._best.add(tick.time, tick.completed)
        if self._full and tick.live > self._full[0][0] / NEAR_ALL:
            self._full.clear()
        if tick.live and (not self._full or tick.live >= self._full[0][0] * NEAR_ALL):
            self._full.append((tick.live, reading.rss, tick.traced))

    def summarize(self, result: Result) -> None:
        """Write what was gathered into ``result``."""
        if self.last is not None:
            last = self.last
            result.created, result.completed = last.created, last.completed
            result.failed, result.cancelled, result.gc_seconds = last.failed, last.cancelled, last.gc
        result.wake_lag_p99 = percentile(self._lags, 0.99)
        result.completion_rate = self._best.best
        # A sample joins a look at the process with the tick before it, so while tasks still come it is too
        # high by those of an interval: the median over all samples near the peak is not.
        if self._full and result.idle_rss is not None:
            result.rss_per_task = statistics.median(
                (rss - result.idle_rss) / live for live, rss, _ in self._full
            )
            traced = [(bytes_, live) for live, _, bytes_ in self._full if bytes_ is not None]
            if traced and self.idle_traced is not None:
                result.traced_per_task = statistics.median(
                    (b - self.idle_traced) / live for b, live in traced
                )


Progress = Callable[[str], None]


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _until(
    done: Callable[[], bool], lane: Lane, watch: Watch | None, limit: float, interval: float
) -> bool:
    """Wait until ``done``, the lane fails, or ``limit`` seconds have passed; say whether it was done."""
    end = _now() + limit
    while not done():
        if watch is not None:
            watch.look()
        if lane.state is State.FAILED or _now() >= end:
            return done()
        await asyncio.sleep(interval)
    return True


async def measure(lab: Lab, lane: Lane, plan: Plan, progress: Progress) -> Result:
    """Measure one lane of a running lab, from its start to its end.

    Every figure that the lane's worker or the system gave is in the result; a lane that failed or that a
    wall held back says so in ``state`` and ``reason``.
    """
    result = Result(lane.engine.name, traced=lab.settings.trace, gc=lab.settings.gc, tasks=plan.tasks)
    nap = 1 / lab.hz / 2
    lab.switch(lane, True)
    await _until(lambda: lane.state not in COMING, lane, None, math.inf, nap)
    if lane.on:
        await _measure_running(lab, lane, plan, progress, result, nap)
    if lane.ready is not None:
        result.runtime, result.flags = lane.ready.runtime, list(lane.flags)
    if lane.state is State.FAILED:
        result.state, result.reason = "failed", lane.reason
    lab.switch(lane, False)
    await _until(lambda: lane.idle, lane, None, 10.0, nap)
    return result


async def _measure_running(
    lab: Lab, lane: Lane, plan: Plan, progress: Progress, result: Result, nap: float
) -> None:
    watch = Watch(lane)
    await asyncio.sleep(SETTLE)
    if not lane.on:
        return  # a target would start another worker
    watch.idle_traced = lane.tick.traced if lane.tick else None
    lab.set_target(lane, plan.tasks)
    result.idle_rss = lane.meter.idle_rss

    progress(f"starting {format_count(plan.tasks)} tasks")
    met = await _until(
        lambda: lane.reached is not None or lane.limit is not None, lane, watch, GROW_LIMIT, nap
    )
    reached = lane.reached
    if reached is not None and reached.created:
        result.create_seconds = reached.seconds
        result.create_rate = reached.created / max(reached.seconds, 1e-6)
    standing = reached.live if reached else lane.live
    progress(f"holding {format_count(standing)} for {format_seconds(plan.seconds)}")
    await _until(lambda: False, lane, watch, plan.seconds + 2 / lab.hz, nap)
    if lane.limit is not None:
        result.state, result.reason = "limited", name_wall(lane.limit)
    elif not met:
        result.state, result.reason = "limited", f"not all had started within {format_seconds(GROW_LIMIT)}"

    if lane.on:
        progress("stopping")
        await _stop(lab, lane, watch, result, nap)
    result.peak_rss, result.peak_live = lane.exact_peak_rss(), lane.peak_live
    watch.summarize(result)


async def _stop(lab: Lab, lane: Lane, watch: Watch, result: Result, nap: float) -> None:
    """Have all tasks end, and see how long that takes and what memory stays."""
    lab.set_target(lane, 0)
    live, moved_at = lane.live, _now()

    def over() -> bool:
        nonlocal live, moved_at
        if lane.live != live:
            live, moved_at = lane.live, _now()
        return lane.reached is not None or _now() > moved_at + STUCK

    await _until(over, lane, watch, math.inf, nap)
    if lane.reached is not None:
        result.stop_seconds = lane.reached.seconds
    await _until(lambda: False, lane, watch, SETTLE, nap)
    if lane.reading is not None:
        result.retained_rss = lane.reading.rss


async def run(
    make_lab: Callable[[Sequence[Engine]], Lab],
    engines: Sequence[Engine],
    plan: Plan,
    together: bool,
    progress: Callable[[Lab, str, str], None],
) -> tuple[list[Result], list[Event]]:
    """Measure each engine alone, one after another, or all ``together``.

    Args:
        make_lab: makes a lab for some engines.
        engines: rows of the catalog.
        plan: what to measure.
        together: all at the same time.
        progress: is told the lab, a lane's name, and what it is doing.

    Returns:
        One result an engine, and what happened.
    """
    results: list[Result] = []
    events: list[Event] = []
    for group in [list(engines)] if together else [[engine] for engine in engines]:
        lab = make_lab(group)
        try:
            # A group of tasks, so that nobody waits for a lab that has broken down.
            async with asyncio.TaskGroup() as tasks:
                clock = tasks.create_task(lab.run())
                measured = [
                    tasks.create_task(measure(lab, lane, plan, partial(progress, lab, lane.engine.name)))
                    for lane in lab.lanes
                ]
                results += await asyncio.gather(*measured)
                clock.cancel()
        finally:
            await lab.close()
        events += lab.events.since(0)
    return results, events


def as_json(results: Sequence[Result], workload: str) -> dict[str, object]:
    """Give the object that ``concwatch run --json`` prints."""
    return {
        "concwatch": program_version(),
        "machine": describe_machine(),
        "workload": workload,
        "lanes": [asdict(result) for result in results],
    }
