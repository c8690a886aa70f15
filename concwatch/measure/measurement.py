"""A measurement: a fresh worker idles, creates its tasks, holds them, ends them, and idles again."""

import asyncio
import math
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from concwatch.measure.limited import limited_by, never_yields
from concwatch.measure.result import Outcome, Plan, Result
from concwatch.monitor.lab import Lab
from concwatch.monitor.lane import Lane
from concwatch.monitor.metrics import Sample, measured_values
from concwatch.monitor.pages import page_problem
from concwatch.monitor.snapshot import Snapshot
from concwatch.monitor.state import PENDING
from concwatch.protocol.messages import Tick
from concwatch.protocol.units import format_count, format_seconds
from concwatch.worker.burst import Burst

SETTLE = 0.5
"""Seconds of idling before the first task, and again after the last has ended."""

GROW_LIMIT = 600.0
"""Seconds in which all tasks must have been created."""

BURST_LIMIT = 1_800.0
"""Seconds in which a burst must have ended."""

STOP_LIMIT = 10.0
"""Seconds without any task ending after which the measurement no longer waits for the rest."""


Progress = Callable[[str], None]

T = TypeVar("T")


def _now() -> float:
    return asyncio.get_running_loop().time()


def _is_newer(lane: Lane, sample: Sample, tick: Tick | None) -> bool:
    return lane.sample != sample and lane.stats.tick is not tick


