"""The chart widget, and the title of a chart."""

import gc
import math
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from textual.geometry import Region
from textual.widget import Widget

from concwatch.charts.captions import LegendEntry, caption
from concwatch.charts.plot import Line, Plot
from concwatch.charts.scales import BYTES, RATE
from concwatch.ui.widgets import chart as chart_file
from concwatch.ui.widgets.chart import Chart, PictureRow
from tests.screen import pilot_of, showing

MIB = 1024**2
TIMES = [float(second) for second in range(61)]
RED = Line("threads", "#ff0000", TIMES, [159 * MIB] * 61)
BLUE = Line("asyncio", "#0000ff", TIMES, [29.5 * MIB] * 61)
GREEN = Line("uvloop", "#00ff00", TIMES, [318 * MIB] * 61)


def rss(*lines, end=60.0, **options):
    return Plot("RSS", BYTES, lines, end, **options)


def screen_text(app):
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


def test_a_divided_picture_row_creates_no_reference_cycle():
    row = PictureRow([Segment("abc"), Segment("def")], 6)
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
            (rss(RED, BLUE, GREEN), "RSS  thre 159M asyn 29.5M uvlo 318M", "300 MiB┤", "-60s", "now"),
            (Plot("created / s", RATE, gaps, 60.0), "created / s  a –  b –"),
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
    with patch.object(chart_file, "paint", wraps=chart_file.paint) as paint:
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
            assert "32 MiB┤" in screen_text(pilot.app)
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


# The title.

NAMES = ["threads", "pool", "asyncio", "asyncio-eager", "uvloop"]
VALUES = st.sampled_from(["0/s", "159 MiB", "23.9 KiB", "1.25 GiB", "80.5 µs", "1 min 42 s", "–"])
ENTRIES = st.lists(st.tuples(st.sampled_from(NAMES), VALUES), max_size=5, unique_by=lambda entry: entry[0])


def entries(*pairs):
    return [LegendEntry(name, value, "red") for name, value in pairs]


@given(title=st.sampled_from(["RSS", "tasks created / s"]), pairs=ENTRIES, width=st.integers(12, 90))
def test_a_caption_fits_without_truncated_values_or_ambiguous_names(title, pairs, width):
    parts = caption(title, entries(*pairs), width)
    texts = [text for text, _ in parts]
    assert len("".join(texts)) <= width
    assert texts[0] in (title, "tasks created", "tasks")
    names, values = ([text for text, style in parts if style == each] for each in ("red", "bold red"))
    assert len(names) == len(pairs) or "…" in texts[-1]
    assert len(values) in (0, len(pairs))
    for cut, (name, _) in zip(names, pairs, strict=False):
        assert sum(other.startswith(cut) for other, _ in pairs) == 1 or cut == name
    for cut, (_, value) in zip(values, pairs, strict=False):
        assert cut[0] == value[0]


RATES = entries(("threads", "185/s"), ("asyncio", "2.81 k/s"), ("uvloop", "3.42 k/s"))
HOSTS = entries(("web1", "2.81 k/s"), ("web2", "3.42 k/s"))
LONG = entries(("asyncio × 4, median", "10 k"))


def test_a_caption_drops_units_names_digits_title_spaces_values_and_entries_in_turn():
    for legend, width, text in (
        (RATES, 70, "completed / s  threads 185/s  asyncio 2.81 k/s  uvloop 3.42 k/s"),
        (RATES, 62, "completed / s  threads 185 asyncio 2.81k uvloop 3.42k"),
        (RATES, 46, "completed / s  thre 185 asyn 2.81k uvlo 3.42k"),
        (RATES, 38, "completed / s  t 185 a 2.81k u 3.42k"),
        (RATES, 35, "completed / s  t 185 a 2.8k u 3.4k"),
        (RATES, 30, "done / s  t 185 a 2.8k u 3.4k"),
        (RATES, 28, "done / s  t185 a2.8k u3.4k"),
        (RATES, 25, "completed / s  th as uv"),
        (RATES, 17, "done / s  t a u"),
        (RATES, 14, "done / s  t …"),
        (RATES, 8, "done / s"),
        (RATES, 5, "done…"),
        # A name that ends in a digit keeps the blank before its value.
        (HOSTS, 32, "done / s  web1 2.81k web2 3.42k"),
        (HOSTS, 28, "completed / s  web1 web2"),
        (LONG, 35, "completed / s  asyncio 10k"),
    ):
        parts = caption("completed / s", legend, width, "done / s")
        assert "".join(part for part, _ in parts) == text
