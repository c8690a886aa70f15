"""Really going there: as many threads as this machine lets stand, held against the forecast, then ended."""

import asyncio
import math
from collections.abc import Callable

from msgspec import Struct

from concwatch.lab.forecast import Fit
from concwatch.lab.lab import Lab
from concwatch.lab.lane import Lane
from concwatch.measure.measurement import measure
from concwatch.measure.result import Outcome, Plan
from concwatch.system.memory import memory_now
from concwatch.system.walls import count_maps
from concwatch.units import format_bytes, format_count, format_seconds

BEYOND = 1.1
"""How much more than the forecast is asked for, so that the wall is met."""

MOST_THREADS = 40_000
"""Threads that are never exceeded."""

TOLERATED = 0.1
"""Share of the forecast that may be missing."""

TIME_LIMIT = 120.0
"""Seconds in which all must stand."""

MEMORY_SPARED = 0.2
"""Share of the memory available before that is left alone: a thread takes more of it than its RSS."""

STEPS = 10
"""How often it is told how far it is."""

ENGINE = "threads"


class Proof(Struct, frozen=True):
    """What came out; bytes, seconds, threads."""

    forecast: int
    forecast_wall: str
    asked: int
    """How many were asked for."""
    standing: int
    wall: str | None
    """What was hit; None when all that was asked for stood."""
    wall_value: int | None
    difference: float
    """What stood over what was to be expected, less 1: -0.1 is 10 % fewer."""
    holds: bool
    """Whether the forecast was reached, but for a tenth at most."""
    seconds: float | None
    """How long it took until they stood."""
    rss_per_thread: float | None
    memory_per_thread: float | None
    """What the machine has available less, a thread: its stack in the kernel and page tables included."""
    maps_per_thread: float | None
    """Memory maps; None where the system does not tell."""
    reason: str | None
    """Why it broke off; None when it did not."""
    ended: bool = False
    """Whether the worker has ended, so that nothing is left of it."""

    @property
    def expected(self) -> int:
        """How many were to be expected of those asked for."""
        return min(self.forecast, self.asked)


class _Look(Struct, frozen=True):
    """The worker and the machine at one moment."""

    at: float
    """Seconds."""
    maps: int
    available: int
    """Bytes of memory."""


def most_asked(forecast: Fit) -> int:
    """Return how many threads to ask for."""
    return min(math.ceil(forecast.tasks * BEYOND), MOST_THREADS)


async def prove(lab: Lab, forecast: Fit, tell: Callable[[str], None]) -> Proof:
    """Have a worker start threads until a wall stops it, and end it.

    Args:
        lab: a lab with the one lane of the engine `ENGINE`, that nobody runs yet; it is closed in any case.
        forecast: what is to be proven.
        tell: is told what is being done.
    """
    lane, asked, told = lab.lanes[0], most_asked(forecast), -1
    looks: list[_Look] = []
    clock = asyncio.get_running_loop().time

    def look(lane: Lane) -> None:
        maps = count_maps(str(lane.worker.tally.ready.pid)) if lane.worker.tally.ready else 0
        looks.append(_Look(clock(), maps, memory_now().available))

    def enough(lane: Lane) -> str | None:
        nonlocal told
        if not looks:
            look(lane)
        if lane.live * STEPS // max(1, forecast.tasks) > told:
            told = lane.live * STEPS // max(1, forecast.tasks)
            tell(f"{format_count(lane.live)} of {format_count(forecast.tasks)} forecast")
        if clock() - looks[0].at > TIME_LIMIT:
            return f"not all stood within {format_seconds(TIME_LIMIT)}"
        left = memory_now().available
        spared = looks[0].available * MEMORY_SPARED
        return f"only {format_bytes(left)} of memory were left" if left < spared else None

    def at_most(lane: Lane) -> None:
        if lane.on:
            look(lane)
        tell("ending them")

    # Nothing is held: for as long as they stand other programs may not get a thread.
    plan = Plan(asked, 0.0, stop=False, enough=enough, at_most=at_most)
    tell("starting a worker")
    (result,) = await measure(lab, [plan])
    limit, standing = lane.worker.limit, lane.worker.tally.peak_live
    expected = max(1, min(forecast.tasks, asked))
    before, now = looks if len(looks) == 2 and standing else (None, None)
    return Proof(
        forecast=forecast.tasks,
        forecast_wall=forecast.wall,
        asked=asked,
        standing=standing,
        wall=limit.wall if limit else None,
        wall_value=limit.value if limit else None,
        difference=standing / expected - 1,
        holds=standing >= expected * (1 - TOLERATED),
        seconds=now.at - before.at if now and before else None,
        rss_per_thread=result.figures.get("rss_per_task"),
        memory_per_thread=(before.available - now.available) / standing if now and before else None,
        maps_per_thread=(now.maps - before.maps) / standing if now and before and now.maps else None,
        reason=result.reason if not limit and result.outcome in (Outcome.FAILED, Outcome.LIMITED) else None,
        ended=lane.idle,
    )