class Measurement:
    """Runs one plan on one lane of a running lab. ``result`` holds what has been measured so far."""

    def __init__(self, lab: Lab, lane: Lane, plan: Plan, progress: Progress = lambda text: None) -> None:
        self.result = Result(
            lane.engine.name,
            plan.tasks,
            {Outcome.INTERRUPTED: "before its end"},
            traced=lab.settings.trace,
            gc=lab.settings.gc,
        )
        self._lab = lab
        self._lane = lane
        self._plan = plan
        self._progress = progress
        self._published = asyncio.Event()
        self._stopping = False
        self._limit = ""
        self._blocked: str | None = None

    async def run(self) -> Result:
        """Start the worker, measure, and end the worker. A failure is in the result, not raised."""
        lab, lane, result = self._lab, self._lane, self.result
        began = _now()
        lab.observers.append(self._observe)
        lab.switch(lane, True)
        try:
            await self._until(lambda: lane.state not in PENDING)
            if lane.on:
                await self._measure()
            self._conclude()
            lab.switch(lane, False)
            await self._until(lambda: lane.idle, 10.0, failed=True)
        finally:
            lab.observers.remove(self._observe)
            if result.held and result.last:
                result.metrics = measured_values(result.held, result.last, self._plan.burst is not None)
            result.seconds = _now() - began
        return result

    async def _measure(self) -> None:
        lab, lane, plan, result = self._lab, self._lane, self._plan, self.result
        await asyncio.sleep(SETTLE)
        problem = await page_problem(lab.settings.page)
        if problem:
            lane.fail(problem)
        if not lane.on:
            return  # setting a target would start another worker
        self._describe()
        started, clock = _now(), lab.clock()
        if plan.burst:
            await self._burst(plan.burst)
        else:
            await self._hold()
        result.own_seconds = _now() - started
        times, values = lane.series.since("rss", clock)
        result.rss_curve = [
            (round(time - clock, 3), int(rss))
            for time, rss in zip(times, values, strict=True)
            if math.isfinite(rss)
        ]
        if plan.stop and not plan.burst and not self._blocked and lane.on:  # a blocked loop ends nothing
            self._progress("stopping")
            await self._stop()

    async def _burst(self, burst: Burst) -> None:
        lane = self._lane
        self._lane.run_burst(burst)
        ended = await self._until(
            lambda: lane.stats.burst is not None or bool(lane.burst_refused), BURST_LIMIT
        )
        if not ended:
            self._limit = f"the burst did not end within {format_seconds(BURST_LIMIT)}"
        elif lane.burst_refused:
            self._limit = lane.burst_refused
        elif lane.stats.burst is not None:
            self.result.live = lane.stats.burst.live
        await self._next_sample()  # the tick after the report of the burst

    async def _hold(self) -> None:
        lab, lane, plan = self._lab, self._lane, self._plan
        lab.set_target(lane, plan.tasks)
        self._progress(f"starting {format_count(plan.tasks)} tasks")
        enough: list[str] = []

        def over() -> bool:
            enough[:] = filter(None, [plan.enough(lane) or self._blocked])
            return bool(enough) or lane.target.reached is not None or lane.target.limit is not None

        grown = await self._until(over, GROW_LIMIT)
        if not grown and lane.on:
            enough.append(f"not all tasks started within {format_seconds(GROW_LIMIT)}")
        self._limit = "".join(enough)
        live = lane.target.reached.live if lane.target.reached else lane.live
        self._progress(f"holding {format_count(live)} for {format_seconds(plan.seconds)}")
        await self._until(lambda: False, plan.seconds)
        await self._next_sample()
        self.result.live = lane.live

    async def _stop(self) -> None:
        """End all tasks. Measure how long that takes and how much memory is retained."""
        lane, self._stopping = self._lane, True
        self._lab.set_target(lane, 0)
        live, limit = lane.live, _now() + STOP_LIMIT

        def over() -> bool:
            nonlocal live, limit
            if lane.live != live:
                live, limit = lane.live, _now() + STOP_LIMIT
            return lane.target.reached is not None or _now() > limit

        await self._until(over)
        await self._until(lambda: False, SETTLE)

    def _conclude(self) -> None:
        """Set the outcome."""
        lane, result, planned = self._lane, self.result, self._plan.tasks
        self._describe()
        failed = result.last.failed if result.last else 0
        peak, held = (
            lane.stats.peak_live,
            result.held,
        )  # not `last`: a target of 0 clears the limit
        limit = self._limit or (held.status.wall_text if held else "")
        result.problems = {}
        if lane.state.broken:
            result.problems[Outcome.FAILED] = lane.reason
        if failed:
            result.problems[Outcome.FAILING] = self._why_failing(failed)
        if limit:
            result.problems[Outcome.LIMITED] = limit
        elif peak < planned and not self._plan.burst:
            what = f"at most {format_count(peak)} of {format_count(planned)} tasks were live at once"
            why = f": {result.limited_by}" if result.limited_by else ""
            result.problems[Outcome.SHORT] = what + why

    def _why_failing(self, failed: int) -> str:
        self._lab.pages.check()  # a dead page server is a better reason than a failed connection
        errors = [event for event in self._lab.events.since(0) if event.severity == "error"]
        found = [event for name in ("", self._lane.engine.name) for event in errors if event.lane == name]
        why = f": {found[0].text.splitlines()[0]}" if found else ""
        return f"{format_count(failed)} tasks failed{why}"

    def _describe(self) -> None:
        ready, result = self._lane.stats.ready, self.result
        if ready is not None:
            result.runtime, result.flags = ready.runtime, list(self._lane.stats.flags)

    def _observe(self, snapshot: Snapshot) -> None:
        """Store the lane of each snapshot, as long as its worker reports; wake `_until`."""
        self._published.set()
        lane = snapshot.lanes[self._lane.number]
        if not lane.on or lane.sample.live is None:
            return
        self.result.last = lane
        if not self._stopping:
            reached = lane.status.peak_live >= self._plan.tasks
            limit = limited_by(lane, snapshot, reached)
            self.result.held = lane
            if limit or reached:  # else what limited it last is why it has not reached its target
                self.result.limited_by = limit
            self._blocked = never_yields(lane, snapshot)

    async def _next_sample(self) -> None:
        """Wait for two more ticks and samples, so that they include everything reported until now."""
        lane = self._lane
        for _ in range(2):
            await self._until(partial(_is_newer, lane, lane.sample, lane.stats.tick), 5.0)

    async def _until(
        self, done: Callable[[], bool], limit: float | None = None, failed: bool = False
    ) -> bool:
        """Wait until ``done()``, for at most ``limit`` seconds. Return whether it was done.

        It is asked after each snapshot. A failure of the lane ends the wait too, unless ``failed``.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(limit):
                while not done() and (failed or not self._lane.state.broken):
                    self._published.clear()
                    await self._published.wait()
        return done()


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
