"""Annotations of a chart, and its cursor."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from concwatch.charts.annotations import Annotation, place_annotations, truncate
from concwatch.charts.decimation import decimate
from concwatch.charts.painters.picture import LABEL_WIDTH, compose
from concwatch.charts.painters.terminal import paint
from concwatch.charts.plot import Line, Plot
from concwatch.charts.ticks import CELL, column_of, time_of
from concwatch.monitor.metrics.unit import BYTES

NOW = st.floats(0, 1e6)
WINDOW = st.sampled_from([15.0, 60.0, 600.0, 28_800.0])
COLUMNS = st.integers(3, 200)


def rows(*annotations, cursor=None, lines=()):
    plot = Plot("", BYTES, lines, 100.0, 60.0, annotations=annotations, cursor=cursor)
    return ["".join(part.text for part in row) for row in paint(compose(plot, 46, 8), "#888888", "#333333")]


def place(time):
    """Return the column of a time in the result of `rows`."""
    return LABEL_WIDTH + 1 + column_of(time, 100.0, 60.0, 40)


@given(NOW, WINDOW, COLUMNS, st.data())
def test_the_time_of_a_column_maps_back_to_the_column(now, window, columns, data):
    column = data.draw(st.integers(0, columns - 1))
    assert column_of(time_of(column, now, window, columns), now, window, columns) == column
    assert time_of(column, now, window, columns) <= now


@given(NOW, WINDOW, COLUMNS, st.floats(0, 1))
def test_an_annotation_is_in_the_column_of_the_sample_at_its_time(now, window, columns, share):
    time = now - window * share
    drawn = decimate([time], [1.0], now - window, now, CELL * columns, together=CELL)[:1]
    points = [column for column, _ in drawn if column >= 0]
    places = [flag.column for flag in place_annotations([Annotation(time, "#ffffff")], now, window, columns)]
    assert [point // CELL for point in points] == places or not points


def test_a_command_is_a_tick_on_the_axis_and_a_note_a_line_with_its_text():
    drawn = rows(
        Annotation(70.0, "#ff0000"),
        Annotation(85.0, "#00ff00", "frozen"),
        Annotation(39.0, "#ff0000", "left"),
    )
    assert (drawn[-2][place(70.0)], {row[place(70.0)] for row in drawn[:-2]}) == ("▴", {" ", "┈"})
    assert all(row[place(85.0)] == "┊" for row in drawn[:-1])
    assert drawn[0][place(85.0) + 1 : place(85.0) + 7] == "frozen"
    assert "left" not in "".join(drawn)


def test_a_text_without_room_on_the_right_is_on_the_left_and_a_long_one_is_truncated():
    assert (
        rows(Annotation(99.0, "#00ff00", "the very end"))[0][place(99.0) - 12 : place(99.0)] == "the very end"
    )
    assert "b" * 23 + "…" in rows(Annotation(50.0, "#00ff00", "b" * 25))[0]
    assert (truncate("日本語", 5), truncate("日本語", 6)) == ("日本…", "日本語")


@pytest.mark.parametrize(
    "text", ["a" * 200, "日本語のマーク", "🎉", "a👩\u200d👩\u200d👧b❤\ufe0f", "e\u0301e\u0301", "\u0301"]
)
def test_all_rows_have_the_same_width_with_any_text(text):
    for time in (40.5, 50.0, 60.0, 88.0, 99.9):
        note = Annotation(time, "#00ff00", text)
        assert {cell_len(row) for row in rows(note, Annotation(70.0, "#00ff00", "later"))} == {46}
        assert text.lstrip("\u0301") in rows(note)[0] or len(text) > 24


@given(
    st.lists(st.tuples(st.floats(40.0, 100.0), st.text("ab日", min_size=1, max_size=30)), max_size=5),
    st.integers(20, 60),
)
def test_texts_never_overlap_or_cross_the_edge(notes, columns):
    annotations = [Annotation(time, "#ffffff", text) for time, text in notes]
    taken = set()
    for flag in place_annotations(annotations, 100.0, 60.0, columns):
        cells = {*range(flag.start, flag.start + cell_len(flag.text)), flag.column}
        assert cells <= set(range(columns)) - taken
        taken |= cells


def test_lines_are_drawn_over_the_cursor():
    level = Line("", "#ff0000", [40.0, 100.0], [50.0, 50.0])
    without, crossed = rows(lines=[level]), rows(lines=[level], cursor=70.0)
    column = [row[place(70.0)] for row in crossed[:-1]]
    assert column.count("│") == len(column) - 1
    assert next(row[place(70.0)] for row in without if row[place(70.0)] not in " ┈─┴") in column
    assert rows(lines=[level], cursor=20.0) == without
