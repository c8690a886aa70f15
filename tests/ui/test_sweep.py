"""How many tasks at once are enough, on the screen, with fake workers."""

import pytest

from concwatch.links.fake import Costs, FakeWorkers
from concwatch.monitor.lanes.catalog import CATALOG
from concwatch.monitor.lanes.host_lanes import LocalMachine
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import Settings
from concwatch.ui.base.dialog import TypeDialog
from concwatch.ui.screens.sweep import SweepScreen
from concwatch.ui.widgets.charts.chart import Chart
from tests.screen import MEMORY, stage
from tests.virtual_time import now

PAIR = [engine for engine in CATALOG if engine.name in ("threads", "asyncio")]


def run_lab(engines, settings, **more):
    costs = {"threads": Costs(served=8), "asyncio": Costs()}
    machine = LocalMachine(lambda: MEMORY)
    return Lab(engines, settings=settings, open_link=FakeWorkers(costs), machine=machine, clock=now, **more)


def staged(size):
    return stage(size, engines=PAIR, make_run_lab=run_lab, by_hand=False, settings=Settings("sleep:2"))


async def start(s, tasks):
    await s.press("H")
    assert isinstance(s.app.screen, TypeDialog)
    await s.enter(tasks)
    await s.press("enter")
    await s.until(lambda: isinstance(s.app.screen, SweepScreen), "the sweep")


async def test_a_sweep_shows_the_curve_of_each_engine_and_what_is_enough():
    async with staged((120, 40)) as s:
        await start(s, "32")
        await s.until(lambda: s.app.sweep.finished, "the end of the sweep", limit=600)
        await s.sees("threads: 8 at once are enough", "asyncio: throughput rises up to 32 tasks")
        assert s.lab.quiet
        charts = s.app.screen.query(Chart)
        for chart in charts:
            assert {line.name for line in chart.plot.lines if line.name} == {"threads", "asyncio"}
        throughput = charts[0].plot
        assert [mark.text for mark in throughput.annotations] == ["8"]
        assert any(line.dashed for line in throughput.lines), "the fitted law"
        await s.press("escape", "H")
        assert isinstance(s.app.screen, SweepScreen), "the result stays"
        await s.press("H")
        await s.until(lambda: isinstance(s.app.screen, TypeDialog), "the number of tasks of another sweep")


async def test_a_sweep_can_be_stopped_and_keeps_its_steps():
    async with staged((120, 40)) as s:
        await start(s, "1000")
        await s.until(
            lambda: s.app.sweep.results and len(s.app.sweep.results[0].steps) > 2, "some steps", limit=600
        )
        await s.press("x")
        await s.until(lambda: s.app.sweep.finished, "its end")
        await s.sees("not run", "H starts another sweep")
        assert len(s.app.sweep.results) == 1


@pytest.mark.parametrize("size", [(60, 14), (80, 24), (200, 60)])
async def test_a_sweep_fits_every_terminal(size):
    async with staged(size) as s:
        await start(s, "4")
        await s.until(lambda: s.app.sweep.finished, "the end of the sweep", limit=600)
        await s.sees("threads", "asyncio", "H starts another sweep")
        for chart in s.app.screen.query(Chart):
            assert not chart.display or chart.content_size.height >= 5
