"""At every size all that is shown of four to six lanes is shown whole."""

import re

import pytest

from concwatch.lab.catalog import SHOWN, catalog_row
from concwatch.lab.settings import ON_SCREEN, Settings
from concwatch.ui.widgets.chart import Chart
from tests.screen import stage

BY_DESIGN = r"$^"
"""What may end in "…" on a screen of these sizes: nothing."""

MOST_AT_60_BY_14 = 5
"""Lanes beside which the smallest screen has room for a chart."""

SIZES = ((60, 14), (80, 24), (120, 24), (120, 40), (160, 45), (200, 60), (250, 70))


@pytest.mark.parametrize("more", [[], ["gevent"], ["gevent", "sequential"]], ids=["four", "five", "six"])
@pytest.mark.parametrize("trace", [False, True], ids=["untraced", "traced"])
async def test_no_text_is_cut_and_every_lane_chart_and_way_out_is_there(trace, more):
    engines = [*SHOWN, *map(catalog_row, more)]
    names = [engine.name for engine in engines]
    lanes = [f"{number} {name}" for number, name in enumerate(names, 1)]
    async with stage(engines=engines, settings=Settings(workload=ON_SCREEN, trace=trace)) as s:
        await s.switch_on(*names, tasks=10_000)
        await s.run(20)
        for size in SIZES[len(names) > MOST_AT_60_BY_14 :]:
            await s.pilot.resize_terminal(*size)
            assert not [line for line in s.lines() if "…" in re.sub(BY_DESIGN, "", line)], size
            await s.sees(*lanes, "w ", "f refill", "t traced", "? help", "q quit")
            if size[0] >= 80:
                await s.sees("g collector", "stop all")
            await s.sees("0 B└", "now", within=s.chart("rss"))
            empty = [
                chart.plot.title
                for chart in s.monitor.query(Chart)
                if chart.size.height and not chart.picture
            ]
            assert set(empty) <= {"context switches / s"}, "the fakes tell of no switches"
            await s.press("question_mark")
            await s.sees("esc")
            await s.press("escape")
        if size == SIZES[-1]:
            for lane in s.lab.lanes:
                s.lab.set_target(lane, 0)
            await s.run(20)
            await s.sees("retained", "B└", "now", within=s.chart("retained"))
