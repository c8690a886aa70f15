"""What takes hours: a million inputs for each reader, and half an hour of tasks that end at once."""

import asyncio
import statistics
import sys
import time
from functools import partial
from itertools import cycle

import psutil

from concwatch.lab.catalog import Engine, find
from concwatch.lab.events import KEPT
from concwatch.lab.lab import Lab
from concwatch.lab.lane_state import State
from concwatch.lab.settings import Settings
from concwatch.links.messages import Tick
from concwatch.links.process import WorkerProcess
from concwatch.ui.app import ConcwatchApp
from concwatch.ui.palette import THEMES
from concwatch.ui.screens.dialog import TypeDialog
from concwatch.ui.screens.monitor import MonitorScreen
from tests.faults.fault import Impossible, fault
from tests.fuzz.__main__ import WHAT_TO_INSTALL, fuzz_apart, is_there
from tests.fuzz.target import LIMIT, MEMORY, RUNS
from tests.fuzz.targets import TARGETS
from tests.screen import Stage, Workers

TASKS = 1_000
HALF_AN_HOUR = 1_800.0
SHORT = 2.0
PATIENCE = 60.0
"""Seconds that a change of target may take on a loaded machine."""

SETTLED = 60.0
"""Seconds after which the monitor's memory is held against what it was then."""
SPAN = 10.0
"""Seconds over which the median is taken."""
GROWTH = 5 << 20
"""Bytes that it may have grown since."""

LEISURE = 20.0
"""Seconds below which somebody at the screen does everything sooner than usual."""


def fuzz(name: str) -> None:
    """Try so many inputs on one reader."""
    if not is_there():
        raise Impossible(WHAT_TO_INSTALL)
    fuzz_apart(name, RUNS)


for target in TARGETS:
    fault(
        f"fuzz-{target.name}",
        f"{RUNS:,} inputs made up by a fuzzer: {target.what}",
        f"a value, or an error of one line; at most {LIMIT} s each and {MEMORY:,} MiB in all",
        times=1,
        seconds=7_200,
    )(partial(fuzz, target.name))


class CountedWorker(WorkerProcess):
    """A real worker of which the ticks that somebody looked at are counted."""

    taken = 0

    def arrivals(self, now: float):
        """Return what has come, and count."""
        found = super().arrivals(now)
        self.taken += sum(isinstance(arrival, Tick) for arrival in found)
        return found


class Somebody:
    """Marks moments, and changes window, theme and axes, each every so many seconds."""

    def __init__(self, stage: Stage, seconds: float) -> None:
        self._stage, sooner = stage, min(1.0, seconds / LEISURE)
        self._themes = cycle(theme.name for theme in (*THEMES[1:], THEMES[0]))
        self._windows = cycle(("right_square_bracket",) * 3 + ("left_square_bracket",) * 3)
        acts = {self._mark: 10.0, self._window: 3.0, self._theme: 7.0, self._axis: 11.0}
        self._pauses = {act: pause * sooner for act, pause in acts.items()}
        self._due = {act: time.monotonic() + pause / 2 for act, pause in self._pauses.items()}
        self.acts = self.marks = 0

    async def act(self) -> None:
        """Do what has its turn."""
        for act, pause in self._pauses.items():
            if time.monotonic() >= self._due[act]:
                self._due[act] = time.monotonic() + pause
                self.acts += 1
                await act()

    async def _mark(self) -> None:
        app = self._stage.app
        await self._stage.press("m")
        await self._stage.until(lambda: isinstance(app.screen, TypeDialog), "the dialog")
        await self._stage.press("enter")
        await self._stage.until(lambda: isinstance(app.screen, MonitorScreen), "the monitor")
        self.marks += 1

    async def _window(self) -> None:
        await self._stage.press(next(self._windows))

    async def _theme(self) -> None:
        self._stage.app.theme = next(self._themes)
        await self._stage.settle()

    async def _axis(self) -> None:
        await self._stage.press("l")


