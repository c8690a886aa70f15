"""Labs and screens with real workers: a faulty lane, and a healthy one that must not be affected."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psutil

from concwatch.commands.basics.lab import open_process
from concwatch.links.link import Link
from concwatch.links.process import WorkerProcess
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.lanes.lane import Lane
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.state import State
from concwatch.monitor.workers.catalog import Engine, find_engines
from concwatch.ui.apps.app import ConcwatchApp
from tests.benchmarks.figures import percentile
from tests.faults.fault import PATIENCE, engines, fault, thorough
from tests.processes import assert_ended
from tests.screen import ScreenStage, experiment_lab

MEMORY_LIMIT = 20 << 20
"""Bytes by which a fault may grow the monitor."""

KEY_LIMIT = 0.1
"""Seconds within which the event loop must be free again, as the 95th percentile."""

INTERVAL = 0.01
"""Seconds between two heartbeats of the event loop."""

LOOPS = ("asyncio", "uvloop")
"""Engines whose tasks are coroutines. The others need different workloads."""

TASKS = 50
"""Tasks of the healthy lane. They end and are refilled, so its counters increase."""

SLOWEST = 250
"""Threads started a second on a machine with ten times as much load as it has cores."""


@asynccontextmanager
async def heartbeat(what: str = "", judge_time: bool = True) -> AsyncIterator[None]:
    """Check the growth of this process and the CPU time between heartbeats of its event loop."""
    process, late, busy = psutil.Process(), [], []
    sizes = [process.memory_info().rss]

    async def beat() -> None:
        while True:
            due, used = time.monotonic() + INTERVAL, time.thread_time()
            await asyncio.sleep(INTERVAL)
            busy.append(time.thread_time() - used)
            late.append(time.monotonic() - due)
            sizes.append(process.memory_info().rss)

    beating = asyncio.create_task(beat())
    try:
        yield
        while not busy:  # noqa: ASYNC110  # what was to be checked took less than a heartbeat
            await asyncio.sleep(INTERVAL)
    finally:
        beating.cancel()
    grown = max(sizes) - sizes[0]
    p95 = percentile(busy, 0.95)
    figures = (
        f"{what}memory +{grown / 2**20:.1f} MiB, {len(late)} heartbeats, {max(late):.3f} s late at most; "
        f"CPU between two {p95:.3f} s at p95, {max(busy):.3f} s at most"
    )
    print(figures, file=sys.stderr)
    assert grown <= MEMORY_LIMIT, figures
    assert p95 <= KEY_LIMIT or not (judge_time and thorough()), figures


class RealLab:
    """Actions and checks on a lab. Without ``lane`` they concern the faulty lane."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    @property
    def faulty(self) -> Lane:
        """The lane with the fault."""
        return self.lab.lanes[0]

    @property
    def healthy(self) -> Lane:
        """The lane that must not be affected."""
        return self.lab.lanes[1]

    @property
    def pid(self) -> int:
        """The process ID of the faulty worker."""
        return self.faulty.worker.stats.ready.pid

    def count(self, name: str, lane: Lane | None = None) -> int:
        """Return a counter of the last tick, or 0 before the first tick."""
        return getattr((lane or self.faulty).worker.stats.tick, name, 0)

    def events(self, lane: Lane | None = None) -> list[str]:
        """Return the events of a lane, oldest first."""
        name = (lane or self.faulty).engine.name
        return [event.text for event in self.lab.events.since(0) if event.lane == name]

    async def until(
        self, condition: Callable[[], object], what: str | Callable[[], str], limit: float = PATIENCE
    ) -> None:
        """Wait up to ``limit`` seconds until ``condition`` is true."""
        deadline = asyncio.get_running_loop().time() + limit
        while not condition():
            if asyncio.get_running_loop().time() > deadline:
                events = "\n".join(event.text for event in self.lab.events.since(0))
                message = what if isinstance(what, str) else what()
                raise AssertionError(f"{message}: not within {limit:g} s\n{events}")
            await asyncio.sleep(0.01)

    async def wait_for_event(self, text: str, times: int = 1) -> None:
        """Wait for an event of the faulty lane with ``text``. Check that there are ``times`` of them."""
        await self.until(
            lambda: any(text in event for event in self.events()),
            lambda: f"not logged: {text!r}\n" + "\n".join(self.events()),
        )
        assert sum(text in event for event in self.events()) == times, self.events()

    async def wait_for_state(self, *states: State, lane: Lane | None = None) -> None:
        """Wait until a lane is in one of ``states``."""
        it = lane or self.faulty
        await self.until(
            lambda: it.state in states, lambda: f"{it.state} {it.worker.life.reason}: not {states}"
        )

    async def hold(self, tasks: int, lane: Lane | None = None) -> None:
        """Set a lane's target and wait until it is reached."""
        it = lane or self.faulty
        limit = PATIENCE + max(tasks, it.live) / SLOWEST
        self.lab.set_target(it, tasks)
        await self.until(
            lambda: it.state is State.RUNNING and it.live == tasks and it.target.limit is None,
            lambda: f"{it.live} of {tasks} live, {it.state} {it.worker.life.reason}",
            limit,
        )

    async def wait_for_ticks(self, count: int, lane: Lane | None = None) -> None:
        """Wait for ``count`` ticks of a lane."""
        it = lane or self.faulty
        for _ in range(count):
            last = it.worker.stats.tick
            await self.until(lambda last=last: it.worker.stats.tick is not last, "a tick")  # type: ignore[misc]  # bound in the default

    async def hit_limit(self, tasks: int, name: str, value: int) -> int:
        """Set a target above a limit. Check that it is named. Return the number of live tasks."""
        before = len(self.events())
        self.lab.set_target(self.faulty, tasks)
        await self.until(
            lambda: self.faulty.target.limit is not None,
            "a limit is reached",
            PATIENCE + tasks / SLOWEST,
        )
        limit = self.faulty.target.limit
        assert (limit.name, limit.value, limit.wanted) == (name, value, tasks), limit
        (text,) = [text for text in self.events()[before:] if "reached at" in text]
        assert f"{name} ({value:,}) reached at" in text, text
        await self.wait_for_ticks(2)
        return limit.standing


