"""Start as many threads as this machine lets stand, hold that against the forecast, and end them."""

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
from concwatch.units import format_bytes, format_count, format_seconds

BEYOND = 1.1
"""Threads asked for over the forecast, so that the wall is met."""

MOST_THREADS = 40_000
"""Threads that are never exceeded."""

TOLERATED = 0.1
"""Share of the forecast that may be missing."""

TIME_LIMIT = 120.0
"""Seconds in which all must stand."""

MEMORY_SPARED = 0.2
"""Share of the memory available before that is left alone: a thread takes more of it than its RSS."""

STEPS = 10
"""How many times progress is reported."""

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
    reason: str | None
    """Why it broke off; None when it did not."""
    ended: bool
    """Whether the worker has ended, so that nothing is left of it."""

    @property
    def expected(self) -> int:
        """How many were to be expected of those asked for."""
        return min(self.forecast, self.asked)


def most_asked(forecast: Fit) -> int:
    """Return how many threads to ask for."""
    return min(math.ceil(forecast.tasks * BEYOND), MOST_THREADS)


async def prove(lab: Lab, forecast: Fit, report: Callable[[str], None]) -> Proof:
    """Have a worker start threads until a wall stops it, and end it.

    Args:
        lab: a lab with the one lane of the engine `ENGINE`, that nobody runs yet; it is closed in any case.
        forecast: what is to be proven.
        report: is called with what is being done.
    """
    lane, asked = lab.lanes[0], most_asked(forecast)
    clock, looks = asyncio.get_running_loop().time, list[float]()  # seconds, while threads are started
    available, reported = memory_now().available, -1

    def enough(lane: Lane) -> str | None:
        nonlocal reported
        looks.append(clock())
        step = lane.live * STEPS // max(1, forecast.tasks)
        if step > reported:
            reported = step
            report(f"{format_count(lane.live)} of {format_count(forecast.tasks)} forecast")
        if looks[-1] - looks[0] > TIME_LIMIT:
            return f"not all stood within {format_seconds(TIME_LIMIT)}"
        left = memory_now().available
        return f"only {format_bytes(left)} of memory were left" if left < available * MEMORY_SPARED else None

    report("starting a worker")
    # Nothing is held: for as long as they stand other programs may not get a thread.
    (result,) = await measure(lab, [Plan(asked, 0.0, stop=False, enough=enough)])
    limit, standing = lane.worker.goal.limit, lane.worker.tally.peak_live
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
        seconds=looks[-1] - looks[0] if standing else None,
        rss_per_thread=result.figures.get("rss_per_task"),
        reason=result.reason if not limit and result.outcome in (Outcome.FAILED, Outcome.LIMITED) else None,
        ended=lane.idle,
    )
