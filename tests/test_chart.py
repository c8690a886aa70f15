import gc
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from textual.app import App

from concwatch.charts.captions import caption
from concwatch.charts.lines import Line
from concwatch.charts.scales import BYTES, RATE
from concwatch.ui.widgets.chart import Chart, PictureRow

MIB = 1024**2
TIMES = [float(second) for second in range(61)]
RED = Line("threads", "#ff0000", TIMES, [159 * MIB] * 61)
BLUE = Line("asyncio", "#0000ff", TIMES, [29.5 * MIB] * 61)
GREEN = Line("uvloop", "#00ff00", TIMES, [318 * MIB] * 61)


def test_a_picture_row_is_cut_as_any_and_whole_it_is_itself():
    row = PictureRow([Segment("abc"), Segment("def")], 6)
    parts = row.divide([2, 6])
    assert [part.text for part in parts] == ["ab", "cdef"]
    assert all(part is row for part in row.divide([6]))
    gc.collect()
    gc.disable()
    try:
        row.divide([6])
        del row, parts
        assert gc.collect() == 0, "it refers to itself"
    finally:
        gc.enable()


class ChartApp(App):
    def __init__(self, title="RSS", kind=BYTES):
        super().__init__()
        self.chart = Chart(title, kind, hint="switch a lane on")

    def compose(self):
        yield self.chart


def screen_text(app):
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


@pytest.fixture
def paints(monkeypatch):
    from concwatch.ui.widgets import chart

    calls = []
    monkeypatch.setattr(
        chart, "paint", lambda *args, original=chart.paint: calls.append(args) or original(*args)
    )
    return calls


async def test_shows_lines_and_their_values():
    app = ChartApp()
    async with app.run_test(size=(44, 14)) as pilot:
        app.chart.show([RED, BLUE, GREEN], 60.0)
        await pilot.pause()
        text = screen_text(app)
    assert "RSS  159 MiB 29.5 MiB 318 MiB" in text
    assert "300 MiB┤" in text
    assert "-60s" in text
    assert "now" in text


async def test_says_what_to_do_while_there_is_nothing():
    app = ChartApp()
    async with app.run_test(size=(44, 14)) as pilot:
        assert "switch a lane on" in screen_text(app)
        app.chart.show([RED], 60.0)
        await pilot.pause()
        assert "switch a lane on" not in screen_text(app)
        app.chart.show([], 61.0)
        await pilot.pause()
        assert "switch a lane on" in screen_text(app)


async def test_paints_only_what_changes(paints):
    app = ChartApp()
    async with app.run_test(size=(44, 14)):
        app.chart.show([RED], 60.0)
        app.chart.show([RED], 60.01)
        assert len(paints) == 1
        app.chart.show([RED, BLUE], 60.02)
        assert len(paints) == 2


async def test_size_window_axis_and_theme_redraw_the_data_at_hand(paints):
    app = ChartApp()
    async with app.run_test(size=(44, 14)) as pilot:
        app.chart.show([RED, BLUE], 60.0)
        await pilot.resize_terminal(60, 20)
        await pilot.pause()
        assert len(paints) == 2
        app.chart.window = 30.0
        await pilot.pause()
        assert "-30s" in screen_text(app)
        app.chart.logarithmic = True
        await pilot.pause()
        assert "32 MiB┤" in screen_text(app)
        assert len(paints) == 4
        app.theme = "textual-light"
        await pilot.pause()
        assert len(paints) == 5


async def test_is_cut_to_any_size():
    app = ChartApp()
    async with app.run_test(size=(44, 14)) as pilot:
        app.chart.show([RED, BLUE, GREEN], 60.0)
        for size in ((3, 3), (12, 4), (14, 6), (1, 1), (44, 14)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        assert "300 MiB┤" in screen_text(app)


async def test_a_gap_has_no_value():
    app = ChartApp("created / s", RATE)
    async with app.run_test(size=(44, 14)) as pilot:
        app.chart.show([Line("a", "#ff0000", TIMES, [math.nan] * 61), Line("b", "#00ff00", [], [])], 60.0)
        await pilot.pause()
        assert "created / s  – –" in screen_text(app)


async def test_the_focused_chart_stands_out():
    app = ChartApp()
    async with app.run_test(size=(44, 14)) as pilot:
        app.chart.blur()
        await pilot.pause()
        before = app.chart.styles.border_top
        app.chart.focus()
        await pilot.pause()
        assert app.chart.styles.border_top != before


def said(*arguments):
    """Return a caption as text."""
    return "".join(text for text, _ in caption(*arguments))


ENTRIES = st.lists(st.sampled_from(["0/s", "159 MiB", "1.25 GiB"]), max_size=6)


@given(title=st.sampled_from(["RSS", "tasks created / s"]), texts=ENTRIES, width=st.integers(12, 60))
def test_a_caption_fits_and_cuts_no_value(title, texts, width):
    shown = said(title, [(text, "bold red") for text in texts], width)
    assert len(shown) <= width
    heading, _, rest = shown.partition("  ")
    assert heading in (title, "tasks created", "tasks") or heading.endswith("…")
    assert title.startswith(heading.rstrip("…").rstrip())
    kept = rest.removesuffix("…").rstrip()
    brief = [{"0/s": "0", "159 MiB": "159M", "1.25 GiB": "1.25G"}[text] for text in texts]
    assert kept in {" ".join(each[:count]) for each in (texts, brief) for count in range(len(texts) + 1)}


def test_a_caption_gives_up_its_units_then_its_title_then_values():
    entries = [("185/s", "red"), ("2.81 k/s", "blue"), ("3.42 k/s", "green")]
    assert said("tasks created / s", entries, 60) == "tasks created / s  185/s 2.81 k/s 3.42 k/s"
    assert said("tasks created / s", entries, 36) == "tasks created / s  185 2.81k 3.42k"
    assert said("tasks created / s", entries, 30) == "tasks created  185 2.81k 3.42k"
    assert said("tasks created / s", entries, 20) == "tasks created  185 …"
    assert said("completed / s", entries, 24) == "completed  185 2.81k …"
    assert said("tracemalloc", entries, 27) == "tracemall…  185 2.81k 3.42k"
    assert said("tracemalloc", entries, 27, "traced") == "traced  185 2.81k 3.42k"
    assert said("tracemalloc", entries, 60, "traced").startswith("tracemalloc  ")
    named = [("t 11.1 MiB", "bold"), ("a 52 MiB", "bold"), ("–", "bold")]
    assert said("RSS", named, 21) == "RSS  t 11.1M a 52M –"
