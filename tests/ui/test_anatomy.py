"""The dialog that shows what a task of a lane consists of, with fake workers."""

import pytest

from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.workers.catalog import CATALOG
from concwatch.ui.dialogs.anatomy import AnatomyLines, AnatomyScreen
from tests.fake_link import FakeWorkers
from tests.screen import stage

PAIR = [engine for engine in CATALOG if engine.name in ("threads", "asyncio")]


@pytest.mark.parametrize("size", [(60, 14), (80, 24), (120, 40), (250, 70)])
async def test_the_parts_of_a_task_fit_every_terminal(size):
    async with stage(size, engines=PAIR, by_hand=False) as s:
        await s.press("1", "enter")
        await s.enter("1000")
        await s.press("enter")
        await s.until(lambda: s.lab.lanes[0].live == 1_000, "live threads")
        await s.press("A")
        assert isinstance(s.app.screen, AnatomyScreen)
        await s.sees("one task takes", "objects", "kernel")
        lines = s.app.screen.query_one(AnatomyLines)
        widths = [line.cell_length for line in lines.rows(lines.size.width)]
        assert max(widths) <= lines.size.width
        await s.sees("stack pages touched")
        await s.press("escape")
        assert not isinstance(s.app.screen, AnatomyScreen)


async def test_a_lane_without_tasks_has_nothing_to_show():
    async with stage((120, 40), engines=PAIR, by_hand=False) as s:
        await s.press("A")
        await s.sees("no task is live")
        assert not isinstance(s.app.screen, AnatomyScreen)


async def test_a_worker_that_refuses_says_why():
    async with stage((120, 40), engines=PAIR, by_hand=False) as s:
        await s.press("2", "enter")
        await s.enter("50")
        await s.press("enter")
        await s.until(lambda: s.lab.lanes[1].live == 50, "live tasks")
        await s.press("A")
        await s.sees("50 tasks are live; to tell what each has, 100 are needed")


async def test_a_traced_lane_shows_what_an_untraced_worker_has_found():
    workers = FakeWorkers()
    settings = Settings(trace=True)
    async with stage(engines=PAIR, workers=workers, settings=settings, trials=True, by_hand=False) as s:
        await s.press("2", "enter")
        await s.enter("1000")
        await s.press("enter")
        await s.until(lambda: s.lab.lanes[1].live == 1_000, "live tasks")
        own = workers.links["asyncio"]
        await s.press("A")
        await s.sees("one task takes 1.23 KiB", "in an untraced worker")
        assert not own.commands("anatomy"), "its own tasks are not stopped"
