"""How many tasks at once are enough, on the screen, with fake workers."""

from xml.etree import ElementTree

import pytest

from concwatch.monitor.lanes.host_lanes import LocalMachine
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.workers.catalog import CATALOG
from concwatch.ui.base.dialog import TypeDialog
from concwatch.ui.screens.sweep import SweepScreen
from concwatch.ui.widgets.charts.chart import Chart
from tests.fake_link import Costs, FakeWorkers
from tests.screen import MEMORY, stage
from tests.virtual_time import now

PAIR = [engine for engine in CATALOG if engine.name in ("threads", "asyncio")]


def run_lab(engines, settings, **more):
    costs = {"threads": Costs(served=8), "asyncio": Costs()}
    machine = LocalMachine(lambda: MEMORY)
    return Lab(engines, settings=settings, open_link=FakeWorkers(costs), machine=machine, clock=now, **more)


def staged(size, **more):
    settings = Settings("sleep:2", trace=True)
    return stage(size, engines=PAIR, make_run_lab=run_lab, by_hand=False, settings=settings, **more)


async def start(s, tasks):
    await s.press("H")
    assert isinstance(s.app.screen, TypeDialog)
    await s.enter(tasks)
    await s.press("enter")
    await s.until(lambda: isinstance(s.app.screen, SweepScreen), "the sweep")


async def test_a_sweep_shows_the_curve_of_each_engine_and_what_is_enough():
    async with staged((120, 40)) as s:
        await start(s, "32")
        await s.press("question_mark")
        assert isinstance(s.app.screen, SweepScreen), "only escape closes it"
        await s.until(lambda: s.app.measurements.sweep.finished, "the end of the sweep", limit=600)
        await s.sees("threads: 8 at once are enough", "asyncio: throughput rises up to 32 tasks")
        assert s.lab.fleet.quiet
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


async def test_its_chart_is_a_slide_with_the_number_that_is_enough_and_what_was_found(tmp_path, monkeypatch):
    monkeypatch.setattr("concwatch.ui.apps.picture_files.can_draw", lambda: False)  # a PNG takes a process
    async with staged((120, 40), pictures=tmp_path) as s:
        await start(s, "16")
        await s.until(lambda: s.app.measurements.sweep.finished, "the end of the sweep", limit=600)
        await s.press("S")
        await s.until(lambda: s.app.pictures.saved, "the slide")
        [path] = tmp_path.glob("*tasks-ended-per-second*.svg")
        texts = [each.text for each in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]
        assert texts[0] == "tasks ended per second over live tasks"
        assert "8" in texts, "the number that is enough"
        conditions = " ".join(texts)
        assert "threads: 8 at once are enough" in conditions
        assert "untraced" in conditions, "as the sweep was, whatever the lanes are"
        assert [
            event.text.partition(": ")[0] for event in s.lab.events.since(0) if "enough" in event.text
        ] == ["threads"], "in the event log, and so in recordings"


async def test_a_sweep_can_be_stopped_and_keeps_its_steps():
    async with staged((120, 40)) as s:
        await start(s, "1000")
        await s.until(
            lambda: s.app.measurements.sweep.results and len(s.app.measurements.sweep.results[0].steps) > 2,
            "some steps",
            limit=600,
        )
        await s.press("x")
        await s.until(lambda: s.app.measurements.sweep.finished, "its end")
        await s.sees("not run", "H starts another sweep")
        assert len(s.app.measurements.sweep.results) == 1


@pytest.mark.parametrize("size", [(60, 14), (80, 24), (200, 60)])
async def test_a_sweep_fits_every_terminal(size):
    async with staged(size) as s:
        await start(s, "4")
        await s.until(lambda: s.app.measurements.sweep.finished, "the end of the sweep", limit=600)
        await s.sees("threads", "asyncio", "H starts another sweep")
        for chart in s.app.screen.query(Chart):
            assert not chart.display or chart.content_size.height >= 5
