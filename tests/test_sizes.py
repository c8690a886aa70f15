"""At every size everything that is shown of four to six lanes is shown whole."""

import pytest

from concwatch.lab.catalog import SHOWN, catalog_row
from concwatch.lab.settings import ON_SCREEN, Settings
from concwatch.ui.widgets.chart import Chart
from tests.screen import stage

MOST_AT_60_BY_14 = 5
"""Lanes beside which the smallest screen has room for a chart."""

SIZES = ((60, 14), (80, 24), (120, 24), (120, 40), (160, 45), (200, 60), (250, 70))


@pytest.mark.parametrize(
    ("more", "trace"),
    [([], True), (["gevent"], False), (["gevent", "sequential"], True)],
    ids=["four traced", "five", "six traced"],
)
async def test_no_text_is_cut_and_every_lane_chart_and_way_out_is_there(more, trace):
    engines = [*SHOWN, *map(catalog_row, more)]
    names = [engine.name for engine in engines]
    expected = {*(f"{number} {name}" for number, name in enumerate(names, 1))}
    expected |= {"w ", "f refill", "t traced", "? help", "q quit", "0 B└", "now"}
    async with stage(engines=engines, settings=Settings(workload=ON_SCREEN, trace=trace)) as s:
        await s.switch_on(*names, tasks=10_000)
        await s.run(20)
        for size in SIZES[len(names) > MOST_AT_60_BY_14 :]:
            await s.pilot.resize_terminal(*size)
            await s.settle()
            lines = s.lines()
            assert not [line for line in lines if "…" in line], size
            text = " ".join(" ".join(lines).split())
            wide = {"g collector", "stop all"} if size[0] >= 80 else set()
            assert not [each for each in expected | wide if each not in text], size
            empty = [
                chart.plot.title
                for chart in s.monitor.query(Chart)
                if chart.size.height and not chart.picture
            ]
            assert set(empty) <= {"context switches / s"}, "the fakes report no switches"
            if size[1] <= 24:
                await s.press("question_mark")
                await s.sees("esc")
                await s.press("escape")
        for lane in s.lab.lanes:
            s.lab.set_target(lane, 0)
        await s.run(20)
        await s.sees("retained", "B└", "now", within=s.chart("retained"))
