"""Five or six lanes fit on the screen, without truncated text, at every terminal size."""

import pytest

from concwatch.lab.catalog import SHOWN, catalog_row
from concwatch.lab.settings import ON_SCREEN, Settings
from concwatch.ui.widgets.chart import Chart
from tests.screen import stage

SIZES = ((60, 14), (80, 24), (120, 24), (120, 40), (160, 45), (200, 60), (250, 70))
"""The smallest has room for a chart beside at most five lanes."""


@pytest.mark.parametrize(
    ("trace", "extra", "sizes"),
    [(False, ["gevent"], SIZES), (True, ["gevent", "sequential"], SIZES[1:])],
    ids=["five untraced", "six traced"],
)
async def test_every_size_shows_all_lanes_settings_and_charts_without_truncated_text(trace, extra, sizes):
    engines = [*SHOWN, *map(catalog_row, extra)]
    names = [engine.name for engine in engines]
    lanes = [f"{number} {name}" for number, name in enumerate(names, 1)]
    async with stage(engines=engines, settings=Settings(workload=ON_SCREEN, trace=trace)) as s:
        await s.switch_on(*names, tasks=10_000)
        await s.run(20)
        for size in sizes:
            await s.pilot.resize_terminal(*size)
            wide = ("g collector", "stop all", "k/s)") if size[0] >= 80 else ()
            await s.sees(*lanes, "w ", "f refill", "t traced", "? help", "q quit", *wide)
            assert not [line for line in s.lines() if "…" in line], size
            assert size[0] < 80 or all(s.row(name) for name in names)
            await s.sees("0└", "now", within=s.chart("rss"))
            charts = [chart for chart in s.monitor.query(Chart) if chart.size.height]
            empty = {chart.plot.title for chart in charts if not chart.picture}
            assert empty <= {"context switches / s"}, "the fakes report no switches"
            if size in (SIZES[0], SIZES[-1]):
                await s.press("question_mark")
                await s.sees("esc")
                await s.press("escape")
        for lane in s.lab.lanes:
            s.lab.set_target(lane, 0)
        await s.run(20)
        await s.sees("retained", "0└", "now", within=s.chart("retained"))