class FaultyStage(ScreenStage, RealLab):
    """The screen with a faulty and a healthy lane."""

    async def until(self, condition: Any, what: Any, limit: float = PATIENCE) -> None:
        """Wait until ``condition`` is true while the screen runs."""
        await ScreenStage.until(self, condition, what, limit)

    @property
    def faulty_card(self) -> Any:
        return self.card(self.faulty.engine.name)

    def set_job(self, job: str) -> None:
        """Set the workload to one of `tests.faults.jobs`."""
        self.lab.settings.set_workload(
            f"tests.faults.jobs:{'a' if self.faulty.engine.name in LOOPS else ''}{job}"
        )

    async def wait_for_stall(self) -> None:
        await self.wait_for_state(State.STALLED)
        await self.sees("stalled", within=self.faulty_card)

    async def switch_off(self) -> None:
        self.lab.switch(self.faulty, False)
        await self.wait_for_state(State.OFF)

    async def check_others(self) -> None:
        """Check that the healthy lane creates tasks and is sampled, and that the screen handles keys."""
        healthy = self.healthy
        await self.wait_for_state(State.RUNNING, lane=healthy)
        await self.until(lambda: healthy.worker.stats.tick, "the healthy lane ticks")
        created, sampled = self.count("created", healthy), healthy.sample.time
        await self.until(
            lambda: self.count("created", healthy) > created and healthy.sample.time > sampled,
            "the healthy lane continues",
        )
        await self.sees("● on", f"{TASKS} live", within=self.card(healthy.engine.name))
        window = self.monitor.query_one("#chart-rss")
        before = self.text(window)
        await self.press("l")  # a logarithmic axis
        await self.until(lambda: self.text(window) != before, "the screen handles a key")

    async def restart(self, tasks: int | None = 10) -> None:
        """Switch the faulty lane on again by its card. Wait until ``tasks`` are live, unless it is None."""
        await self.until(lambda: self.faulty.idle, "the worker has ended")
        switch = "○ off" if self.faulty.state is State.OFF else "✕ failed"
        await self.sees(switch, within=self.faulty_card)
        await self.tap(switch, self.faulty_card)
        await self.wait_for_state(State.RUNNING)
        if tasks is not None:
            await self.hold(tasks)


