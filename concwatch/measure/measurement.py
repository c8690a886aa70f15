"""One measurement: a fresh worker taken through idle, growth, hold, end and what is retained."""

import asyncio
import math
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

from concwatch.lab.lab import Lab
from concwatch.lab.lane import Lane
from concwatch.lab.lane_state import COMING
from concwatch.lab.pages import page_problem
from concwatch.lab.snapshot import Sample, Snapshot
from concwatch.links.messages import Tick
from concwatch.measure.figures import read
from concwatch.measure.limited import limited_by
from concwatch.measure.result import Outcome, Plan, Result
from concwatch.units import format_count, format_seconds
from concwatch.worker.burst import Burst

SETTLE = 0.5
"""Seconds of idling before the first task, and again after the last one's end."""

GROW_LIMIT = 600.0
"""Seconds in which all tasks must have been created; a target that takes longer is given up."""

LONGEST_BURST = 1_800.0
"""Seconds after which a burst that has not ended is given up."""

STUCK = 10.0
"""Seconds without any task ending after which those that do not stop are left to the end of the worker."""


Progress = Callable[[str], None]

T = TypeVar("T")


def _now() -> float:
    return asyncio.get_running_loop().time()


def _has_news(lane: Lane, sample: Sample, tick: Tick | None) -> bool:
    return lane.sample != sample and lane.worker.tally.tick is not tick


