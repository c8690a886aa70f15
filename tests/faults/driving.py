"""Real workers behind the screen or in a lab: something is done to the first, the second must not mind."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psutil

from concwatch.lab.catalog import Engine, find_engines
from concwatch.lab.lab import Lab
from concwatch.lab.lane import Lane, open_process
from concwatch.lab.settings import Settings
from concwatch.lab.snapshot import State
from concwatch.links.link import Link
from concwatch.links.process import WorkerProcess
from concwatch.ui.app import ConcwatchApp
from tests.benchmarks.figures import percentile
from tests.faults.fault import PATIENCE, engines, fault, thorough
from tests.processes import assert_ended
from tests.screen import Stage, Workers

ROOM = 20 << 20
"""Bytes that a fault may cost the monitor."""

PROMPT = 0.1
"""Seconds within which the screen must get to a key, 95 times of 100."""

BEAT = 0.01
"""Seconds between two heartbeats of the event loop."""

LOOPS = ("asyncio", "uvloop")
"""Engines whose tasks are coroutines; the others refuse the workloads of these, and the other way round."""

TASKS = 50
"""What the healthy lane holds on the screen: tasks that end and begin again, so that its counters move."""

SLOWEST = 250
"""Threads that are started a second on a machine that is busy with ten times what it can do."""


@asynccontextmanager
async def pulse(what: str = "", judge_time: bool = True) -> AsyncIterator[None]:
    """Watch this process's memory meanwhile, and the CPU time between two heartbeats of its event loop."""
    process, late, busy = psutil.Process(), [], []
    sizes = [process.memory_info().rss]

    async def beat() -> None:
        while True:
            due, used = time.monotonic() + BEAT, time.thread_time()
            await asyncio.sleep(BEAT)
            busy.append(time.thread_time() - used)
            late.append(time.monotonic() - due)
            sizes.append(process.memory_info().rss)

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()
    grown = max(sizes) - sizes[0]
    p95 = percentile(busy, 0.95)
    figures = (
        f"{what}memory +{grown / 2**20:.1f} MiB, {len(late)} heartbeats, {max(late):.3f} s late at most; "
        f"CPU between two {p95:.3f} s at p95, {max(busy):.3f} s at most"
    )
    print(figures, file=sys.stderr)
    assert grown <= ROOM, figures
    assert p95 <= PROMPT or not (judge_time and thorough()), figures