async def soak(seconds: float, *names: str) -> None:
    """Run it for so long, count, and check all; the figures go to standard error."""
    workers: dict[str, CountedWorker] = {}

    def open_link(engine: Engine) -> CountedWorker:
        workers[engine.name] = CountedWorker(engine.command())
        return workers[engine.name]

    def make_lab() -> Lab:
        return Lab(find(names), settings=Settings(workload="nop", trace=False), open_link=open_link)

    rss: list[tuple[float, int]] = []
    app, itself = ConcwatchApp(make_lab), psutil.Process()
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        stage = Stage(app, pilot, Workers(), None)
        await stage.until(
            lambda: isinstance(app.screen, MonitorScreen) and app.screen.is_mounted, "a monitor"
        )
        lanes = stage.lab.lanes

        def missing() -> str:
            return ", ".join(
                f"{lane.engine.name} {lane.state.value} {lane.worker.tally.tick}" for lane in lanes
            )

        for lane in lanes:
            stage.lab.set_target(lane, TASKS)
        await stage.until(
            lambda: all(
                lane.worker.tally.tick and lane.worker.tally.tick.completed > TASKS for lane in lanes
            ),
            missing,
            PATIENCE,
        )
        somebody, began = Somebody(stage, seconds), time.monotonic()
        while (passed := time.monotonic() - began) < seconds:
            await somebody.act()
            if not rss or passed >= rss[-1][0] + 1:
                rss.append((passed, itself.memory_info().rss))
                if len(rss) % 60 == 1:
                    print(f"{passed:6,.0f} s  {rss[-1][1] / 2**20:.2f} MiB", file=sys.stderr, flush=True)
            await asyncio.sleep(0.2)
            for lane in lanes:
                assert lane.state in (State.RUNNING, State.STALLED), (lane.engine.name, lane.worker.reason)
        for lane in lanes:
            stage.lab.set_target(lane, 0)

        def at_rest() -> bool:
            ticks = [lane.worker.tally.tick for lane in lanes]
            return all(
                tick.live == 0 and tick.created == tick.completed + tick.failed + tick.cancelled
                for tick in ticks
            )

        await stage.until(at_rest, missing, PATIENCE)
        # From here on without a pause: what is counted is of one moment.
        for lane in lanes:
            tick, taken = lane.worker.tally.tick, workers[lane.engine.name].taken
            print(lane.engine.name, tick, f"{taken:,} ticks taken", file=sys.stderr)
            assert tick.failed == 0, tick
            assert tick.number == taken, (tick, taken)
        assert len(stage.lab.events.since(0)) <= KEPT
        assert len(stage.lab.marks.since(0)) <= KEPT
        noted = sum(mark.kind == "note" for mark in stage.lab.marks.since(0))
        assert noted == somebody.marks, (noted, somebody.marks)
        tasks = sum(lane.worker.tally.tick.completed for lane in lanes)
    await stage.lab.close()  # again: on a busy machine Textual does not wait until all have ended
    last, grown = rss[-1][0], 0
    if last > 2 * SETTLED:
        settled = statistics.median(size for at, size in rss if SETTLED <= at < SETTLED + SPAN)
        grown = statistics.median(size for at, size in rss if at >= last - SPAN) - settled
    print(
        f"{last:,.0f} s, {tasks:,} tasks completed, {somebody.marks} marks, {somebody.acts} acts, "
        f"RSS {grown / 2**20:+.2f} MiB since the first minute",
        file=sys.stderr,
    )
    assert grown <= GROWTH, grown


@fault(
    "soak",
    "30 min of `nop` at full rate in four lanes, with marks, themes and window changes",
    times=1,
    seconds=HALF_AN_HOUR + 600,
)
async def half_an_hour() -> None:
    """Counters exact at the end; memory grows by 5 MiB at most after a minute; each tick looked at."""
    await soak(HALF_AN_HOUR, "threads", "pool", "asyncio", "uvloop")


@fault("soak-short", f"the same for {SHORT:.0f} s in two lanes", times=1, short=True, seconds=200)
async def two_seconds() -> None:
    """The same, memory aside."""
    await soak(SHORT, "pool", "asyncio")  # four lanes at full rate keep every core of a small machine busy
