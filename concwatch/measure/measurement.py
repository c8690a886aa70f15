"""A measurement: a fresh worker idles, creates its tasks, holds them, ends them, and idles again."""

import asyncio
import math
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

from msgspec import structs

from concwatch.measure.followed_lane import FollowedLane
from concwatch.measure.limited import limited_by, never_yields
from concwatch.measure.result import Outcome, Plan, Result
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.lanes.lane import Lane
from concwatch.monitor.lanes.servers import server_problem
from concwatch.monitor.metrics.anatomy import task_anatomy
from concwatch.monitor.metrics.metrics import LaneSnapshot, measured_values
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.metrics.state import PENDING
from concwatch.monitor.verdicts.failures import failures_text
from concwatch.portable.protocol.units import format_count, format_seconds
from concwatch.portable.worker.burst import Burst

SETTLE = 0.5
"""Seconds of idling before the first task, and again after the last has ended."""

GROW_LIMIT = 600.0
"""Seconds in which all tasks must have been created."""

BURST_LIMIT = 1_800.0
"""Seconds in which a burst must have ended."""

ANATOMY_LIMIT = 30.0
"""Seconds in which a worker must have said what a task consists of."""

STOP_LIMIT = 10.0
"""Seconds without any task ending after which the measurement no longer waits for the rest."""


Progress = Callable[[str], None]

T = TypeVar("T")


def _now() -> float:
    return asyncio.get_running_loop().time()


class Measurement(FollowedLane):
    """Runs one plan on one lane of a running lab. ``result`` holds what has been measured so far."""

    def __init__(self, lab: Lab, lane: Lane, plan: Plan, progress: Progress = lambda text: None) -> None:
        self.result = Result(
            lane.engine.name,
            plan.tasks,
            {Outcome.INTERRUPTED: "before its end"},
            traced=lab.settings.current.trace,
            gc=lab.settings.current.gc,
        )
        super().__init__(lab, lane)
        self._plan = plan
        self._progress = progress
        self._stopping = False
        self._limit = ""
        self._blocked: str | None = None

    async def run(self) -> Result:
        """Start the worker, measure, and end the worker. A failure is in the result, not raised."""
        lab, lane, result = self.lab, self.lane, self.result
        began = _now()
        lab.observers.append(self.observe)
        lab.switch(lane, True)
        try:
            await self.until(lambda now: now.status.state not in PENDING)
            if self.look().on:
                await self._measure()
            self._conclude(self.look())
            lab.switch(lane, False)
            await self.until(lambda now: now.idle, 10.0, failed=True)
            ended = self.look().status
            if ended.state.broken:  # perhaps only in the tear-down of the user's function
                result.problems = {Outcome.FAILED: ended.reason, **result.problems}
        finally:
            lab.observers.remove(self.observe)
            if result.held and result.last:
                result.metrics = measured_values(result.held, result.last, self._plan.burst is not None)
            result.seconds = _now() - began
        return result

    async def _measure(self) -> None:
        lab, lane, plan, result = self.lab, self.lane, self._plan, self.result
        await asyncio.sleep(SETTLE)
        problem = await server_problem(lab.settings.current)
        if problem:
            lane.worker.fail(problem)
        if not self.look().on:
            return  # setting a target would start another worker
        self._describe(self.seen)
        started, clock = _now(), lab.clock()
        if plan.burst:
            await self._burst(plan.burst)
        else:
            await self._hold()
        result.own_seconds = _now() - started
        result.rss_curve = rss_curve(lab, lane, clock)
        if (
            plan.stop and not plan.burst and not self._blocked and self.look().on
        ):  # a blocked loop ends nothing
            self._progress("stopping")
            await self._stop()

    async def _burst(self, burst: Burst) -> None:
        self.lane.worker.target.run_burst(burst)
        ended = await self.until(lambda now: now.status.burst is not None or bool(now.refused), BURST_LIMIT)
        lane = self.seen
        if not ended:
            self._limit = f"the burst did not end within {format_seconds(BURST_LIMIT)}"
        elif lane.refused:
            self._limit = lane.refused
        elif lane.status.burst is not None:
            self.result.live = lane.status.burst.live
        await self.next_sample()  # the tick after the report of the burst

    async def _hold(self) -> None:
        plan = self._plan
        self.lab.set_target(self.lane, plan.tasks)
        self._progress(f"starting {format_count(plan.tasks)} tasks")
        enough: list[str] = []

        def over(now: LaneSnapshot) -> bool:
            enough[:] = filter(None, [plan.enough(now) or self._blocked])
            return bool(enough) or now.target.reached is not None or now.target.limit is not None

        grown = await self.until(over, GROW_LIMIT)
        lane = self.seen
        if not grown and lane.on:
            enough.append(f"not all tasks started within {format_seconds(GROW_LIMIT)}")
        self._limit = "".join(enough)
        live = lane.target.reached.live if lane.target.reached else lane.live
        self._progress(f"holding {format_count(live)} for {format_seconds(plan.seconds)}")
        await self.until(lambda _: False, plan.seconds)
        await self.next_sample()
        self.result.live = self.seen.live
        if plan.anatomy and self.look().on:
            await self._take_anatomy()

    async def _take_anatomy(self) -> None:
        """Ask what a task consists of; that takes memory, so no figure is taken from then on."""
        self._stopping = True
        held, lane = self.result.held, self.lane
        if held is None:
            return
        if lane.worker.can("anatomy"):
            self._progress("looking at what a task consists of")
            lane.worker.ask_anatomy()
            answered = await self.until(
                lambda now: now.anatomy is not None or bool(now.anatomy_refused), ANATOMY_LIMIT
            )
            held = structs.replace(held, anatomy=self.seen.anatomy)
            late = "" if answered else f"its worker did not answer within {format_seconds(ANATOMY_LIMIT)}"
            self.result.anatomy_refused = self.seen.anatomy_refused or late
        self.result.anatomy = task_anatomy(held)

    async def _stop(self) -> None:
        """End all tasks. Measure how long that takes and how much memory is retained."""
        self._stopping = True
        self.lab.set_target(self.lane, 0)
        live, limit = self.seen.live, _now() + STOP_LIMIT

        def over(now: LaneSnapshot) -> bool:
            nonlocal live, limit
            if now.live != live:
                live, limit = now.live, _now() + STOP_LIMIT
            return now.target.reached is not None or _now() > limit

        await self.until(over)
        await self.until(lambda _: False, SETTLE)

    def _conclude(self, lane: LaneSnapshot) -> None:
        """Set the outcome."""
        result, planned, status = self.result, self._plan.tasks, lane.status
        self._describe(lane)
        result.failures = status.failures
        failed = result.last.failed if result.last else 0
        peak, held = status.peak_live, result.held  # not `last`: a target of 0 clears the limit
        limit = self._limit or (held.status.limit_text if held else "")
        if self._blocked:  # as it was seen last: more tasks may have started since growth was given up
            limit = result.limited_by = self._blocked
        result.problems = {}
        if status.state.broken:
            result.problems[Outcome.FAILED] = status.reason
        if failed:
            result.problems[Outcome.FAILING] = self._why_failing(failed)
        if limit:
            result.problems[Outcome.LIMITED] = limit
        elif peak < planned and not self._plan.burst:
            what = f"at most {format_count(peak)} of {format_count(planned)} tasks were live at once"
            why = f": {result.limited_by}" if result.limited_by else ""
            result.problems[Outcome.SHORT] = what + why

    def _why_failing(self, failed: int) -> str:
        self.lab.servers.check()  # a dead server is a better reason than a failed connection
        errors = [event for event in self.lab.events.since(0) if event.severity == "error"]
        found = {event.lane: event.text.splitlines()[0] for event in reversed(errors)}
        kinds = failures_text(self.result.failures)
        why = found.get("") or kinds or found.get(self.lane.engine.name)
        return f"{format_count(failed)} tasks failed{f': {why}' if why else ''}"

    def _describe(self, lane: LaneSnapshot) -> None:
        if lane.status.runtime is not None:
            self.result.runtime, self.result.flags = lane.status.runtime, list(lane.status.flags)

    def observe(self, snapshot: Snapshot) -> None:
        """Store the lane of each snapshot, as long as its worker reports; wake `_until`."""
        super().observe(snapshot)
        lane = self.seen
        if not lane.on or lane.sample.live is None:
            return
        self.result.last = lane
        if not self._stopping:
            reached = lane.status.peak_live >= self._plan.tasks
            limit = limited_by(lane, snapshot, reached)
            self.result.held = lane
            if limit or reached:  # else what limited it last is why it has not reached its target
                self.result.limited_by = limit
            self._blocked = never_yields(lane, snapshot) or self._blocked