class RealLab:
    """What a fault does to a lab and sees of it: of the faulty lane, if not of the one that is given."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    @property
    def faulty(self) -> Lane:
        """The lane that something is done to."""
        return self.lab.lanes[0]

    @property
    def well(self) -> Lane:
        """The lane that must not mind."""
        return self.lab.lanes[1]

    @property
    def pid(self) -> int:
        """The faulty worker's process."""
        return self.faulty.worker.stats.ready.pid

    def counted(self, name: str, lane: Lane | None = None) -> int:
        """Return a counter of the last tick; 0 before there is one."""
        return getattr((lane or self.faulty).worker.stats.tick, name, 0)

    def told(self, lane: Lane | None = None) -> list[str]:
        """Return the events of a lane, oldest first."""
        name = (lane or self.faulty).engine.name
        return [event.text for event in self.lab.events.since(0) if event.lane == name]

    async def until(
        self, condition: Callable[[], object], what: str | Callable[[], str], limit: float = PATIENCE
    ) -> None:
        """Wait until it holds; at most ``limit`` seconds."""
        deadline = asyncio.get_running_loop().time() + limit
        while not condition():
            if asyncio.get_running_loop().time() > deadline:
                events = "\n".join(event.text for event in self.lab.events.since(0))
                said = what if isinstance(what, str) else what()
                raise AssertionError(f"{said}: not within {limit:g} s\n{events}")
            await asyncio.sleep(0.01)

    async def tells(self, text: str, times: int = 1) -> None:
        """Wait for an event of the faulty lane with ``text`` in it; there may be just so many."""
        await self.until(
            lambda: any(text in event for event in self.told()),
            lambda: f"not told: {text!r}\n" + "\n".join(self.told()),
        )
        assert sum(text in event for event in self.told()) == times, self.told()

    async def becomes(self, *states: State, lane: Lane | None = None) -> None:
        """Wait until a lane is in one of ``states``."""
        it = lane or self.faulty
        await self.until(lambda: it.state in states, lambda: f"{it.state} {it.worker.reason}: not {states}")

    async def holds(self, tasks: int, lane: Lane | None = None) -> None:
        """Have a lane hold so many tasks, and see that it does."""
        it = lane or self.faulty
        limit = PATIENCE + max(tasks, it.live) / SLOWEST
        self.lab.set_target(it, tasks)
        await self.until(
            lambda: it.state is State.RUNNING and it.live == tasks and it.worker.goal.limit is None,
            lambda: f"{it.live} of {tasks} live, {it.state} {it.worker.reason}",
            limit,
        )

    async def ticks(self, count: int, lane: Lane | None = None) -> None:
        """Let so many ticks of a lane pass."""
        it = lane or self.faulty
        for _ in range(count):
            last = it.worker.stats.tick
            await self.until(lambda last=last: it.worker.stats.tick is not last, "it ticks")  # type: ignore[misc]  # bound here

    async def hits(self, tasks: int, wall: str, value: int) -> int:
        """Ask for more than a wall allows; see which one is named; return how many tasks stand."""
        before = len(self.told())
        self.lab.set_target(self.faulty, tasks)
        await self.until(
            lambda: self.faulty.worker.goal.limit is not None, "it meets a wall", PATIENCE + tasks / SLOWEST
        )
        limit = self.faulty.worker.goal.limit
        assert (limit.wall, limit.value, limit.wanted) == (wall, value, tasks), limit
        (text,) = [text for text in self.told()[before:] if "reached at" in text]
        assert f"{wall} ({value:,}) reached at" in text, text
        await self.ticks(2)
        return limit.standing


class FaultyStage(Stage, RealLab):
    """The screen."""

    async def until(self, condition: Any, what: Any, limit: float = PATIENCE) -> None:
        """Wait until it holds, and let the screen go on meanwhile."""
        await Stage.until(self, condition, what, limit)

    @property
    def faulty_card(self) -> Any:
        """The card of the faulty lane."""
        return self.card(self.faulty.engine.name)

    def give(self, job: str) -> None:
        """Have the lanes' workload be one of `tests.faults.jobs`."""
        self.lab.set_workload(f"tests.faults.jobs:{'a' if self.faulty.engine.name in LOOPS else ''}{job}")

    async def stalls(self) -> None:
        """See that the faulty lane is shown as stalled."""
        await self.becomes(State.STALLED)
        await self.sees("stalled", within=self.faulty_card)

    async def switches_off(self) -> None:
        """Switch the faulty lane off."""
        self.lab.switch(self.faulty, False)
        await self.becomes(State.OFF)

    async def others_go_on(self) -> None:
        """See that the healthy lane creates tasks, is sampled, and is seen to, on a screen that answers."""
        well = self.well
        await self.becomes(State.RUNNING, lane=well)
        await self.until(lambda: well.worker.stats.tick, "the healthy lane ticks")
        created, sampled = self.counted("created", well), well.sample.time
        await self.until(
            lambda: self.counted("created", well) > created and well.sample.time > sampled,
            "the healthy lane goes on",
        )
        await self.sees("● on", f"{TASKS} live", within=self.card(well.engine.name))
        window = self.monitor.query_one("#chart-rss")
        before = self.text(window)
        await self.press("l")  # the charts' axis is logarithmic now
        await self.until(lambda: self.text(window) != before, "the screen answers a key")

    async def on_again(self, tasks: int | None = 10) -> None:
        """See that the faulty lane can be switched on again, by its card, and holds tasks, if it can."""
        await self.until(lambda: self.faulty.idle, "the last worker is gone")
        switch = "○ off" if self.faulty.state is State.OFF else "✕ failed"
        await self.sees(switch, within=self.faulty_card)
        await self.tap(switch, self.faulty_card)
        await self.becomes(State.RUNNING)
        if tasks is not None:
            await self.holds(tasks)


