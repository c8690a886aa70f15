"""The sweep of one engine: throughput and durations at growing numbers of live tasks."""

import asyncio
from collections.abc import Callable, Sequence

from msgspec import structs

from concwatch.links.messages import Failure
from concwatch.measure.answer import LEAST
from concwatch.measure.followed_lane import FollowedLane
from concwatch.measure.limited import MACHINE, limited_by
from concwatch.measure.measurement import SETTLE
from concwatch.measure.sweep.knee import Knee
from concwatch.measure.sweep.ladder import finer, sizes
from concwatch.measure.sweep.sweep_result import KNOWN, POOL_THREADS, TASKS, Step, SweepResult
from concwatch.measure.sweep.throughput import throughput
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.lanes.lane import Lane
from concwatch.monitor.lanes.servers import server_problem
from concwatch.monitor.metrics.metrics import BY_NAME, LaneSnapshot
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.metrics.state import PENDING
from concwatch.monitor.verdicts.failures import failures_since, failures_text
from concwatch.portable.protocol.units import counted, format_count, format_rate, format_seconds

HZ = 25.0
"""Ticks per second. When a task has ended is known to within one tick."""

LEAST_SECONDS = 1.5
"""The least seconds for which a step is measured."""

MOST_LIVES = 3.0
"""A step whose throughput is not known yet is measured for this many lives of a task, if that is longer."""

FALLEN = 0.5
"""The share of the best throughput below which no more tasks are tried."""

GENERATION_LIMIT = 60.0
"""Seconds within which as many tasks have ended as are live; otherwise the sweep ends."""

QUEUED, CONFIRMS = 4.0, 0.1
"""How many times as many tasks as are enough only wait for one another, as far as known; and how near the
throughput must then be to the best, as a share of it, if not all of them have ended."""

GROW_LIMIT = 60.0
"""Seconds within which the tasks of a step must have started."""


