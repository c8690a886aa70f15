"""The app with real workers, under Pilot and in a terminal of its own; keys that close a screen or quit."""

import asyncio
import os
import re

import pytest

from concwatch.commands.basics.lab import open_process
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import ON_SCREEN, Settings
from concwatch.monitor.metrics.state import State
from concwatch.monitor.workers.catalog import CATALOG, SHOWN, catalog_row
from concwatch.ui.apps.app import ConcwatchApp
from tests.fake_link import FakeWorkers
from tests.faults.terminal import Terminal
from tests.processes import assert_ended, workers_of
from tests.screen import ScreenStage, experiment_lab, stage
from tests.worker_driver import running_lab, until


async def test_a_key_pressed_three_times_closes_only_the_top_screen():
    async with stage() as s:
        for key, text in (
            ("enter", "5"), ("w", "hold"), ("m", "note"), ("n", "7"), ("question_mark", ""), *2 * [("e", "")]
        ):  # fmt: skip
            await s.press(key)
            assert s.app.screen is not s.monitor
            await s.press(*text)
            await s.press_at_once(*["enter" if text else "escape"] * 3)
            assert s.app.screen is s.monitor
        assert s.app.return_code is None


@pytest.mark.parametrize("key", ["enter", "e", "question_mark"])
async def test_a_key_right_after_the_quit_key_is_ignored(key):
    async with stage() as s:
        await s.press_last("q", key)
        assert s.app.return_code == 0


@pytest.mark.parametrize("turns", range(0, 30, 2))
async def test_an_exit_during_the_first_layout_is_clean(turns):
    """Exit, as for a browser page that is closed at once, after different numbers of loop iterations."""
    app = ConcwatchApp(lambda: Lab(SHOWN, open_link=FakeWorkers()), experiment_lab)

    async def exit_early() -> None:
        while not app.screen_stack:  # noqa: ASYNC110  # Textual has no event for it
            await asyncio.sleep(0)
        for _ in range(turns):
            await asyncio.sleep(0)
        app.exit(return_code=-1)

    exiting = asyncio.create_task(exit_early())
    await app.run_async(headless=True, size=(120, 40))
    await exiting
    assert app.return_code == -1


@pytest.mark.real
async def test_dragging_to_10_000_starts_10_000_real_tasks_and_measures_their_memory():
    before = set(workers_of(os.getpid(), recursive=True))
    engine = next(row for row in CATALOG if row.name == "asyncio")
    app = ConcwatchApp(lambda: Lab([engine], open_link=open_process), experiment_lab)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        s = ScreenStage(app, pilot)
        await s.until(lambda: s.app.lab is not None and app.screen.query("LaneCard"), "the monitor is shown")
        lane = s.lane("asyncio")
        await s.tap("○ off", s.card("asyncio"))
        await s.until(lambda: lane.state is State.RUNNING, "the worker runs")
        await s.sees("● on", "0 live", within=s.card("asyncio"))
        idle = lane.worker.stats.rss
        (worker,) = set(workers_of(os.getpid(), recursive=True)) - before
        assert worker.pid == lane.worker.stats.ready.pid
        await s.drag("asyncio", 10_000, via=[1_000])
        await s.sees("10,000 → about +12 MiB", within=s.card("asyncio"))
        assert lane.live == 0
        await s.drop("asyncio", 10_000)
        await s.until(lambda: lane.live == 10_000, "10,000 tasks are live")
        await s.sees("10,000 live", within=s.card("asyncio"))
        await s.until(lambda: lane.sample.rss_per_task is not None, "the cost is known")
        per_task = (lane.worker.stats.rss - idle) / 10_000
        assert 1_000 <= per_task <= 4_000

        def cost_shown():
            return re.match(r"asyncio 10,000 ([\d.]+) KiB ", s.row("asyncio"))

        await s.until(cost_shown, "the cost table shows the cost")
        assert float(cost_shown()[1]) == pytest.approx(per_task / 1024, rel=0.25)
        assert abs(worker.memory_info().rss - lane.worker.stats.rss) < 2 << 20
        await s.press("0")
        await s.until(lambda: lane.state is State.OFF, "the worker has ended")
        await s.until(lambda: not worker.is_running(), "its process has exited")
        await s.press("space")
        await s.until(lambda: lane.state is State.RUNNING, "another worker runs")
    assert set(workers_of(os.getpid(), recursive=True)) == before


@pytest.mark.real
def test_quitting_stops_the_workers_and_restores_the_terminal():
    """All other ways to end are in tests/faults/ends.py."""
    with Terminal("-m", "concwatch", "--engines", "asyncio") as terminal:
        workers = terminal.switch_on()
        terminal.type("q")
        assert terminal.wait_exit() == 0
        assert_ended(workers)
        terminal.assert_restored()
        assert "Traceback" not in terminal.text()


@pytest.mark.parametrize("engine", ["asyncio", "threads"])
@pytest.mark.real
async def test_a_target_of_the_slider_is_reached_and_held_in_the_default_state(engine):
    tasks = {"asyncio": 50_000, "threads": 2_000}[engine]
    async with running_lab([catalog_row(engine)], settings=Settings(workload=ON_SCREEN, trace=True)) as lab:
        (lane,) = lab.lanes
        lab.switch(lane, True)
        lab.set_target(lane, tasks)
        await until(lambda: lane.sample.live == tasks, "all tasks are live")
        seen = []
        lab.observers.append(lambda snapshot: seen.append(snapshot.lanes[0].live))
        for _ in range(20):  # after a moment without a processor, many end at once
            first, since = lane.sample, len(seen)
            await until(lambda first=first: lane.sample.completed > first.completed + 100, "tasks end")
            await until(
                lambda first=first: lane.sample.created > first.created + 100, "others take their place"
            )
            if min(seen[since:]) >= tasks * 0.99:
                break
        assert min(seen[since:]) >= tasks * 0.99
        assert max(seen) <= tasks
        assert lane.sample.cancelled == 0