@asynccontextmanager
async def no_process_left(patience: float) -> AsyncIterator[None]:
    """Check that all child processes started in the block have ended after it."""
    before = set(psutil.Process().children(recursive=True))
    yield
    left = set(psutil.Process().children(recursive=True)) - before
    assert_ended(left, patience)


@asynccontextmanager
async def run_screen(
    faulty: str | Sequence[str] = "asyncio", *, start_limit: float | None = None, workload: str = "sleep:0.2"
) -> AsyncIterator[FaultyStage]:
    """Run the screen with a faulty lane (an engine or a worker command) and a healthy lane with `TASKS`."""
    real = isinstance(faulty, str)
    row = find_engines([faulty])[0] if real else Engine("toy", "one toy", 1_000)
    (healthy,) = find_engines(["threads" if row.name in LOOPS else "asyncio"])

    def open_link(engine: Engine) -> Link:
        return open_process(engine) if real or engine is healthy else WorkerProcess(faulty)

    def make_lab() -> Lab:
        return Lab([row, healthy], settings=Settings(workload, trace=False), open_link=open_link)

    async with no_process_left(0):
        app = ConcwatchApp(make_lab, experiment_lab)
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            stage = FaultyStage(app, pilot)
            await stage.until(lambda: app.lab is not None and app.screen.query("LaneCard"), "a monitor")
            if start_limit is not None:
                stage.faulty.start_limit = start_limit
            stage.lab.set_target(stage.healthy, TASKS)
            stage.lab.switch(stage.faulty, True)
            await stage.until(lambda: stage.healthy.live == TASKS, "the healthy lane is running")
            if real:
                await stage.wait_for_state(State.RUNNING)
            yield stage
        await stage.lab.close()  # again: on a loaded machine Textual does not wait for all workers


def lane_fault(
    name: str, what: str, *faulty: str | Sequence[str], workload: str = "sleep:0.2", **options: Any
) -> Callable[[Callable[[FaultyStage], Any]], Callable[[FaultyStage], Any]]:
    """Return a decorator that adds a fault, injected on the screen for each of ``faulty``."""

    def add(act: Callable[[FaultyStage], Any]) -> Callable[[FaultyStage], Any]:
        async def inject() -> str:
            lost = []
            for one in engines(*faulty) if isinstance(faulty[0], str) else faulty:
                async with run_screen(one, workload=workload) as stage:
                    lost.append(await act(stage))
            return "; ".join(filter(None, lost))

        fault(name, what, **options)(inject)
        return act

    return add


Wrap = Callable[[Sequence[str]], Sequence[str]]
"""Returns the command that runs a worker's command with a fault."""


@asynccontextmanager
async def real_lab(
    *names: str, wrap: Wrap | None = None, workload: str = "hold", threads: int | None = None, **more: Any
) -> AsyncIterator[RealLab]:
    """Run a lab with a lane per engine, all off. The first worker's command is passed through ``wrap``."""

    def open_link(engine: Engine) -> Link:
        command = engine.command()
        return WorkerProcess(wrap(command) if wrap and engine.name == names[0] else command)

    settings = Settings(workload=workload, trace=False, threads=threads)
    async with no_process_left(PATIENCE):  # 20,000 threads end more slowly than a lab waits
        lab = Lab(find_engines(names), settings=settings, open_link=open_link, **more)
        clock = asyncio.create_task(lab.run())
        try:
            yield RealLab(lab)
            assert not clock.done(), clock.exception()
        finally:
            clock.cancel()
            await lab.close()
