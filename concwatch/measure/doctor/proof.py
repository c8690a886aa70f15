"""The test of a forecast: start as many threads as this machine allows, compare, and end them."""

import asyncio
import math
from collections.abc import Callable

from msgspec import Struct

from concwatch.measure.measurement import measure
from concwatch.measure.result import Outcome, Plan
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.fit import Fit
from concwatch.monitor.metrics.metrics import LaneSnapshot
from concwatch.portable.protocol.units import format_bytes, format_count, format_seconds
from concwatch.system.memory import memory_now

OVERSHOOT = 1.1
"""The target as a multiple of the forecast, so that the limit is reached."""

MAX_THREADS = 40_000
"""The largest target."""

TOLERANCE = 0.1
"""Share of the forecast that may be missing."""

TIME_LIMIT = 120.0
"""Seconds in which all threads must have started."""

MEMORY_RESERVE = 0.2
"""Share of the available memory to leave free for other programs."""

STEPS = 10
"""How many times progress is reported."""

ENGINE = "threads"


class Proof(
    Struct,
    frozen=True,
    rename={"forecast_limit": "forecast_wall", "limit": "wall", "limit_value": "wall_value"},
):
    """The result; bytes, seconds, threads."""

    forecast: int
    forecast_limit: str
    asked: int
    """The target."""
    standing: int
    """How many were live at once."""
    limit: str | None
    """The limit that was reached; None if the target was reached."""
    limit_value: int | None
    difference: float
    """Live threads divided by those expected, minus 1: -0.1 is 10 % fewer."""
    holds: bool
    """Whether at least 90 % of the forecast were live."""
    seconds: float | None
    """How long they took to start."""
    memory_per_thread: float | None
    reason: str | None
    """Why the test was stopped early; None if it was not."""
    ended: bool
    """Whether the worker has ended."""

    @property
    def expected(self) -> int:
        """The forecast, or the target if that is lower."""
        return min(self.forecast, self.asked)


def thread_target(forecast: Fit) -> int:
    """Return how many threads to start."""
    return min(math.ceil(forecast.tasks * OVERSHOOT), MAX_THREADS)


async def prove(lab: Lab, forecast: Fit, report: Callable[[str], None]) -> Proof:
    """Let a worker start threads until a limit stops it, then end it.

    Args:
        lab: a lab, not yet running, with one lane of the engine `ENGINE`. It is closed in any case.
        forecast: the forecast to test.
        report: called with a description of each step.
    """
    asked = thread_target(forecast)
    clock, times = asyncio.get_running_loop().time, list[float]()  # seconds, one for each step of the growth
    available, reported = memory_now().available, -1

    def enough(lane: LaneSnapshot) -> str | None:
        nonlocal reported
        times.append(clock())
        step = lane.live * STEPS // max(1, forecast.tasks)
        if step > reported:
            reported = step
            report(f"{format_count(lane.live)} of {format_count(forecast.tasks)} forecast")
        if times[-1] - times[0] > TIME_LIMIT:
            return f"not all threads started within {format_seconds(TIME_LIMIT)}"
        left = memory_now().available
        return f"only {format_bytes(left)} of memory are left" if left < available * MEMORY_RESERVE else None

    report("starting a worker")
    # The threads are not held: while they are live, other programs may be unable to start one.
    (result,) = await measure(lab, [Plan(asked, 0.0, stop=False, enough=enough)])
    (lane,) = lab.snapshot().lanes
    limit, standing = lane.target.limit, lane.status.peak_live
    expected = max(1, min(forecast.tasks, asked))
    return Proof(
        forecast=forecast.tasks,
        forecast_limit=forecast.limit,
        asked=asked,
        standing=standing,
        limit=limit.name if limit else None,
        limit_value=limit.value if limit else None,
        difference=standing / expected - 1,
        holds=standing >= expected * (1 - TOLERANCE),
        seconds=times[-1] - times[0] if standing else None,
        memory_per_thread=result.metrics.get("memory_per_task"),
        reason=result.reason if not limit and result.outcome in (Outcome.FAILED, Outcome.LIMITED) else None,
        ended=lane.idle,
    )
