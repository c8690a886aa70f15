"""Half an hour of tasks that end at once, with somebody at the real screen; then everything is counted."""

import argparse
import asyncio
import contextlib
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count as count_from
from itertools import cycle
from pathlib import Path

import psutil

from concwatch.lab.catalog import Engine, find
from concwatch.lab.events import KEPT
from concwatch.lab.lab import Lab
from concwatch.lab.lane import Lane
from concwatch.lab.lane_state import State
from concwatch.lab.settings import Settings
from concwatch.links.messages import Tick
from concwatch.links.process import WorkerProcess
from concwatch.ui.app import ConcwatchApp
from concwatch.ui.palette import THEMES
from concwatch.ui.screens.dialog import TypeDialog
from concwatch.ui.screens.monitor import MonitorScreen
from tests.faults.fault import Fault
from tests.screen import Stage, Workers

ALL_FOUR = ("threads", "pool", "asyncio", "uvloop")
TWO = ("pool", "asyncio")
"""Enough where it is short: four lanes at full rate keep every core of a small machine from all else."""
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

ACTS = {"mark": 10.0, "window": 3.0, "theme": 7.0, "axis": 11.0}
"""What somebody does at the screen, and every how many seconds; sooner where there is less than"""
LEISURE = 20.0
"""seconds for all of it."""


class CountedWorker(WorkerProcess):
    """A real worker of which the ticks that somebody looked at are counted."""

    taken = 0

    def arrivals(self, now: float):
        """Return what has come, and count."""
        found = super().arrivals(now)
        self.taken += sum(isinstance(arrival, Tick) for arrival in found)
        return found


@dataclass
class Figures:
    """What came of one lane; tasks and ticks."""

    engine: str
    created: int
    completed: int
    cancelled: int
    failed: int
    live: int
    ticks_sent: int | None
    ticks_taken: int


@dataclass
class Soaked:
    """What came of a soak."""

    seconds: float
    lanes: list[Figures]
    marks: int
    acts: int
    """What somebody did."""
    rss_settled: int | None
    """Bytes of the monitor, the median of `SPAN`: from `SETTLED` on, and at the end."""
    rss_end: int
    rss_highest: int

    @property
    def told(self) -> str:
        """Return it in a line."""
        tasks = sum(lane.completed for lane in self.lanes)
        ticks = sum(lane.ticks_taken for lane in self.lanes)
        grown = (
            "" if self.rss_settled is None else f", RSS {(self.rss_end - self.rss_settled) / 2**20:+.2f} MiB"
        )
        return (
            f"{self.seconds:,.0f} s, {tasks:,} tasks completed, {ticks:,} ticks taken, "
            f"{self.marks} marks, {self.acts} acts{grown}"
        )


class Somebody:
    """Does what has its turn."""

    def __init__(self, stage: Stage, seconds: float) -> None:
        self._stage = stage
        self._pauses = {act: pause * min(1.0, seconds / LEISURE) for act, pause in ACTS.items()}
        self._themes = cycle(theme.name for theme in (*THEMES[1:], THEMES[0]))
        self._windows = cycle(("right_square_bracket",) * 3 + ("left_square_bracket",) * 3)
        self._due = {act: time.monotonic() + pause / 2 for act, pause in self._pauses.items()}
        self.acts = self.marks = 0

    async def act(self) -> None:
        """Do it."""
        for act, pause in self._pauses.items():
            if time.monotonic() >= self._due[act]:
                self._due[act] = time.monotonic() + pause
                self.acts += 1
                await getattr(self, act)()

    async def mark(self) -> None:
        """Mark the moment with the name that the dialog offers."""
        app = self._stage.app
        await self._stage.press("m")
        await self._stage.until(lambda: isinstance(app.screen, TypeDialog), "the dialog")
        await self._stage.press("enter")
        await self._stage.until(lambda: isinstance(app.screen, MonitorScreen), "the monitor")
        self.marks += 1

    async def window(self) -> None:
        """Show a longer or a shorter time."""
        await self._stage.press(next(self._windows))

    async def theme(self) -> None:
        """Take other colours."""
        self._stage.app.theme = next(self._themes)
        await self._stage.settle()

    async def axis(self) -> None:
        """Switch the y axes."""
        await self._stage.press("l")


async def weigh(rss: list[tuple[float, int]]) -> None:
    """Note this process's memory, in bytes, with the seconds since the beginning; say it once a minute."""
    itself, began = psutil.Process(), time.monotonic()
    for number in count_from(0):
        rss.append((time.monotonic() - began, itself.memory_info().rss))
        if number % 60 == 0:
            print(f"{rss[-1][0]:6,.0f} s  {rss[-1][1] / 2**20:.2f} MiB", file=sys.stderr, flush=True)
        await asyncio.sleep(1)


def median(values: list[int]) -> int:
    return int(statistics.median(values))


