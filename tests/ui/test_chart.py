"""The chart widget."""

import gc
import math
from unittest.mock import patch

from rich.segment import Segment
from textual.geometry import Region
from textual.widget import Widget

from concwatch.charts.plot import Line, Plot
from concwatch.demos.screen_strips import screen_strips
from concwatch.monitor.metrics.unit import BYTES, RATE
from concwatch.ui.widgets.charts.chart import Chart
from concwatch.ui.widgets.text.kept_lines import KeptStrip
from tests.screen import pilot_of, showing

MIB = 1024**2
TIMES = [float(second) for second in range(61)]
RED = Line("threads", "#ff0000", TIMES, [159 * MIB] * 61, number=1)
BLUE = Line("asyncio", "#0000ff", TIMES, [29.6 * MIB] * 61, number=3)
GREEN = Line("uvloop", "#00ff00", TIMES, [318 * MIB] * 61, number=4)


def rss(*lines, end=60.0, **options):
    return Plot("RSS", BYTES, lines, end, **options)


def screen_text(app):
    return "\n".join(strip.text for strip in screen_strips(app) or ())


def test_a_divided_line_creates_no_reference_cycle():
    row = KeptStrip([Segment("abc"), Segment("def")], 6)
    parts = row.divide([2, 6])
    assert [part.text for part in parts] == ["ab", "cdef"]
    assert all(part is row for part in row.divide([6]))
    gc.collect()
    gc.disable()
    try:
        row.divide([6])
        del row, parts
        assert gc.collect() == 0, "a reference cycle"
    finally:
        gc.enable()


async def test_a_chart_shows_lines_and_values_or_a_hint_inside_a_textual_border():
    chart = Chart(rss(), hint="switch a lane on")
    gaps = (Line("a", "#ff0000", TIMES, [math.nan] * 61), Line("b", "#00ff00", [], []))
    async with showing(chart).run_test(size=(44, 14)) as pilot:
        pilot = pilot_of(pilot)
        for plot, *texts in (
            (rss(), "switch a lane on"),
            (rss(RED, BLUE, GREEN), "─ RSS ─", "1 159M", "3 30M", "4 318M", "300M┤", "-60s", "now"),
            (Plot("created / s", RATE, gaps, 60.0), "─ created / s ─"),
            (rss(end=61.0), "switch a lane on"),
        ):
            chart.show(plot)
            await pilot.pause()
            text = screen_text(pilot.app)
            assert all(each in text for each in texts)
            assert ("switch a lane on" in text) is not bool(plot.lines)
            for crop in (Region(0, 0, 44, 14), Region(3, 2, 20, 5)):
                framed = [list(strip.simplify()) for strip in chart.render_lines(crop)]
                assert framed == [list(strip.simplify()) for strip in Widget.render_lines(chart, crop)]


async def test_a_chart_is_painted_only_when_a_cell_changes_and_follows_size_and_theme():
    chart = Chart(rss())
    with patch.object(chart._painter, "paint", wraps=chart._painter.paint) as paint:
        async with showing(chart).run_test(size=(44, 14)) as pilot:
            pilot = pilot_of(pilot)
            for plot, painted in (
                (rss(RED), 1),
                (rss(RED, end=60.01), 1),
                (rss(RED, BLUE, end=60.02), 2),
                (rss(RED, BLUE, length=30.0), 3),
                (rss(RED, BLUE, logarithmic=True), 4),
            ):
                chart.show(plot)
                assert paint.call_count == painted
            await pilot.pause()
            assert "64M┤" in screen_text(pilot.app)
            pilot.app.theme = "textual-light"
            await pilot.pause()
            assert paint.call_count == 5
            border = chart.styles.border_top
            chart.blur()
            await pilot.pause()
            assert chart.styles.border_top != border, "the focused chart has another border"
            for size in ((3, 3), (12, 4), (14, 6), (1, 1), (60, 20)):
                await pilot.resize_terminal(*size)
                await pilot.pause()
            assert chart.picture.width == 58
