"""The real screen on real workers, beside one that is well: what every fault of a worker is driven with."""

import asyncio
import math
import os
import sys
import time
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, chdir, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from concwatch.lab.catalog import Engine, find
from concwatch.lab.lab import Lab, open_process
from concwatch.lab.lane import Lane
from concwatch.lab.lane_state import State
from concwatch.lab.settings import Settings
from concwatch.links.link import Link
from concwatch.links.process import WorkerProcess
from concwatch.ui.app import ConcwatchApp
from tests.screen import Stage, Workers

ROOM = 20 << 20
"""Bytes that a fault may cost the monitor."""

PROMPT = 0.1
"""Seconds within which the screen must get to a key, 95 times of 100."""

BEAT = 0.01
"""Seconds between two heartbeats of the event loop."""

THOROUGH = "FAULTS_THOROUGH"
"""Environment variable, set by ``python -m tests.faults``: every engine is tried, and seconds are judged."""

LOOPS = ("asyncio", "uvloop")
"""Engines whose tasks are coroutines; the others refuse the workloads of these, and the other way round."""

TASKS = 50
"""What the healthy lane holds: tasks that end and begin again, so that its counters move."""

PATIENCE = 40.0


def thorough() -> bool:
    """Whether there is time for all, and nothing else on the machine."""
    return bool(os.environ.get(THOROUGH))


def engines(*names: str) -> Sequence[str]:
    """Return those of ``names`` to be tried: all that are there, or in haste the first alone."""
    there = [name for name in names if find([name])[0].missing() is None]
    return there if thorough() else there[:1]


def toy(name: str) -> Engine:
    """Return a row for a worker that is not one of the catalog's."""
    return Engine(name, "one toy", 1_000)


def share(times: list[float], part: float) -> float:
    """Return the seconds that so large a part of ``times`` kept below."""
    return sorted(times)[min(len(times) - 1, math.floor(len(times) * part))] if times else 0.0


@dataclass
class Pulse:
    """What the event loop and the memory of this process do while a fault goes on."""

    what: str = ""
    late: list[float] = field(default_factory=list)
    """Seconds that each heartbeat came late, whoever had the processor meanwhile."""
    busy: list[float] = field(default_factory=list)
    """CPU seconds that the event loop itself took from each heartbeat to the next."""
    baseline: int = 0
    """Bytes of RSS when it began."""
    peak: int = 0

    async def beat(self) -> None:
        """Beat until cancelled."""
        process = psutil.Process()
        self.baseline = self.peak = process.memory_info().rss
        while True:
            due, used = time.monotonic() + BEAT, time.thread_time()
            await asyncio.sleep(BEAT)
            self.busy.append(time.thread_time() - used)
            self.late.append(time.monotonic() - due)
            self.peak = max(self.peak, process.memory_info().rss)

    @property
    def grown(self) -> int:
        """Bytes of RSS at most over the baseline."""
        return self.peak - self.baseline

    def figures(self) -> str:
        """Return what was measured."""
        late, busy = (
            f"{share(times, 0.95) * 1000:.0f} ms at p95, {share(times, 1.0) * 1000:.0f} ms at worst"
            for times in (self.late, self.busy)
        )
        return (
            f"{self.what}memory +{self.grown / 2**20:.1f} MiB, {len(self.late)} heartbeats, "
            f"late by {late}; CPU between two {busy}"
        )

    def assert_small(self) -> None:
        """Check what the monitor's memory may suffer; say on standard error what it was."""
        print(self.figures(), file=sys.stderr)
        assert self.grown <= ROOM, self.figures()

    def assert_well(self) -> None:
        """Check what its screen may suffer, too, in CPU time: other programs may be at work."""
        self.assert_small()
        if thorough():
            assert share(self.busy, 0.95) <= PROMPT, self.figures()