class Measurement:
    """Takes one lane of a running lab through one plan; what is known so far is in ``result`` at any time."""

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
        self._nap = 0.1 / lab.hz
        self._stopping = False
        self._broke_off = ""

    async def run(self) -> Result:
        """Measure from the worker's start to its end.

        Whatever the worker or the system said is in the result; one that failed or that something held back
        says so in its outcome and reason.
        """
        lab, lane, result = self._lab, self._lane, self.result
        began = _now()
        lab.observers.append(self._follow)
        lab.switch(lane, True)
        try:
            await self._until(lambda: lane.state not in COMING)
            if lane.on:
                await self._measure()
            self._conclude()
            lab.switch(lane, False)
            await self._until(lambda: lane.idle, 10.0, failed=True)
        finally:
            lab.observers.remove(self._follow)
            if result.held and result.last:
                result.figures = read(result.held, result.last, self._plan.burst is not None)
            result.seconds = _now() - began
        return result

    async def _measure(self) -> None:
        lab, lane, plan, result = self._lab, self._lane, self._plan, self.result
        await asyncio.sleep(SETTLE)
        problem = await page_problem(lab.settings.page)
        if problem:
            lane.worker.fail(problem)
        if not lane.on:
            return  # a target would start another worker
        self._describe()
        asked, clock = _now(), lab.clock()
        if plan.burst:
            await self._burst(plan.burst)
        else:
            await self._hold()
        result.own_seconds = _now() - asked
        times, values = lane.series.since("rss", clock)
        result.trail = [
            (round(time - clock, 3), int(rss))
            for time, rss in zip(times, values, strict=True)
            if math.isfinite(rss)
        ]
        if plan.stop and not plan.burst and lane.on:
            self._progress("stopping")
            await self._stop()

    async def _burst(self, burst: Burst) -> None:
        lane = self._lane
        self._lane.worker.run_burst(burst)
        ended = await self._until(
            lambda: lane.worker.tally.burst is not None or bool(lane.worker.burst_refused), LONGEST_BURST
        )
        if not ended:
            self._broke_off = f"not over within {format_seconds(LONGEST_BURST)}: given up"
        elif lane.worker.burst_refused:
            self._broke_off = lane.worker.burst_refused
        elif lane.worker.tally.burst is not None:
            self.result.live = lane.worker.tally.burst.live
        await self._next_sample()  # with the tick that follows a burst's report

    async def _hold(self) -> None:
        lab, lane, plan = self._lab, self._lane, self._plan
        lab.set_target(lane, plan.tasks)
        self._progress(f"starting {format_count(plan.tasks)} tasks")
        enough: list[str] = []

        def over() -> bool:
            enough[:] = filter(None, [plan.enough(lane)])
            return bool(enough) or lane.worker.goal.reached is not None or lane.worker.goal.limit is not None

        grown = await self._until(over, GROW_LIMIT)
        if not grown and lane.on:
            enough.append(f"not all had started within {format_seconds(GROW_LIMIT)}")
        self._broke_off = "".join(enough)
        standing = lane.worker.goal.reached.live if lane.worker.goal.reached else lane.live
        self._progress(f"holding {format_count(standing)} for {format_seconds(plan.seconds)}")
        await self._until(lambda: False, plan.seconds)
        await self._next_sample()
        self.result.live = lane.live

    async def _stop(self) -> None:
        """Have all tasks end, and see how long that takes and what memory stays."""
        lane, self._stopping = self._lane, True
        self._lab.set_target(lane, 0)
        live, limit = lane.live, _now() + STUCK

        def over() -> bool:
            nonlocal live, limit
            if lane.live != live:
                live, limit = lane.live, _now() + STUCK
            return lane.worker.goal.reached is not None or _now() > limit

        await self._until(over)
        await self._until(lambda: False, SETTLE)

    def _conclude(self) -> None:
        """Note how it ended."""
        lane, result, asked = self._lane, self.result, self._plan.tasks
        self._describe()
        failed = result.last.failed if result.last else 0
        peak, held = lane.worker.tally.peak_live, result.held  # a target of none takes the wall off
        limit = self._broke_off or (held.status.wall_text if held else "")
        result.problems = {}
        if lane.state.broken:
            result.problems[Outcome.FAILED] = lane.worker.reason
        if failed:
            result.problems[Outcome.FAILING] = self._why_failing(failed)
        if limit:
            result.problems[Outcome.LIMITED] = limit
        elif peak < asked and not self._plan.burst:
            what = f"at most {format_count(peak)} of {format_count(asked)} tasks were live at once"
            why = f": {result.limited_by}" if result.limited_by else ""
            result.problems[Outcome.SHORT] = what + why

    def _why_failing(self, failed: int) -> str:
        self._lab.pages.watch()  # that its server has died says more than that it could not be reached
        errors = [event for event in self._lab.events.since(0) if event.severity == "error"]
        found = [event for name in ("", self._lane.engine.name) for event in errors if event.lane == name]
        why = f": {found[0].text.splitlines()[0]}" if found else ""
        return f"{format_count(failed)} tasks failed{why}"

    def _describe(self) -> None:
        ready, result = self._lane.worker.tally.ready, self.result
        if ready is not None:
            result.runtime, result.flags = ready.runtime, list(self._lane.worker.tally.flags)

    def _follow(self, snapshot: Snapshot) -> None:
        """Keep the lane as it is at a step of the lab, as long as its worker tells anything."""
        lane = snapshot.lanes[self._lane.number]
        if not lane.on or lane.sample.live is None:
            return
        self.result.last = lane
        if not self._stopping:
            self.result.held, self.result.limited_by = lane, limited_by(lane, snapshot)

    async def _next_sample(self) -> None:
        """Wait for one more tick and one more sample, so that what has been reported by now is in them."""
        lane = self._lane
        for _ in range(2):
            await self._until(partial(_has_news, lane, lane.sample, lane.worker.tally.tick), 5.0)

    async def _until(self, done: Callable[[], bool], limit: float = math.inf, failed: bool = False) -> bool:
        """Wait until ``done``, a failure, or the end of ``limit`` seconds; return whether it was done."""
        end = _now() + limit
        while not done():
            if (self._lane.state.broken and not failed) or _now() >= end:
                return done()
            await asyncio.sleep(self._nap)
        return True


async def measure(
    lab: Lab,
    plans: Sequence[Plan],
    progress: Callable[[str, str], None] = lambda lane, text: None,
    keep: Callable[[Result], None] = lambda result: None,
) -> list[Result]:
    """Measure every lane of a lab at the same time; nobody else steps it, and it is closed in the end.

    Args:
        lab: with one lane a plan.
        plans: in the order of its lanes.
        progress: called with a lane's name, and what it is doing.
        keep: called with each result as its measurement begins, to be read also when this is cancelled.

    Raises:
        Exception: whatever breaks the lab itself.
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
    """Run ``work`` while a lab steps, which is closed then; return what the work does.

    Raises:
        Exception: whatever breaks the lab, or the work.
    """
    loop = asyncio.get_running_loop()
    clock, working = loop.create_task(lab.run()), loop.create_task(work)
    try:
        await asyncio.wait((clock, working), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            clock.result()  # the lab has broken down: nobody is to wait for it
        return await working
    finally:
        await _close(lab, clock, working)


async def _close(lab: Lab, *tasks: "asyncio.Task[Any]") -> None:
    """Cancel ``tasks`` and close the lab; whoever cancels this has its workers killed, and none is left."""

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
