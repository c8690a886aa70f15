"""Moments on a chart's axis: where they stand, and what is drawn there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from concwatch.charts.annotations import Moment, cut, flags
from concwatch.charts.decimation import decimate
from concwatch.charts.lines import Line
from concwatch.charts.picture import LABEL_WIDTH, compose
from concwatch.charts.scales import BYTES
from concwatch.charts.terminal import paint
from concwatch.charts.ticks import column_of, time_of

NOW = st.floats(0, 1e6)
WINDOW = st.sampled_from([15.0, 60.0, 600.0, 28_800.0])
COLUMNS = st.integers(3, 200)


@given(NOW, WINDOW, COLUMNS, st.data())
def test_the_moment_of_a_column_lies_in_it(now, window, columns, data):
    column = data.draw(st.integers(0, columns - 1))
    assert column_of(time_of(column, now, window, columns), now, window, columns) == column
    assert time_of(column, now, window, columns) <= now


@given(NOW, WINDOW, COLUMNS, st.floats(0, 1))
def test_a_mark_stands_where_the_sample_of_that_moment_does(now, window, columns, share):
    time = now - window * share
    points = [column for column, _ in decimate([time], [1.0], now - window, now, 2 * columns) if column >= 0]
    places = [flag.column for flag in flags([Moment(time, "#ffffff")], now, window, columns)]
    assert [point // 2 for point in points] == places or not points


def test_moments_outside_the_window_are_not_placed():
    assert flags([Moment(39.0, "#ffffff"), Moment(101.0, "#ffffff")], 100.0, 60.0, 40) == ()


def rows(*moments, cursor=None, lines=(), now=100.0):
    picture = compose(
        lines, width=49, height=8, now=now, window=60.0, kind=BYTES, moments=moments, cursor=cursor
    )
    return ["".join(part.text for part in row) for row in paint(picture, "#888888", "#333333")]


def test_a_command_is_a_tick_on_the_axis_and_a_note_a_line_with_its_text():
    found = rows(Moment(70.0, "#ff0000"), Moment(85.0, "#00ff00", "frozen"))
    tick, note = (LABEL_WIDTH + 1 + column_of(time, 100.0, 60.0, 40) for time in (70.0, 85.0))
    assert [row[tick] for row in found[:-1]] == [" ", " ", " ", "┈", " ", " ", "▴"] or found[-2][tick] == "▴"
    assert all(row[note] == "┊" for row in found[:-1])
    assert found[0][note + 1 : note + 7] == "frozen"


def test_a_text_without_room_on_the_right_stands_on_the_left():
    (found, *_) = rows(Moment(99.0, "#00ff00", "the very end"))
    place = LABEL_WIDTH + 1 + column_of(99.0, 100.0, 60.0, 40)
    assert found[place - 12 : place] == "the very end"


@pytest.mark.parametrize("time", [40.5, 60.0, 99.9])
def test_a_text_longer_than_the_chart_is_cut(time):
    assert all(len(row) == 49 for row in rows(Moment(time, "#00ff00", "a" * 200)))


def test_what_was_measured_is_seen_before_the_cursor():
    level = Line("a", "#ff0000", [40.0, 100.0], [50.0, 50.0])
    column = LABEL_WIDTH + 1 + column_of(70.0, 100.0, 60.0, 40)
    without, found = rows(lines=[level]), rows(lines=[level], cursor=70.0)
    under = [row[column] for row in found[:-1]]
    assert under.count("│") == len(under) - 1
    assert next(row[column] for row in without if row[column] not in " ┈─┴") in under
    assert rows(lines=[level], cursor=20.0) == without


@pytest.mark.parametrize("time", [50.0, 60.0, 88.0, 99.9])
@pytest.mark.parametrize(
    "text", ["日本語のマーク", "🎉", "a👩\u200d👩\u200d👧b❤\ufe0f", "e\u0301e\u0301", "\u0301"]
)
def test_letters_of_two_cells_keep_the_row_as_wide_as_all_others(time, text):
    found = rows(Moment(time, "#00ff00", text), Moment(70.0, "#00ff00", "later"))
    assert {cell_len(row) for row in found} == {49}
    (found, *_) = rows(Moment(time, "#00ff00", text))
    assert text.lstrip("\u0301") in found


def test_a_text_that_is_cut_says_that_it_goes_on():
    (found, *_) = rows(Moment(50.0, "#00ff00", "b" * 25))
    assert "b" * 23 + "…" in found
    assert cut("日本語", 5) == "日本…"
    assert cut("日本語", 6) == "日本語"


@given(
    st.lists(st.tuples(st.floats(40.0, 100.0), st.text("ab日", min_size=1, max_size=30)), max_size=5),
    st.integers(20, 60),
)
def test_texts_never_run_into_each_other_or_over_the_edge(notes, columns):
    moments = [Moment(time, "#ffffff", text) for time, text in notes]
    seen = [
        set(range(flag.start, flag.start + cell_len(flag.text))) | {flag.column}
        for flag in flags(moments, 100.0, 60.0, columns)
    ]
    for index, cells in enumerate(seen):
        assert all(not cells & others for others in seen[index + 1 :])