def whole(lane: Lane) -> bool:
    """Return whether a lane holds nothing, and all that was created is in its counters."""
    tick = lane.worker.tally.tick
    return (
        tick is not None and tick.live == 0 and tick.created == tick.completed + tick.failed + tick.cancelled
    )


def count(lane: Lane, worker: CountedWorker) -> Figures:
    """Take one lane's figures from its last tick."""
    tick = lane.worker.tally.tick
    assert tick is not None
    return Figures(
        lane.engine.name,
        tick.created,
        tick.completed,
        tick.cancelled,
        tick.failed,
        tick.live,
        tick.number,
        worker.taken,
    )


@contextlib.contextmanager
def collecting() -> Iterator[None]:
    """Undo what the app does to this process's garbage collection."""
    try:
        yield
    finally:
        gc.unfreeze()


async def soak(seconds: float, engines: Sequence[str]) -> Soaked:
    """Run it for so long, count, and check all but the memory."""
    workers: dict[str, CountedWorker] = {}

    def open_link(engine: Engine) -> CountedWorker:
        workers[engine.name] = CountedWorker(engine.command())
        return workers[engine.name]

    def make_lab() -> Lab:
        return Lab(find(engines), settings=Settings(workload="nop", trace=False), open_link=open_link)

    app = ConcwatchApp(make_lab)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        stage = Stage(app, pilot, Workers(), None)
        await stage.until(
            lambda: isinstance(app.screen, MonitorScreen) and app.screen.is_mounted, "a monitor"
        )
        lanes = stage.lab.lanes

        async def all_are(condition: Callable[[Lane], bool], what: str) -> None:
            def missing() -> str:
                return f"{what}: " + ", ".join(
                    f"{lane.engine.name} {lane.state.value} {lane.worker.tally.tick}"
                    for lane in lanes
                    if not condition(lane)
                )

            await stage.until(lambda: all(map(condition, lanes)), missing, PATIENCE)

        for lane in lanes:
            stage.lab.set_target(lane, TASKS)
        await all_are(
            lambda lane: lane.worker.tally.tick is not None and lane.worker.tally.tick.completed > TASKS,
            "at work",
        )
        somebody, began, rss = Somebody(stage, seconds), time.monotonic(), list[tuple[float, int]]()
        weighing = asyncio.create_task(weigh(rss))
        while time.monotonic() - began < seconds:
            await somebody.act()
            await asyncio.sleep(0.2)
            for lane in lanes:
                assert lane.state in (State.RUNNING, State.STALLED), (lane.engine.name, lane.worker.reason)
        weighing.cancel()
        for lane in lanes:
            stage.lab.set_target(lane, 0)
        await all_are(whole, "at rest")
        # From here on without a pause: what is counted is of one moment.
        figures = [count(lane, workers[lane.engine.name]) for lane in lanes]
        for lane in figures:
            assert lane.failed == 0, lane
            assert lane.created == lane.completed + lane.cancelled, lane
            assert lane.ticks_sent == lane.ticks_taken, lane
        assert len(stage.lab.events.since(0)) <= KEPT
        assert len(stage.lab.marks.since(0)) <= KEPT
        noted = sum(mark.kind == "note" for mark in stage.lab.marks.since(0))
        assert noted == somebody.marks, (noted, somebody.marks)
    await stage.lab.close()  # again: on a busy machine Textual does not wait until all have ended
    last = rss[-1][0]
    return Soaked(
        round(last, 1),
        figures,
        somebody.marks,
        somebody.acts,
        median([size for at, size in rss if SETTLED <= at < SETTLED + SPAN]) if last > 2 * SETTLED else None,
        median([size for at, size in rss if at >= last - SPAN]),
        max(size for _, size in rss),
    )


def inject(seconds: float, engines: Sequence[str] = ALL_FOUR, file: Path | None = None) -> str:
    """Soak, and hold the memory against what it may be; the figures go to standard error, or into a file."""
    with collecting():
        soaked = asyncio.run(soak(seconds, engines))
    print(soaked.told, *soaked.lanes, sep="\n", file=sys.stderr)
    if file is not None:
        file.write_text(json.dumps(asdict(soaked), indent=2))
    if soaked.rss_settled is not None:
        assert soaked.rss_end - soaked.rss_settled <= GROWTH, soaked
    return ""


HOLDS = "counters exact at the end; memory grows by 5 MiB at most after the first minute; each tick looked at"

FAULTS = (
    Fault(
        "soak",
        "30 min of `nop` at full rate in four lanes, with marks, themes and window changes",
        HOLDS,
        partial(inject, HALF_AN_HOUR),
        times=1,
        short=False,
        seconds=HALF_AN_HOUR + 600,
    ),
    Fault(
        "soak-short",
        f"the same for {SHORT:.0f} s in two lanes",
        "the same, memory aside",
        partial(inject, SHORT, TWO),
        times=1,
        seconds=200,
    ),
)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.faults.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=HALF_AN_HOUR)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    options = parser.parse_args()
    inject(options.seconds, file=options.json)