def rss_curve(lab: Lab, lane: Lane, since: float) -> list[tuple[float, int]]:
    """Return the RSS of a lane over time: seconds since a time on the lab's clock, and bytes."""
    times, values = lab.snapshot().series[lane.number].since("rss", since)
    return [
        (round(time - since, 3), int(rss))
        for time, rss in zip(times, values, strict=True)
        if math.isfinite(rss)
    ]


async def measure(
    lab: Lab,
    plans: Sequence[Plan],
    progress: Callable[[str, str], None] = lambda lane, text: None,
    keep: Callable[[Result], None] = lambda result: None,
) -> list[Result]:
    """Measure all lanes of a lab at the same time, then close the lab.

    Args:
        lab: a lab that nothing else runs, with one lane for each plan.
        plans: the plans, in the order of the lanes.
        progress: called with a lane's name and what it is doing.
        keep: called with each result as its measurement starts; the result stays valid if this is cancelled.

    Raises:
        Exception: an error of the lab itself.
    """
    measurements = [
        Measurement(lab, lane, plan, partial(progress, lane.engine.name))
        for lane, plan in zip(lab.lanes, plans, strict=True)
    ]
    for each in measurements:
        keep(each.result)

    async def run_all() -> list[Result]:
        return await asyncio.gather(*(each.run() for each in measurements))

    return await while_stepping(lab, run_all())


async def while_stepping(lab: Lab, work: Coroutine[None, None, T]) -> T:
    """Run ``work`` while the lab runs, then close the lab. Return the result of ``work``.

    Raises:
        Exception: an error of the lab, or of ``work``.
    """
    loop = asyncio.get_running_loop()
    clock, working = loop.create_task(lab.run()), loop.create_task(work)
    try:
        await asyncio.wait((clock, working), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            clock.result()  # raises the error of the lab, so that nothing waits for it
        return await working
    finally:
        await _close(lab, clock, working)


async def _close(lab: Lab, *tasks: "asyncio.Task[Any]") -> None:
    """Cancel ``tasks`` and close the lab. If this is cancelled, kill the workers; none is left running."""

    async def close() -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await lab.close()

    closing, cancelled = asyncio.get_running_loop().create_task(close()), False
    while not closing.done():
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:
            cancelled = True
            lab.kill()
    closing.result()
    if cancelled:
        raise asyncio.CancelledError
