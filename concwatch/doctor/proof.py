"""Really going there: as many threads as this machine lets stand, held against the forecast, then ended."""

import asyncio
import math
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from concwatch.lab.lab import Lab
from concwatch.lab.lane import COMING, Lane
from concwatch.lab.limits import Fit, memory_now
from concwatch.units import format_bytes, format_count, format_seconds
from concwatch.worker.walls import count_maps

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

LOOK = 0.05
"""Seconds between two looks."""

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


def most_asked(forecast: Fit) -> int:
    """Tell how many threads to ask for."""
    return min(math.ceil(forecast.tasks * BEYOND), MOST_THREADS)


async def prove(lab: Lab, forecast: Fit, tell: Callable[[str], None]) -> Proof:
    """Have a worker start threads until a wall stops it, and end it.

    Args:
        lab: a lab with the one lane of the engine `ENGINE`, that nobody runs yet; it is closed in any case.
        forecast: what is to be proven.
        tell: is told what is being done.
    """
    try:
        async with asyncio.TaskGroup() as tasks:
            clock = tasks.create_task(lab.run())
            proof = await _go(lab, lab.lanes[0], forecast, tell)
            clock.cancel()
    finally:
        tell("ending them")
        await lab.close()
    return replace(proof, ended=lab.lanes[0].idle)


async def _go(lab: Lab, lane: Lane, forecast: Fit, tell: Callable[[str], None]) -> Proof:
    asked = most_asked(forecast)
    tell("starting a worker")
    lab.switch(lane, True)
    await _until(lambda: lane.state not in COMING)
    before = _Look.at(lane)
    if not lane.on:
        return _conclude(forecast, asked, lane.reason)
    clock = asyncio.get_running_loop().time
    began, told = clock(), -1
    broke_off: list[str] = []

    def over() -> bool:
        nonlocal told
        if lane.live * STEPS // max(1, forecast.tasks) > told:
            told = lane.live * STEPS // max(1, forecast.tasks)
            tell(f"{format_count(lane.live)} of {format_count(forecast.tasks)} forecast")
        broke_off[:] = _why_enough(clock() - began, before)
        return bool(broke_off) or lane.limit is not None or lane.reached is not None or not lane.on

    lab.set_target(lane, asked)
    await _until(over)
    seconds = clock() - began
    # At once, since for as long as they stand other programs may not get a thread.
    return _conclude(forecast, asked, *broke_off, lane=lane, before=before, seconds=seconds)


class _Look(Struct, frozen=True):
    """The worker and the machine at one moment."""

    rss: int
    maps: int
    available: int

    @classmethod
    def at(cls, lane: Lane) -> "_Look":
        """Look at a lane's worker."""
        return cls(
            rss=lane.reading.rss if lane.reading else 0,
            maps=count_maps(str(lane.ready.pid)) if lane.ready else 0,
            available=memory_now().available,
        )


async def _until(done: Callable[[], bool]) -> None:
    while True:
        if done():
            return
        await asyncio.sleep(LOOK)


def _why_enough(seconds: float, before: _Look) -> list[str]:
    """Say why to break off, if there is a reason."""
    if seconds > TIME_LIMIT:
        return [f"not all stood within {format_seconds(TIME_LIMIT)}"]
    left = memory_now().available
    if left < before.available * MEMORY_SPARED:
        return [f"only {format_bytes(left)} of memory were left"]
    return []


def _conclude(
    forecast: Fit,
    asked: int,
    reason: str | None = None,
    *,
    lane: Lane | None = None,
    before: _Look | None = None,
    seconds: float | None = None,
) -> Proof:
    limit = lane.limit if lane else None
    standing = limit.standing if limit else lane.live if lane else 0
    if lane and not lane.on:
        reason = lane.reason
    now = _Look.at(lane) if lane and before and lane.on and standing else None
    expected = max(1, min(forecast.tasks, asked))
    return Proof(
        forecast=forecast.tasks,
        forecast_wall=forecast.wall,
        asked=asked,
        standing=standing,
        wall=limit.wall if limit else None,
        wall_value=limit.value if limit else None,
        difference=standing / expected - 1,
        holds=standing >= expected * (1 - TOLERATED),
        seconds=seconds,
        rss_per_thread=(now.rss - before.rss) / standing if now and before else None,
        memory_per_thread=(before.available - now.available) / standing if now and before else None,
        maps_per_thread=(now.maps - before.maps) / standing if now and before and now.maps else None,
        reason=reason,
    )
