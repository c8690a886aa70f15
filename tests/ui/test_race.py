"""A race on the screen, with fake workers."""

import pytest

from concwatch.monitor.lanes.host_lanes import LocalMachine
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.workers.catalog import CATALOG
from concwatch.ui.base.dialog import TypeDialog
from concwatch.ui.screens.race import RaceScreen
from concwatch.ui.widgets.charts.chart import Chart
from tests.fake_link import FakeWorkers
from tests.screen import MEMORY, stage
from tests.virtual_time import now

PAIR = [engine for engine in CATALOG if engine.name in ("threads", "asyncio")]


def run_lab(engines, settings):
    return Lab(
        engines, settings=settings, open_link=FakeWorkers(), machine=LocalMachine(lambda: MEMORY), clock=now
    )


async def test_a_race_measures_each_engine_alone_and_keeps_the_table_with_places():
    async with stage((120, 40), engines=PAIR, make_run_lab=run_lab, by_hand=False) as s:
        await s.press("2", "plus", "R")
        assert isinstance(s.app.screen, TypeDialog)
        await s.enter("0")
        await s.press("enter")
        await s.sees("a race to 0 tasks has no winner")
        await s.enter("1000000")
        await s.press("enter")
        await s.sees("threads: 1,000,000 tasks do not fit", "Ask for at")
        assert "--force" not in s.app.screen.error, "the screen has no options"
        await s.enter("1000")
        await s.sees("enter stops all lanes; then threads, asyncio run alone")
        await s.press("enter")
        await s.until(lambda: isinstance(s.app.screen, RaceScreen), "the race")
        await s.press("question_mark")
        assert isinstance(s.app.screen, RaceScreen), "only escape closes it"
        await s.until(lambda: s.app.measurements.race.finished, "the end of the race", limit=120)
        await s.sees("1 asyncio 1.23 KiB", "2 threads 43.1 KiB", "35.0 ×", "R starts another race")
        assert s.lab.fleet.quiet
        chart = s.app.screen.query_one(Chart)
        curves = {line.name: line for line in chart.plot.lines if line.name}
        assert set(curves) == {"threads", "asyncio"}
        assert {line.mark for line in chart.plot.lines} >= {"●"}, "where each was with all tasks"
        assert [line.value for line in curves.values()] == ["43.1 KiB", "1.23 KiB"]
        await s.press("escape", "R")
        assert isinstance(s.app.screen, RaceScreen), "the result stays"
        await s.sees("1 asyncio 1.23 KiB")
        await s.press("R")
        await s.until(lambda: isinstance(s.app.screen, TypeDialog), "the number of tasks of another race")


@pytest.mark.parametrize("size", [(60, 14), (80, 24), (120, 40), (250, 70)])
async def test_a_race_fits_every_terminal(size):
    async with stage(size, engines=PAIR, make_run_lab=run_lab, by_hand=False) as s:
        await s.press("R")
        await s.enter("100")
        await s.press("enter")
        await s.until(lambda: isinstance(s.app.screen, RaceScreen), "the race")
        await s.until(lambda: s.app.measurements.race.finished, "the end of the race", limit=120)
        await s.sees("1 asyncio", "2 threads", "R starts another race")
        chart = s.app.screen.query_one(Chart)
        assert not chart.display or chart.content_size.height >= 5
