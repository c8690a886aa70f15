"""Long runs: a million inputs for each fuzz target, and half an hour of tasks that end at once."""

import asyncio
import statistics
import sys
import time
from functools import partial
from itertools import cycle

import psutil

from concwatch.links.messages import Tick
from concwatch.links.process import WorkerProcess
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.state import State
from concwatch.monitor.verdicts.events import KEPT
from concwatch.monitor.workers.catalog import Engine, find_engines
from concwatch.ui.apps.app import ConcwatchApp
from concwatch.ui.base.dialog import TypeDialog
from concwatch.ui.look.palette import THEMES
from concwatch.ui.screens.monitor import MonitorScreen
from tests.faults.fault import fault
from tests.fuzz.__main__ import fuzz_apart
from tests.fuzz.target import RUNS
from tests.fuzz.targets import TARGETS
from tests.screen import ScreenStage, experiment_lab

TASKS = 1_000
HALF_AN_HOUR = 1_800.0
SHORT = 2.0
PATIENCE = 60.0
"""Timeout in seconds of a change of target on a loaded machine."""

SETTLED = 60.0
"""Seconds after which growth of the monitor is measured."""
SPAN = 10.0
"""Seconds over which memory is averaged (median)."""
GROWTH = 5 << 20
"""Largest allowed growth in bytes."""

PAUSES = {"mark": 10.0, "window": 3.0, "theme": 7.0, "axis": 11.0}
"""Seconds between two repetitions of each action."""

NORMAL_RUN = 20.0
"""Seconds below which a run repeats the actions more often."""


for target in TARGETS:
    title = f"{RUNS:,} inputs from a fuzzer: {target.what}"
    fault(f"fuzz-{target.name}", title, times=1, seconds=7_200)(partial(fuzz_apart, target.name, RUNS))


class CountedWorker(WorkerProcess):
    """A real worker that counts the ticks which were read."""

    ticks_read = 0

    def arrivals(self, now: float):
        """Return the messages received. Count the ticks."""
        found = super().arrivals(now)
        self.ticks_read += sum(isinstance(arrival, Tick) for arrival in found)
        return found


async def mark(stage: ScreenStage) -> None:
    """Add a mark by the key and its dialog."""
    await stage.press("m")
    await stage.until(lambda: isinstance(stage.app.screen, TypeDialog), "the dialog")
    await stage.press("enter")
    await stage.until(lambda: isinstance(stage.app.screen, MonitorScreen), "the monitor")


async def soak(seconds: float, *names: str) -> None:
    """Run ``nop`` for ``seconds``, repeat the actions, and check counters and memory."""
    workers: dict[str, CountedWorker] = {}

    def open_link(engine: Engine) -> CountedWorker:
        workers[engine.name] = CountedWorker(engine.command())
        return workers[engine.name]

    def make_lab() -> Lab:
        return Lab(find_engines(names), settings=Settings(workload="nop", trace=False), open_link=open_link)

    themes = cycle(theme.name for theme in (*THEMES[1:], THEMES[0]))
    windows = cycle(("right_square_bracket",) * 3 + ("left_square_bracket",) * 3)
    app, itself, rss, marks = ConcwatchApp(make_lab, experiment_lab), psutil.Process(), [], 0
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        stage = ScreenStage(app, pilot)
        await stage.until(
            lambda: isinstance(app.screen, MonitorScreen) and app.screen.is_mounted, "a monitor"
        )
        lanes = stage.lab.lanes

        def ticks() -> list[Tick]:
            return [lane.worker.stats.tick for lane in lanes]

        for lane in lanes:
            stage.lab.set_target(lane, TASKS)
        await stage.until(
            lambda: all(tick and tick.completed > TASKS for tick in ticks()), lambda: str(ticks()), PATIENCE
        )
        began, sooner = time.monotonic(), min(1.0, seconds / NORMAL_RUN)
        due = {act: began + pause * sooner / 2 for act, pause in PAUSES.items()}
        while (now := time.monotonic()) < began + seconds:
            for act in [act for act in due if due[act] <= now]:
                due[act] = now + PAUSES[act] * sooner
                if act == "mark":
                    marks += 1
                    await mark(stage)
                elif act == "theme":
                    app.theme = next(themes)
                    await stage.settle()
                else:
                    await stage.press(next(windows) if act == "window" else "l")
            rss.append((now - began, itself.memory_info().rss))
            await asyncio.sleep(0.2)
            for lane in lanes:
                assert lane.state in (State.RUNNING, State.STALLED), (
                    lane.engine.name,
                    lane.worker.life.reason,
                )
        for lane in lanes:
            stage.lab.set_target(lane, 0)

        def all_ended() -> bool:
            return all(tick.created == tick.completed + tick.failed + tick.cancelled for tick in ticks())

        await stage.until(all_ended, lambda: str(ticks()), PATIENCE)
        # No ``await`` until the end: all counters belong to the same moment.
        for tick, worker in zip(ticks(), workers.values(), strict=True):
            assert tick.failed == tick.live == 0, tick
            assert tick.number == worker.ticks_read, (tick, worker.ticks_read)
        assert len(stage.lab.events.since(0)) <= KEPT
        assert len(stage.lab.marks.since(0)) <= KEPT
        assert marks == sum(mark.kind == "note" for mark in stage.lab.marks.since(0))
        tasks = sum(tick.completed for tick in ticks())
    await stage.lab.close()  # again: on a loaded machine Textual does not wait for all workers
    last, grown = rss[-1][0], 0
    if last > 2 * SETTLED:
        settled = statistics.median(size for at, size in rss if SETTLED <= at < SETTLED + SPAN)
        grown = statistics.median(size for at, size in rss if at >= last - SPAN) - settled
    figures = f"{last:,.0f} s, {tasks:,} tasks completed, {marks} marks, RSS {grown / 2**20:+.2f} MiB"
    print(f"{figures} since the first minute", file=sys.stderr)
    assert grown <= GROWTH, grown


@fault(
    "soak",
    "30 min of `nop` at full rate in four lanes, with marks, themes and window changes",
    times=1,
    seconds=HALF_AN_HOUR + 600,
)
async def half_an_hour() -> None:
    """Counters are exact, every tick is read, and memory grows by at most 5 MiB after a minute."""
    await soak(HALF_AN_HOUR, "threads", "pool", "asyncio", "uvloop")


@fault("soak-short", f"{SHORT:.0f} s of `nop` at full rate in two lanes", times=1, seconds=200)
async def two_seconds() -> None:
    """The same without the check of memory."""
    await soak(SHORT, "pool", "asyncio")  # four lanes would use every core of a small machine
