import gc
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment

from concwatch.charts.captions import Entry, caption
from concwatch.charts.lines import Line
from concwatch.charts.scales import BYTES, RATE
from concwatch.ui.widgets.chart import Chart, PictureRow
from tests.screen import Plain

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


class ChartApp(Plain):
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
    assert "RSS  thre 159M asyn 29.5M uvlo 318M" in text
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
        assert "created / s  a –  b –" in screen_text(app)


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


NAMES = ["threads", "pool", "asyncio", "asyncio-eager", "uvloop"]
VALUES = st.sampled_from(["0/s", "159 MiB", "23.9 KiB", "1.25 GiB", "80.5 µs", "1 min 42 s", "–"])
ENTRIES = st.lists(st.tuples(st.sampled_from(NAMES), VALUES), max_size=5, unique_by=lambda entry: entry[0])


def entries(*pairs):
    return [Entry(name, value, "red") for name, value in pairs]


@given(title=st.sampled_from(["RSS", "tasks created / s"]), pairs=ENTRIES, width=st.integers(12, 90))
def test_a_caption_fits_and_cuts_no_value_and_no_name_below_what_tells_it_apart(title, pairs, width):
    parts = [text for text, _ in caption(title, entries(*pairs), width)]
    assert len("".join(parts)) <= width
    assert parts[0] in (title, "tasks created", "tasks") or parts[0].endswith("…")
    shown = [text for text in parts[1:] if text.strip() and "…" not in text]
    for (name, value), cut, told in zip(pairs, shown[::2], shown[1::2], strict=False):
        assert sum(other.startswith(cut) for other, _ in pairs) == 1 or cut == name
        assert told[0] == value[0]
    assert "…" in parts[-1] or len(shown) == 2 * len(pairs) or not shown


def test_a_caption_gives_up_units_names_digits_its_title_and_entries_in_turn():
    rates = entries(("threads", "185/s"), ("asyncio", "2.81 k/s"), ("uvloop", "3.42 k/s"))
    assert said("created / s", rates, 62) == "created / s  threads 185/s  asyncio 2.81 k/s  uvloop 3.42 k/s"
    assert said("created / s", rates, 51) == "created / s  threads 185 asyncio 2.81k uvloop 3.42k"
    assert said("created / s", rates, 44) == "created / s  thre 185 asyn 2.81k uvlo 3.42k"
    assert said("created / s", rates, 34) == "created / s  t 185 a 2.81k u 3.42k"
    assert said("created / s", rates, 32) == "created / s  t 185 a 2.8k u 3.4k"
    assert said("created / s", rates, 30) == "created  t 185 a 2.8k u 3.4k"
    assert said("created / s", rates, 20) == "created / s  t 185 …"