@asynccontextmanager
async def nothing_left(patience: float) -> AsyncIterator[None]:
    """See that no process is left at the end that was not there at the beginning."""
    before = set(psutil.Process().children(recursive=True))
    yield
    left = set(psutil.Process().children(recursive=True)) - before
    assert_ended(left, patience)


@asynccontextmanager
async def driven(
    faulty: str | Sequence[str] = "asyncio", *, start_limit: float | None = None, workload: str = "sleep:0.2"
) -> AsyncIterator[FaultyStage]:
    """Run the screen with a faulty lane, an engine's or a command's, and a healthy one that holds `TASKS`."""
    real = isinstance(faulty, str)
    row = find_engines([faulty])[0] if real else Engine("toy", "one toy", 1_000)
    (well,) = find_engines(["threads" if row.name in LOOPS else "asyncio"])

    def open_link(engine: Engine) -> Link:
        return open_process(engine) if real or engine is well else WorkerProcess(faulty)

    def make_lab() -> Lab:
        return Lab([row, well], settings=Settings(workload, trace=False), open_link=open_link)

    async with nothing_left(0):
        app = ConcwatchApp(make_lab)
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            stage = FaultyStage(app, pilot, Workers(), None)
            await stage.until(lambda: app.lab is not None and app.screen.query("LaneCard"), "a monitor")
            if start_limit is not None:
                stage.faulty.start_limit = start_limit
            stage.lab.set_target(stage.well, TASKS)
            stage.lab.switch(stage.faulty, True)
            await stage.until(lambda: stage.well.live == TASKS, "the healthy lane stands")
            if real:
                await stage.becomes(State.RUNNING)
            yield stage
        await stage.lab.close()  # again: on a busy machine Textual does not wait until all have ended


def lane_fault(
    name: str, what: str, *faulty: str | Sequence[str], workload: str = "sleep:0.2", **options: Any
) -> Callable[[Callable[[FaultyStage], Any]], Callable[[FaultyStage], Any]]:
    """Return the decorator that makes a fault of what is done to each of several lanes on the screen."""

    def add(act: Callable[[FaultyStage], Any]) -> Callable[[FaultyStage], Any]:
        async def inject() -> str:
            lost = []
            for one in engines(*faulty) if isinstance(faulty[0], str) else faulty:
                async with driven(one, workload=workload) as stage:
                    lost.append(await act(stage))
            return "; ".join(filter(None, lost))

        fault(name, what, **options)(inject)
        return act

    return add


Wrap = Callable[[Sequence[str]], Sequence[str]]
"""Gives the command that runs a worker's command under a fault."""


@asynccontextmanager
async def real_lab(
    *names: str, wrap: Wrap | None = None, workload: str = "hold", threads: int | None = None, **more: Any
) -> AsyncIterator[RealLab]:
    """Run a lab with a lane an engine, all off, the first worker under ``wrap``; no process is left."""

    def open_link(engine: Engine) -> Link:
        command = engine.command()
        return WorkerProcess(wrap(command) if wrap and engine.name == names[0] else command)

    settings = Settings(workload=workload, trace=False, threads=threads)
    async with nothing_left(PATIENCE):  # 20,000 threads take their time to end, longer than a lab waits
        lab = Lab(find_engines(names), settings=settings, open_link=open_link, **more)
        clock = asyncio.create_task(lab.run())
        try:
            yield RealLab(lab)
            assert not clock.done(), clock.exception()
        finally:
            clock.cancel()
            await lab.close()
