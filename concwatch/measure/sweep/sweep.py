"""The sweep of one engine: throughput and durations at growing numbers of live tasks."""

import asyncio
import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import pairwise

from concwatch.links.messages import Failure
from concwatch.measure.answer import LEAST
from concwatch.measure.followed_lane import FollowedLane
from concwatch.measure.limited import limited_by
from concwatch.measure.measurement import SETTLE
from concwatch.measure.sweep.ladder import finer, sizes
from concwatch.measure.sweep.sweep_result import KNOWN, POOL_THREADS, TASKS, Step, SweepResult
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

LEAST_POWER, WIDTH = 0.5, 2.5
"""The least power of the time with which deviations are taken to grow, since it is only estimated, and half
the interval in standard deviations: with these it covers the truth in nine of ten steps of three seconds."""

TINY = 1e-6

LEAST_SECONDS = 0.5
"""The least seconds for which a step is measured."""

MOST_LIVES = 3.0
"""A step whose throughput is not known yet is measured for this many lives of a task, if that is longer."""

FALLEN = 0.5
"""The share of the best throughput below which no more tasks are tried."""

GENERATION_LIMIT = 60.0
"""Seconds within which as many tasks have ended as are live; otherwise the sweep ends."""

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

    async def run(self) -> SweepResult:
        """Start the worker, measure all steps, and end the worker. A failure is in the result."""
        self.lab.observers.append(self.observe)
        self.lab.switch(self.lane, True)
        try:
            await self.until(lambda now: now.status.state not in PENDING)
            if self.look().on:
                await asyncio.sleep(SETTLE)
                problem = await server_problem(self.lab.settings)
                if problem:
                    self.lane.worker.fail(problem)
            if self.look().on:
                self.result.runtime = self.seen.status.runtime
                if self._tasks is not None and not self.lane.worker.can("threads"):
                    self.lane.worker.fail("it has no pool of threads")
                else:
                    await self._climb()
            self._note_failure()
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
            if result.steps[-1].throughput < FALLEN * best:
                result.ended_by = f"throughput has fallen below half of {format_rate(best)}"
                break
        added = 0
        while not self.seen.status.state.broken and (more := finer(result.points, added)) is not None:
            added += 1
            problem = await self._measure(more)
            if problem:
                result.ended_by = result.ended_by or problem
                break

    async def _measure(self, number: int) -> str:
        """Measure one step, and add it to the result. Return why no step beyond it can be measured."""
        self._progress(f"{format_count(number)} {self.result.over}")
        tasks = number if self._tasks is None else self._tasks
        before = self.look().sample.failed or 0
        kinds = self.seen.status.failures
        # Tasks of the step before would end at other times, which takes long to average, or still be slow.
        self.lab.set_target(self.lane, 0)
        await self.until(_settled, GROW_LIMIT)
        if self._tasks is not None:
            self.lab.set_threads(number)
            await self.next_sample()
        self.lab.set_target(self.lane, tasks)
        grown = await self.until(_settled, GROW_LIMIT)
        if self.seen.target.limit is not None:
            return f"{self.seen.status.limit_text}: at most {format_count(self.seen.live)} tasks"
        if not grown:
            return self._ended() or f"not all of {counted(tasks, 'task')} started within {GROW_LIMIT:.0f} s"
        # Until each task has been replaced, those of the step before are still among them.
        ended, began = self.seen.sample.completed or 0, self.seen.sample.tick_time or 0.0

        def over(now: LaneSnapshot) -> bool:
            failed = (now.sample.failed or 0) > before
            return failed or (now.sample.completed or 0) >= ended + number

        if not await self.until(over, max(GENERATION_LIMIT, self._seconds)):
            return self._ended() or (
                f"{format_count((self.seen.sample.completed or 0) - ended)} of {format_count(number)} tasks "
                f"ended within {format_seconds(GENERATION_LIMIT)}"
            )
        life = (self.seen.sample.tick_time or 0.0) - began
        self.lane.worker.stats.restart_timing()
        self._counts, self._limit = [], None
        most = max(self._seconds, MOST_LIVES * life)
        start = self.look()
        await self.until(lambda now: self._known(number) or (now.sample.failed or 0) > before, most)
        await self.next_sample()
        counts, self._counts = self._counts, None
        failed = (self.seen.sample.failed or 0) - before
        if failed:
            step = f"{format_count(number)} {self.result.over}"
            return f"{counted(failed, 'task')} failed with {step}{self._why_failing(kinds)}"
        found = throughput(counts, number)
        if found is None:
            return self._ended() or f"no task ended within {format_seconds(most)}"
        self.result.add(self._step(number, found, start))
        return ""

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


def throughput(counts: Sequence[tuple[float, int]], tasks: int) -> tuple[float, float] | None:
    """Return the tasks that ended per second, and half the 95 % interval; None if too few have ended.

    Tasks that started together end together, in waves. So the time is taken in which as many tasks have ended
    as run at once, or a multiple: that takes equally long wherever in a wave it begins. How far off it may be
    follows from the deviations over about a twelfth and a sixth of the time. They grow with the time if tasks
    end at random, but not if they end in waves.

    Args:
        counts: the time of each tick, in seconds, and the tasks that had ended by then.
        tasks: how many run at once.
    """
    starts = [after for before, after in pairwise(counts) if after[1] > before[1]]
    if not starts:
        return None
    (first, begin), (_, end) = starts[0], counts[-1]
    generations = (end - begin) // tasks
    if not generations:
        return None
    ended = [count for _, count in counts]
    whole = _time_of(counts, ended, begin + generations * tasks) - first
    rate = generations * tasks / whole
    if generations == 1:
        return rate, rate / math.sqrt(tasks)
    # The first and the last of them ended at any time within their ticks: that part does not grow.
    tick = (counts[-1][0] - counts[0][0]) / (len(counts) - 1)
    least = (rate * tick) ** 2 / 6
    long = max(1, min(2, generations // 4), generations // 6)
    short = max(1, long // 2)
    near, far = (_deviation(counts, starts, rate, lag * tasks) for lag in (short, long))
    far = max(0.0, far / (1 - long / generations) - least)  # the rate is that of the same ticks
    near = max(TINY * far, near - least)
    power = math.log(far / near) / math.log(long / short) if long > short and far else 1.0
    variance = least + far * (generations / long) ** max(LEAST_POWER, min(1.0, power))
    return rate, WIDTH * math.sqrt(variance) / whole


def _time_of(counts: Sequence[tuple[float, int]], ended: Sequence[int], number: int) -> float:
    """Return when so many tasks had ended, between two ticks."""
    at = bisect_left(ended, number)
    (before, fewer), (after, more) = counts[at - 1], counts[at]
    return before + (after - before) * (number - fewer) / (more - fewer)


def _deviation(
    counts: Sequence[tuple[float, int]], starts: Sequence[tuple[float, int]], rate: float, tasks: int
) -> float:
    """Return the mean square by which the end of so many tasks differs from the rate, in tasks."""
    ended = [count for _, count in counts]
    squares = [
        (tasks - rate * (_time_of(counts, ended, count + tasks) - time)) ** 2
        for time, count in starts
        if count + tasks <= ended[-1]
    ]
    return sum(squares) / len(squares)