class EngineSweep(FollowedLane):
    """Runs the sweep of one lane of a running lab. ``result`` holds what has been measured so far.

    Each task that ends is replaced, so that the number of live tasks stands: a closed loop. Durations are
    those of a closed loop, too: nobody waits outside.

    Args:
        lab: a lab with `HZ` samples per second that is stepped by somebody else.
        lane: its lane.
        first: the fewest tasks.
        last: the most tasks.
        seconds: the most seconds for which a step is measured, unless its tasks live long.
        progress: called with what is being done.
        tasks: how many tasks are live while it is the number of a pool's threads that grows; None if the
            number of tasks does.
    """

    def __init__(
        self,
        lab: Lab,
        lane: Lane,
        first: int,
        last: int,
        seconds: float,
        progress: Callable[[str], None] = lambda text: None,
        tasks: int | None = None,
    ) -> None:
        super().__init__(lab, lane)
        self.result = SweepResult(lane.engine.name, TASKS if tasks is None else POOL_THREADS)
        self._first, self._last, self._seconds, self._tasks = first, last, seconds, tasks
        self._progress = progress
        self._counts: list[tuple[float, int]] | None = None
        self._limit: str | None = None
        self._failing: int | None = None  # the fewest tasks with which some have failed

    async def run(self) -> SweepResult:
        """Start the worker, measure all steps, and end the worker. A failure is in the result."""
        self.lab.observers.append(self.observe)
        self.lab.switch(self.lane, True)
        try:
            await self.until(lambda now: now.status.state not in PENDING)
            if self.look().on:
                await asyncio.sleep(SETTLE)
                problem = await server_problem(self.lab.settings.current)
                if problem:
                    self.lane.worker.fail(problem)
            if self.look().on:
                self.result.runtime = self.seen.status.runtime
                if self._tasks is not None and not self.lane.worker.can("threads"):
                    self.lane.worker.fail("it has no pool of threads")
                else:
                    await self._climb()
            self._note_failure()
            self._log(self.result.summary().removeprefix(f"{self.result.engine}: "))
            self.lab.switch(self.lane, False)
            await self.until(lambda now: now.idle, 10.0, failed=True)
            self._note_failure()  # of the tear-down of the user's function
        finally:
            self.lab.observers.remove(self.observe)
        return self.result

    def _note_failure(self) -> None:
        if self.look().status.state.broken:
            self.result.failed, self.result.ended_by = True, self.seen.status.reason

    async def _climb(self) -> None:
        result = self.result
        for tasks in sizes(self._first, self._last):
            result.ended_by = await self._measure(tasks)
            if result.ended_by:
                break
            best = max(step.throughput for step in result.steps)
            # If other processes took the cores, it may rise again with more tasks.
            disturbed = (result.steps[-1].limited_by or "").startswith(MACHINE)
            if result.steps[-1].throughput < FALLEN * best and not disturbed:
                result.ended_by = f"throughput has fallen below half of {format_rate(best)}"
                break
        added = 0
        while not self.seen.status.state.broken:
            more = finer(result.points, added, self._failing)
            if more is None:
                break
            added += 1
            problem = await self._measure(more)
            if problem and self._failing == more:
                result.ended_by = problem
            elif problem:
                result.ended_by = result.ended_by or problem
                return
        between = result.unmeasured_knee
        if between is not None and not self.seen.status.state.broken:
            result.ended_by = await self._measure(between) or result.ended_by

    def _served(self, number: int) -> Knee | None:
        """Return how many of so many tasks run at once, as known; None unless the rest waits for long."""
        knee = self.result.knee
        if knee is None or self._tasks is not None or self.result.more_is_slower:
            return None
        waits = number > QUEUED * knee.tasks.value and number > self._seconds * knee.best.value
        return knee if waits else None

    async def _measure(self, number: int) -> str:
        """Measure one step, and add it to the result. Return why no step beyond it can be measured."""
        self._progress(f"{format_count(number)} {self.result.over}")
        # Tasks of the step before would end at other times, which takes long to average, or still be slow.
        self.lab.set_target(self.lane, 0)
        await self.until(_settled, GROW_LIMIT)
        if self._failing is not None:  # some may have failed meanwhile
            await self.next_sample()
        before, kinds = self.look().sample.failed or 0, self.seen.status.failures
        problem = await self._start(number)
        if problem:
            return problem
        ended, began = self.seen.sample.completed or 0, self.seen.sample.tick_time or 0.0

        def has_failed(now: LaneSnapshot) -> bool:
            return (now.sample.failed or 0) > before

        if await self._confirm(number, has_failed):
            return ""

        # Until each task has been replaced, those that started together are still among them.
        def over(now: LaneSnapshot) -> bool:
            return has_failed(now) or (now.sample.completed or 0) >= ended + number

        if not await self.until(over, max(GENERATION_LIMIT, self._seconds)):
            return self._ended() or (
                f"{format_count((self.seen.sample.completed or 0) - ended)} of {format_count(number)} tasks "
                f"ended within {format_seconds(GENERATION_LIMIT)}"
            )
        life = (self.seen.sample.tick_time or 0.0) - began
        most = max(self._seconds, MOST_LIVES * life)
        start = self.look()
        found = await self._count(number, most, has_failed)
        failed = (self.seen.sample.failed or 0) - before
        if failed:
            self._failing = min(number, self._failing or number)
            step = counted(number, self.result.over.removesuffix("s"))
            return f"{counted(failed, 'task')} failed with {step}{self._why_failing(kinds)}"
        if found is None:
            return self._ended() or f"no task ended within {format_seconds(most)}"
        self._keep(self._step(number, found, start))
        return ""

    async def _start(self, number: int) -> str:
        """Start the tasks of a step; return why they could not be started."""
        tasks = number if self._tasks is None else self._tasks
        if self._tasks is not None:
            self.lab.settings.set_threads(number)
            await self.next_sample()
        self.lab.set_target(self.lane, tasks)
        grown = await self.until(_settled, GROW_LIMIT)
        if self.seen.target.limit is not None:
            return f"{self.seen.status.limit_text}: at most {format_count(self.seen.live)} tasks"
        if not grown:
            return self._ended() or f"not all of {counted(tasks, 'task')} started within {GROW_LIMIT:.0f} s"
        return ""

    async def _confirm(self, number: int, has_failed: Callable[[LaneSnapshot], bool]) -> bool:
        """Measure a step briefly if all but a few of its tasks only wait; return whether that was enough.

        It would take long until each had ended, and nothing new would be seen.
        """
        served = self._served(number)
        if served is None:
            return False
        start, best = self.look(), served.best.value
        found = await self._count(int(served.tasks.value), self._seconds, has_failed, timed=False)
        if found is None or has_failed(self.seen) or abs(found[0] - best) > CONFIRMS * best:
            return False
        untimed = self._step(number, found, start)
        self._keep(structs.replace(untimed, duration_p50=None, duration_p99=None))
        return True

    def _keep(self, step: Step) -> None:
        """Add a step to the result, and log it."""
        self.result.add(step)
        self._log(step.text(self.result.over))

    async def _count(
        self, at_once: int, most: float, failed: Callable[[LaneSnapshot], bool], timed: bool = True
    ) -> tuple[float, float] | None:
        """Return the throughput, and half its interval, once it is known, and durations if they are timed."""
        stats = self.lane.worker.stats
        stats.times.restart(stats.tick)
        self._counts, self._limit = [], None

        def timed_enough(now: LaneSnapshot) -> bool:
            return failed(now) or not (timed and now.status.duration_p99_so_far)

        def known(now: LaneSnapshot) -> bool:
            return failed(now) or (self._known(at_once) and timed_enough(now))

        await self.until(known, most)
        await self.until(timed_enough, most / 2)  # usually it is already
        await self.next_sample()
        counts, self._counts = self._counts, None
        return throughput(counts, at_once)

    def _log(self, text: str) -> None:
        """Log what has been found, for recordings."""
        self.lab.log(self.lane.engine.name, text)

    def _step(self, tasks: int, found: tuple[float, float], start: LaneSnapshot) -> Step:
        now = self.seen
        seconds = (now.sample.time or 0.0) - (start.sample.time or 0.0)
        used = (now.sample.cpu_seconds or 0.0) - (start.sample.cpu_seconds or 0.0)
        status = now.status
        return Step(
            tasks,
            *found,
            duration_p50=status.duration_p50,
            duration_p99=None if status.duration_p99_so_far else status.duration_p99,
            cpu=used / seconds if seconds > 0 else None,
            memory_per_task=BY_NAME["memory_per_task"].value(now) if now.live >= LEAST else None,
            seconds=seconds,
            limited_by=self._limit,
        )

    def _known(self, tasks: int) -> bool:
        counts = self._counts or []
        if not counts or counts[-1][0] - counts[0][0] < LEAST_SECONDS:
            return False
        found = throughput(counts, tasks)
        return found is not None and found[1] <= KNOWN * found[0]

    def _ended(self) -> str:
        return self.seen.status.reason if self.seen.status.state.broken else ""

    def _why_failing(self, before: Sequence[Failure]) -> str:
        """Return which failures have been added to those ``before``, or else the first error."""
        self.result.failures = self.seen.status.failures
        kinds = failures_text(failures_since(before, self.result.failures))
        errors = (event for event in self.lab.events.since(0) if event.severity == "error")
        why = kinds or next((event.text.splitlines()[0] for event in errors), "")
        return f": {why}" if why else ""

    def observe(self, snapshot: Snapshot) -> None:
        """Keep the counters of a step, and what limits it."""
        super().observe(snapshot)
        sample = self.seen.sample
        if self._counts is None or sample.tick_time is None or sample.completed is None:
            return
        if not self._counts or self._counts[-1][0] != sample.tick_time:
            self._counts.append((sample.tick_time, sample.completed))
        self._limit = limited_by(self.seen, snapshot, True) or self._limit


def _settled(now: LaneSnapshot) -> bool:
    return now.target.reached is not None or now.target.limit is not None