class FaultyStage(Stage):
    """The screen, one lane that something is done to, and one that must not mind."""

    faulty: Lane
    well: Lane

    def told(self, lane: Lane | None = None) -> list[str]:
        """Return the events of a lane, the faulty one by default, oldest first."""
        name = (lane or self.faulty).engine.name
        return [event.text for event in self.lab.events.since(0) if event.lane == name]

    async def tells(self, text: str, times: int = 1) -> None:
        """Wait for an event of the faulty lane with ``text`` in it; there may be just so many."""
        await self.until(
            lambda: any(text in event for event in self.told()),
            lambda: f"not told: {text!r}\n" + "\n".join(self.told()),
            PATIENCE,
        )
        assert sum(text in event for event in self.told()) == times, self.told()

    async def becomes(self, *states: State) -> None:
        """Wait until the faulty lane is in one of ``states``."""
        await self.until(
            lambda: self.faulty.state in states,
            lambda: f"{self.faulty.state} {self.faulty.reason}: not {states}\n" + "\n".join(self.told()),
            PATIENCE,
        )

    async def holds(self, tasks: int, lane: Lane | None = None) -> None:
        """Have a lane, the faulty one by default, hold so many tasks."""
        held = lane or self.faulty
        self.lab.set_target(held, tasks)
        await self.until(
            lambda: held.state is State.RUNNING and held.live == tasks,
            lambda: f"{held.live} of {tasks} live, {held.state} {held.reason}",
            PATIENCE,
        )

    @asynccontextmanager
    async def pulse(self, what: str = "") -> AsyncIterator[Pulse]:
        """Watch this process meanwhile; ``what`` goes before its figures."""
        pulse = Pulse(what)
        beating = asyncio.create_task(pulse.beat())
        try:
            yield pulse
        finally:
            beating.cancel()

    async def others_go_on(self) -> None:
        """See that the healthy lane creates tasks, is sampled, and is seen to, on a screen that answers."""
        well = self.well
        await self.until(
            lambda: well.state is State.RUNNING and well.tally.tick,
            lambda: f"{well.state} {well.reason}",
            PATIENCE,
        )
        assert well.tally.tick is not None
        created, sampled = well.tally.tick.created, well.sample.time
        await self.until(
            lambda: (
                well.tally.tick is not None
                and well.tally.tick.created > created
                and well.sample.time > sampled
            ),
            "the healthy lane goes on",
            PATIENCE,
        )
        await self.sees("● on", f"{TASKS} live", within=self.card(well.engine.name))
        window = self.monitor.query_one("#chart-rss")
        before = self.text(window)
        await self.press("l")  # the charts' axis is logarithmic now
        await self.until(lambda: self.text(window) != before, "the screen answers a key")

    async def on_again(self, tasks: int | None = 10) -> None:
        """See that the faulty lane can be switched on again, by its card, and holds tasks, if it can."""
        await self.until(lambda: self.faulty.idle, "the last worker is gone", PATIENCE)
        card = self.card(self.faulty.engine.name)
        switch = "○ off" if self.faulty.state is State.OFF else "✕ failed"
        await self.sees(switch, within=card)
        await self.tap(switch, card)
        await self.becomes(State.RUNNING)
        if tasks is not None:
            await self.holds(tasks)


@contextmanager
def working_folder(jobs: str) -> Iterator[None]:
    """Work in a folder of our own meanwhile, with ``jobs`` as the module of that name."""
    with TemporaryDirectory() as folder, chdir(folder):
        Path(folder, "jobs.py").write_text(jobs)
        yield


@asynccontextmanager
async def driven(
    faulty: str | Sequence[str] = "asyncio",
    *,
    start_limit: float | None = None,
    jobs: str = "",
    **settings: Any,
) -> AsyncIterator[FaultyStage]:
    """Run the screen with a faulty lane, on and idle, and a healthy one, which holds `TASKS`.

    Args:
        faulty: an engine of the catalog, or the command that is its worker.
        start_limit: seconds that the faulty worker may take until it stands.
        jobs: Python source of a module ``jobs`` with workloads, found by all workers.
        settings: of the lab.
    """
    row = find([faulty])[0] if isinstance(faulty, str) else toy("toy")
    (well,) = find(["threads" if row.name in LOOPS else "asyncio"])

    def open_link(engine: Engine) -> Link:
        return (
            WorkerProcess(faulty) if engine is row and not isinstance(faulty, str) else open_process(engine)
        )

    def make_lab() -> Lab:
        settings.setdefault("workload", "sleep:0.2")
        return Lab([row, well], settings=Settings(**{"trace": False, **settings}), open_link=open_link)

    before = set(psutil.Process().children(recursive=True))
    with working_folder(jobs):
        app = ConcwatchApp(make_lab)
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            stage = FaultyStage(app, pilot, Workers(), None)
            await stage.until(lambda: app.lab is not None and app.screen.query("LaneCard"), "a monitor")
            stage.faulty, stage.well = stage.lab.lanes
            if start_limit is not None:
                stage.faulty.start_limit = start_limit
            stage.lab.set_target(stage.well, TASKS)
            stage.lab.switch(stage.faulty, True)
            await stage.until(lambda: stage.well.live == TASKS, "the healthy lane stands", PATIENCE)
            if isinstance(faulty, str):
                await stage.becomes(State.RUNNING)
            yield stage
        await stage.lab.close()  # again: on a busy machine Textual does not wait until all have ended
    left = set(psutil.Process().children(recursive=True)) - before
    assert not left, left


def inject(coroutine: Coroutine[Any, Any, str | None]) -> str:
    """Run one injection on an event loop of its own; give what was lost."""
    return asyncio.run(coroutine) or ""
