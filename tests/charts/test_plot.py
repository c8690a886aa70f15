"""Charts as values and as rows of text: axes, decimation, and positions."""

import math
from array import array
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from rich.cells import cell_len
from rich.segment import Segment

from concwatch.charts.annotations import Annotation
from concwatch.charts.captions import distinct, legend, short_label, short_value, title
from concwatch.charts.decimation import Memo, decimate, running_maximum
from concwatch.charts.painters.picture import LABEL_WIDTH, Grid, apart, compose
from concwatch.charts.painters.terminal import Painter, paint
from concwatch.charts.plot import Line, Plot
from concwatch.charts.scales import linear_scale, log_scale
from concwatch.charts.symbols import BRAILLE, OCTANTS
from concwatch.charts.ticks import age_ticks, elapsed_ticks, size_ticks
from concwatch.monitor.metrics.unit import BYTES, COUNT, RATE, SECONDS, SHARE

MIB = 1024**2
DOTS = set(BRAILLE.characters[1:])
UNITS = st.sampled_from([BYTES, COUNT, RATE, SHARE])
VALUES = st.floats(allow_nan=True, allow_infinity=False)
SERIES = st.lists(st.tuples(st.floats(0, 100), VALUES), max_size=40).map(sorted)
LEVEL = [100 * MIB] * 61
GAP = [100 * MIB] * 20 + [math.nan] * 20 + [100 * MIB] * 21


def line(values, color="#ff0000", name="a"):
    return Line(name, color, [float(second) for second in range(len(values))], values)


def plot(*lines, unit=BYTES, end=60.0, length=60.0, **options):
    return Plot("", unit, lines, end, length, **options)


def draw(chart, width=44, height=12):
    """Return the rows of a chart and their texts: spaces if it does not fit."""
    picture = compose(chart, width, height)
    rows = paint(picture, "#888888", "#333333") if picture else [[Segment(" " * width)]] * height
    return rows, ["".join(part.text for part in row) for row in rows]


def sizes(*series, margin=0.2, unit=BYTES):
    """Return a logarithmic plot of figures over sizes; a series is color, mark and figures by size."""
    places = [math.log10(size) for _, _, points in series for size in points]
    lines = [
        Line("a", color, [math.log10(size) for size in points], list(points.values()), mark)
        for color, mark, points in series
    ]
    low, high = min(places) - margin, max(places) + margin
    axes = {"logarithmic": True, "x_ticks": size_ticks, "over_time": False}
    return plot(*lines, unit=unit, end=high, length=high - low, **axes)


def shades(chart, **options):
    """Return which cells of each row of a plot, from the top, are shaded."""
    rows = Painter().paint(compose(chart, 44, 12), "#888888", "#333333", "#000000", **options)[:-1]
    cells = [[part.style.bgcolor.name != "#000000" for part in row for _ in part.text] for row in rows]
    return [row[LABEL_WIDTH + 1 :] for row in cells]


def colors(rows):
    return {segment.style.color.name for row in rows for segment in row if segment.style}


def labels(ticks):
    return [tick.label for tick in ticks]


# Axes.


@pytest.mark.parametrize("rows", [5, 6, 7, 8, 9, 10, 12, 14])
def test_a_logarithmic_axis_of_bytes_is_used_to_half_of_its_height(rows):
    for least in range(10, 24):
        for span in range(6, 22, 2):
            low, high = 1.3 * 2.0**least, 1.3 * 2.0 ** (least + span)
            assert log_scale(BYTES, low, high, rows).row(high) > 0.49 * (rows - 1), (low, high)


@pytest.mark.parametrize(
    ("ticks", "expected"),
    [
        (linear_scale(BYTES, 315 * MIB, 11).ticks, "0 B, 100 MiB, 200 MiB, 300 MiB"),
        (linear_scale(BYTES, 1.4 * 1024 * MIB, 11).ticks, "0 B, 512 MiB, 1 GiB, 1.5 GiB"),
        (linear_scale(RATE, 41_000, 11).ticks, "0/s, 10 k/s, 20 k/s, 30 k/s, 40 k/s, 50 k/s"),
        (linear_scale(SHARE, 0.9, 11).ticks, "0 %, 20 %, 40 %, 60 %, 80 %, 100 %"),
        (linear_scale(COUNT, 0, 11).ticks, "0, 2, 4, 6, 8, 10"),
        (log_scale(RATE, 3, 41_000, 11).ticks, "1/s, 10/s, 100/s, 1 k/s, 10 k/s, 100 k/s"),
        (
            log_scale(BYTES, 20 * MIB, 300 * MIB, 11).ticks,
            "16 MiB, 32 MiB, 64 MiB, 128 MiB, 256 MiB, 512 MiB",
        ),
        (log_scale(BYTES, 8_300, 14 * MIB, 3).ticks, "4 KiB, 256 KiB, 16 MiB"),
        (log_scale(BYTES, 8_300, 14 * MIB, 4).ticks, "4 KiB, 64 KiB, 1 MiB, 16 MiB"),
        (log_scale(BYTES, 4_100, 30 * MIB, 6).ticks, "4 KiB, 32 KiB, 256 KiB, 2 MiB, 16 MiB, 128 MiB"),
        (log_scale(RATE, 0.3, 41_000, 3).ticks, "0.1/s, 100/s, 100 k/s"),
        (log_scale(RATE, 0.3, 41_000, 4).ticks, "0.1/s, 10/s, 1 k/s, 100 k/s"),
        # Without a tick between the ends, the axis ends where its values do.
        *((log_scale(BYTES, 30 * MIB, 30 * MIB, rows).ticks, "16 MiB, 32 MiB") for rows in (3, 4)),
        (age_ticks(0, 10, 33), "-10s, -5s, now"),
        (age_ticks(0, 60, 33), "-60s, -45s, -30s, -15s, now"),
        (age_ticks(0, 3_600, 33), "-60m, -45m, -30m, -15m, now"),
        (age_ticks(0, 8 * 3_600, 33), "-8h, -6h, -4h, -2h, now"),
        (elapsed_ticks(0.5, 0.5, 44), "0s, 0.1s, 0.2s, 0.3s, 0.4s, 0.5s"),
        (elapsed_ticks(10, 10, 44), "0s, 2s, 4s, 6s, 8s, 10s"),
        (elapsed_ticks(75, 75, 44), "0s, 15s, 30s, 45s, 60s, 75s"),
        (elapsed_ticks(600, 600, 44), "0m, 2m, 4m, 6m, 8m, 10m"),
        (size_ticks(6.2, 6.4, 40), "1, 10, 100, 1 k, 10 k, 100 k, 1 M"),
        (size_ticks(3.2, 1.4, 33), "100, 200, 500, 1 k"),
        (size_ticks(6.2, 1.4, 33), "100 k, 200 k, 500 k, 1 M"),
        (size_ticks(5.2, 2.1, 60), "2 k, 5 k, 10 k, 20 k, 50 k, 100 k"),
        (size_ticks(5.2, 2.1, 20), "10 k, 100 k"),
        (size_ticks(6.2, 6.4, 16), "1, 100, 10 k, 1 M"),
        (size_ticks(6.2, 6.4, 11), "1, 1 k, 1 M"),
        (size_ticks(math.log10(1_500) + 0.2, 0.4, 33), "1 k, 2 k"),
    ],
)
def test_labels_are_round(ticks, expected):
    assert ", ".join(labels(ticks)) == expected


@given(
    unit=UNITS, ends=st.tuples(st.floats(0, 1e300), st.floats(0, 1e300)).map(sorted), rows=st.integers(3, 70)
)
def test_scales_include_their_values_and_their_ticks_do_not_overlap(unit, ends, rows):
    low, high = ends
    linear, logarithmic = linear_scale(unit, high, rows), log_scale(unit, low, high, rows)
    for scale in (linear, logarithmic):
        positions = [tick.position for tick in scale.ticks]
        assert positions == sorted(set(positions))
        assert len(set(labels(scale.ticks))) == len(positions) <= rows
        assert 0 <= positions[0] <= positions[-1] < rows
        assert max(len(short_label(label)) for label in labels(scale.ticks)) <= LABEL_WIDTH
        assert all(abs(tick.exact - tick.position) <= 0.25 for tick in scale.ticks), "a label off its value"
    assert linear.ticks[0].position == linear.row(0) == 0
    assert math.isnan(logarithmic.row(0)), "0 is not on the axis"
    assert len({after.position - before.position for before, after in pairwise(linear.ticks)}) == 1
    assert linear.row(min(high, unit.largest)) <= rows - 0.5
    assert logarithmic.row(max(unit.smallest, min(high, unit.largest))) <= rows - 0.9
    assert logarithmic.row(max(unit.smallest, min(low, unit.largest))) >= 0


def test_the_linear_axis_does_not_change_with_a_slightly_varying_peak():
    assert len({linear_scale(BYTES, (300 + wobble) * MIB, 11) for wobble in range(10)}) == 1


@given(
    axis=st.tuples(st.just(age_ticks), st.just(0.0), st.floats(10, 28_800))
    | st.tuples(st.just(size_ticks), st.floats(0, 8), st.floats(0.6, 8)),
    columns=st.integers(1, 200),
)
def test_x_labels_never_touch_and_stay_inside(axis, columns):
    axis_ticks, low, length = axis
    ticks = axis_ticks(low + length, length, columns)
    ends = [tick.position - len(tick.label) // 2 + len(tick.label) for tick in ticks]
    starts = [min(tick.position - len(tick.label) // 2, columns - len(tick.label)) for tick in ticks]
    assert all(start > end for end, start in zip(ends[:-1], starts[1:], strict=True))
    assert all(0 <= tick.position < columns for tick in ticks)


# Decimation.


@given(series=SERIES, end=st.floats(0, 200), columns=st.integers(1, 80))
def test_decimation_keeps_at_most_two_values_of_each_column(series, end, columns):
    times, values = [time for time, _ in series], [value for _, value in series]
    points = [point for point in decimate(times, values, end - 60, end, columns) if not math.isnan(point[1])]
    places = [place for place, _ in points]
    assert places == sorted(places)
    assert max(map(places.count, range(columns))) <= 2
    assert {value for _, value in points} <= set(values)


def test_decimation_works_on_arrays_and_keeps_the_extremes_and_their_order_within_a_column():
    times, values = array("d", range(10)), array("d", [5, 1, 9, 5, 5, 5, 9, 5, 1, 5])
    assert decimate(times, values, -1, 9, 2) == [(0, 1), (0, 9), (1, 9), (1, 1)]


def test_complete_columns_do_not_change_as_the_window_moves():
    times = [index * 0.1 for index in range(1000)]
    values = [math.sin(index * 1.7) for index in range(1000)]
    before, soon, later = (decimate(times, values, end - 60, end, 60) for end in (80.0, 80.4, 83.0))
    assert [(c - 3, v) for c, v in before if 3 <= c < 59] == [(c, v) for c, v in later if 0 <= c < 56]
    assert [(c, v) for c, v in before if 0 <= c < 59] == [(c, v) for c, v in soon if 0 <= c < 59]


@given(
    values=st.lists(st.floats(0, 100) | st.just(math.nan), min_size=20, max_size=120),
    ends=st.lists(st.floats(0, 12), min_size=1, max_size=8),
    width=st.sampled_from([5.0, 7.0]),
    together=st.sampled_from([1, 2]),
)
def test_what_is_remembered_of_a_series_does_not_change_its_decimation(values, ends, width, together):
    times, memo = [index * 0.1 for index in range(len(values))], Memo()
    for end in sorted(ends):
        known = times[: sum(time <= end for time in times)]
        seen = values[: len(known)]
        plain = decimate(known, seen, end - width, end, 20, together=together)
        points = decimate(known, seen, end - width, end, 20, memo, together)
        assert str(points) == str(plain)
        grid = Grid(linear_scale(COUNT, 100, 8), 20, 8, 4)
        assert grid.draw(points, memo=memo) == grid.draw(points)


def test_a_gap_that_a_later_report_fills_is_not_remembered():
    times, memo, nan = [index * 0.1 for index in range(50)], Memo(), math.nan
    decimate(times, [1.0] * 20 + [nan] * 30, 0, 4.9, 10, memo)
    filled = [1.0] * 50
    assert decimate(times, filled, 0, 4.9, 10, memo) == decimate(times, filled, 0, 4.9, 10)


def test_alternating_values_on_a_logarithmic_axis_are_a_line_at_the_maximum():
    jumps = plot(line([1e-6, 1e-2] * 30 + [1e-2]), unit=SECONDS, logarithmic=True)
    picture = compose(jumps, 44, 12)
    (drawn,) = picture.lines
    assert set(drawn.dots[10:]) == {drawn.dots[-1]}


def test_the_running_maximum_ends_at_a_gap():
    nan = math.nan
    points = [(0, 5.0), (0, 9.0), (1, 2.0), (2, nan), (3, 1.0), (4, 3.0), (5, 2.0), (7, 0.0)]
    rows = [(column, f"{value:g}") for column, value in running_maximum(points, 2)]
    assert rows == [(0, "9"), (1, "9"), (2, "nan"), (3, "1"), (4, "3"), (5, "3"), (7, "0")]


# Drawing.


def test_a_line_enters_from_the_left_edge():
    _, rows = draw(plot(Line("a", "#ff0000", [10.0, 70.0], [5 * MIB, 5 * MIB]), end=80.0))
    drawn = max(rows[:-1], key=lambda row: sum(char in DOTS for char in row))
    assert drawn[LABEL_WIDTH + 1] in DOTS


def test_a_value_lies_on_the_grid_line_of_its_label_and_0_on_the_axis():
    _, rows = draw(plot(line(LEVEL), line([300 * MIB] * 61, "#00ff00"), line([0] * 61, "#0000ff")))
    for label in ("100M", "300M", "    0"):
        row = next(row for row in rows if label in row)
        assert set(row[LABEL_WIDTH + 1 :].split()[0]) == {"⠒"}
    assert not set(rows[-1]) & DOTS, "nothing hangs below the axis"


def test_27_and_31_mib_of_100_on_twelve_rows_are_two_lines():
    lines = [line([value * MIB] * 61, color) for value, color in ((89, "#1"), (27, "#2"), (31, "#3"))]
    for symbols in (OCTANTS, BRAILLE):
        heights = [drawn.dots[0].bit_length() for drawn in compose(plot(*lines), 44, 13, symbols).lines]
        assert len(set(heights)) == 3
        assert min(abs(one - other) for one, other in pairwise(sorted(heights))) >= 2


def test_gaps_are_not_bridged():
    _, rows = draw(plot(line(GAP, name="")))
    row = next(row for row in rows if "100M" in row)[LABEL_WIDTH + 1 :]
    assert row[len(row) // 2] == "┈"
    assert row[2] == row[-3] == "⠒"


def test_zeros_are_left_out_of_a_logarithmic_axis():
    half = line([0.0] * 31 + [5000.0] * 30)
    picture = compose(plot(half, unit=RATE, logarithmic=True), 44, 12)
    (drawn,) = picture.lines
    assert not any(drawn.dots[:25])
    assert all(drawn.dots[-25:])


def test_where_all_is_0_there_is_only_the_axis_and_a_word():
    rows, texts = draw(plot(line([0] * 61), line([0] * 61, "#00ff00")))
    assert colors(rows) == {"#888888", "#333333"}
    assert not set("".join(texts)) & DOTS
    assert "".join(texts).split().count("zero") == 1


def test_the_area_below_a_single_line_is_shaded_except_in_gaps():
    rows = shades(plot(line(GAP, name="")))
    _, texts = draw(plot(line(GAP, name="")))
    at = next(number for number, row in enumerate(texts) if "100M" in row)
    assert not any(map(any, rows[:at]))
    assert all(row[1] and row[-2] and not row[len(row) // 2] for row in rows[at + 1 : -1])
    painted = paint(compose(plot(line(GAP, name="")), 44, 12), "#888888", "#333333", "#000000")[-2]
    axis = "".join(part.text for part in painted)[LABEL_WIDTH + 1 :]
    assert (axis[1], axis[-2], axis[len(axis) // 2]) == ("▀", "▀", "─"), "to the middle of its row"
    two = line(GAP), line(LEVEL, "#00ff00")
    assert not any(map(any, shades(plot(*two))))
    assert any(map(any, shades(plot(two[0], structs.replace(two[1], top=True)))))
    assert not any(map(any, shades(plot(line(GAP)), fills=False)))


def test_the_selected_lane_lies_on_top():
    lines = [line(LEVEL, name="a"), structs.replace(line([101 * MIB] * 61, "#00ff00", "b"), top=True)]
    for order in (lines, lines[::-1]):
        rows, _ = draw(plot(*order))
        drawn = {part.style.color.name for row in rows for part in row if set(part.text) & DOTS}
        assert drawn == {"#00ff00"}


def texts_of(picture):
    """Return the row and the text of each label."""
    return {"".join(text for text, _ in parts): row for row, parts in picture.labels}


def test_labels_have_names_where_there_is_room_else_numbers_and_never_overlap():
    lines = [
        structs.replace(line([level * MIB] * 61, name=name), number=number)
        for number, name, level in ((3, "asyncio", 10), (4, "uvloop", 11), (1, "go", 200))
    ]
    wide, narrow = (compose(plot(*lines), width, 16) for width in (90, 44))
    assert {tuple(text.split()) for text in texts_of(wide)} == {
        ("asyncio", "10M"),
        ("uvloop", "11M"),
        ("go", "200M"),
    }
    assert set(texts_of(narrow)) == {"3 10M", "4 11M", "1 200M"}
    for picture in (wide, narrow):
        assert len(set(texts_of(picture).values())) == 3
        assert {cell_len(text) for text in draw(plot(*lines), picture.width, 16)[1]} == {picture.width}
    ended = structs.replace(line([200 * MIB] * 30 + [math.nan] * 31, name="go"), number=1)
    assert set(texts_of(compose(plot(*lines[:2], ended), 44, 16))) == {"3 10M", "4 11M"}


def test_lines_that_have_no_row_of_their_own_share_a_label():
    lines = [
        structs.replace(line([level * MIB] * 61, name=f"engine {number}"), number=number)
        for number, level in enumerate((10, 12, 100, 150, 152, 200), 1)
    ]
    narrow, wider, wide = (list(texts_of(compose(plot(*lines), width, 5))) for width in (44, 54, 90))
    assert narrow == ["1,2", "3 100M", "4,5", "6 200M"], "no value beside two lines that differ"
    assert wider == ["2 12M 1 10M", "3 100M", "5 152M 4 150M", "6 200M"]
    assert wide == ["2 12M 1 10M", "engine 3  100M", "5 152M 4 150M", "engine 6  200M"]
    alike = [
        structs.replace(line([level * MIB] * 61, name=f"engine {number}"), number=number)
        for number, level in ((1, 10), (2, 10.02), (3, 100), (4, 150))
    ]
    assert list(texts_of(compose(plot(*alike), 44, 4))) == ["1=2 10M", "3 100M", "4 150M"]


def test_a_lane_alone_has_its_value_and_no_name():
    alone = line([57.2 * MIB] * 61, name="orders.py")
    assert list(texts_of(compose(plot(alone), 90, 8))) == ["57M"]
    beside = structs.replace(plot(alone), names=["orders.py", "worker.py"])
    assert list(texts_of(compose(beside, 90, 8))) == ["orders.py   57M"]


def test_processes_that_share_a_label_keep_their_numbers():
    lines = [
        line([level * MIB] * 61, name=f"app.py {pid}")
        for pid, level in ((417, 10), (418, 11), (419, 90), (420, 100))
    ]
    assert list(texts_of(compose(plot(*lines), 60, 4))) == [
        "app.py 417   10M",
        "app.py 418   11M",
        "420 100M 419 90M",
    ]


@given(
    levels=st.lists(st.integers(0, 400), min_size=1, max_size=12),
    width=st.integers(34, 100),
    rows=st.integers(5, 16),
)
def test_every_line_has_a_label_and_every_value_in_it_is_its_own(levels, width, rows):
    values = {f"#0000{number:02x}": level * MIB for number, level in enumerate(levels, 1)}
    lines = [
        structs.replace(line([value] * 61, color=color, name=f"engine-{number}"), number=number)
        for number, (color, value) in enumerate(values.items(), 1)
    ]
    names = [*(each.name for each in lines), "another"]  # a lane alone has its value only
    chart = structs.replace(plot(*lines), names=names)
    labelled = []
    for _, parts in compose(chart, width, rows).labels:
        names = [(text, color) for text, color in parts if text.strip(" ,=") and not text.startswith(" ")]
        assert all(text.rpartition("-")[2] == str(int(color[1:], 16)) for text, color in names)
        shown = [(text.strip(), color) for text, color in parts if text.startswith(" ") and text.strip(" ,=")]
        for text, color in shown:
            own = [color] if len(shown) > 1 else [color for _, color in names]
            assert {short_value(BYTES.short(values[each])) for each in own} == {text}
        labelled += [color for _, color in names]
    assert sorted(labelled) == sorted(values) if any(levels) else not labelled


def test_the_room_for_labels_does_not_depend_on_which_lanes_have_lines():
    names = ["threads", "pool", "asyncio", "uvloop"]
    margins = {
        compose(plot(line(values, name=name), names=names), 90, 16).margin
        for name, values in (("pool", LEVEL), ("asyncio", [3 * MIB] * 61))
    }
    assert margins == {1 + len("threads") + 1 + 5}


def test_hosts_whose_names_begin_alike_keep_what_tells_them_apart():
    lines = [
        structs.replace(line([level * MIB] * 61, name=f"asyncio · web{level}"), number=level)
        for level in (1, 2)
    ]
    assert len(texts_of(compose(plot(*lines), 90, 16))) == 2
    long = [structs.replace(each, name=f"asyncio on a long host · {each.name}") for each in lines]
    assert set(texts_of(compose(plot(*long), 90, 16))) == {"1 1M", "2 2M"}


def test_equal_lines_are_one_line_with_one_label():
    lines = [
        structs.replace(line(LEVEL, color, name), number=number)
        for number, name, color in ((3, "asyncio", "#ff0000"), (4, "uvloop", "#00ff00"))
    ]
    picture = compose(plot(*lines), 110, 16)
    assert len(picture.lines) == 1
    assert [text.split() for text in texts_of(picture)] == [["3=4", "100M"]]
    wide = compose(plot(*lines, names=["a much longer name"[:16]]), 110, 16)
    assert [text.split() for text in texts_of(wide)] == [["asyncio", "=", "uvloop", "100M"]]


@given(
    wanted=st.lists(st.integers(0, 11), max_size=12).map(sorted),
)
def test_labels_that_collide_are_moved_apart(wanted):
    rows = apart(wanted, 12)
    assert rows == sorted(set(rows))
    assert all(0 <= row < 12 for row in rows)
    if len(set(wanted)) == len(wanted):
        assert rows == wanted


@pytest.mark.parametrize(
    ("unit", "value", "expected"),
    [
        (BYTES, 89 * MIB, "89M"),
        (BYTES, 1.25 * 1024 * MIB, "1.2G"),
        (BYTES, 0, "0"),
        (RATE, 2_810, "2.8k"),
        (RATE, 676, "676"),
        (SECONDS, 102, "1m42"),
        (SECONDS, 8e-5, "80µs"),
        (SHARE, 0.995, "100%"),
    ],
)
def test_values_are_short_and_in_the_notation_of_the_axis(unit, value, expected):
    assert short_value(unit.short(value)) == expected


def test_a_title_has_its_longest_form_that_fits():
    assert [title("by size", "", width) for width in (40, 7, 6)] == ["by size", "by size", "by"]
    assert [title("memory over live tasks", "memory", width) for width in (22, 21)] == [
        "memory over live tasks",
        "memory",
    ]


def test_a_legend_uses_both_borders_and_no_name_in_it_is_ambiguous():
    names = ["asyncio", "asyncio-eager", "go"]
    assert legend(names, (28, 0)) == [names, []]
    assert legend(names, (20, 20)) == [["asyncio"], ["asyncio-eager", "go"]]
    assert legend(names, (24, 0)) == [["asyncio", "asyncio-e", "go"], []]
    assert legend(names, (10, 5)) == [["asyncio"], ["+2"]]
    assert legend([], (10, 10)) == [[], []]
    traced = ["threads", "threads, traced", "coroutines", "coroutines, traced"]
    shown = [name for row in legend(traced, (27, 30)) for name in row]
    assert shown == ["threads", "threads, traced", "coroutines", "coroutines, trac"]
    assert distinct(traced, 4) == ["threads", "threads, t", "coroutines", "coroutines, t"]


@given(
    names=st.lists(st.text("abc ,", min_size=1, max_size=20), unique=True),
    rooms=st.tuples(*[st.integers(-5, 60)] * 2),
)
def test_a_legend_always_fits(names, rooms):
    for row, room in zip(legend(names, rooms), rooms, strict=True):
        assert sum(2 + len(name) for name in row) <= max(0, room)


def test_equal_pictures_are_equal():
    first, soon, other = (
        compose(plot(line(values), end=end), 44, 12)
        for end, values in ((60.0, GAP), (60.01, list(GAP)), (60.0, [*GAP[:-1], 1e12]))
    )
    assert first == soon != other


@given(
    series=st.lists(SERIES, max_size=4),
    size=st.tuples(st.integers(1, 90), st.integers(1, 30)),
    length=st.floats(10, 28_800),
    end=st.floats(0, 1e6),
    unit=UNITS,
    logarithmic=st.booleans(),
)
def test_every_chart_has_the_requested_size(series, size, length, end, unit, logarithmic):
    lines = [Line("a", "#ff0000", [t for t, _ in points], [v for _, v in points]) for points in series]
    rows, texts = draw(plot(*lines, unit=unit, end=end, length=length, logarithmic=logarithmic), *size)
    assert len(rows) == size[1]
    assert {cell_len(row) for row in texts} == {len(row) for row in texts} == {size[0]}


# An x axis of sizes.


@given(
    points=st.dictionaries(st.integers(1, 10**6), st.floats(1, 1e12), min_size=1, max_size=10),
    size=st.tuples(st.integers(14, 120), st.integers(4, 30)),
)
def test_marked_points_are_all_inside(points, size):
    _, rows = draw(sizes(("#ff0000", "●", dict(sorted(points.items())))), *size)
    assert {len(row) for row in rows} == {size[0]}
    assert 1 <= sum(row.count("●") for row in rows) <= len(points)


def test_a_mark_is_in_the_column_and_row_of_its_labels_and_joined_to_the_next():
    rows, texts = draw(sizes(("#ff0000", "●", {100: 1024.0, 10_000: 2**20})), width=60)
    bottom, top = (next(row for row in texts if label in row) for label in ("   1K", "   1M"))
    ticks = {tick.label: LABEL_WIDTH + 1 + tick.position for tick in size_ticks(4.2, 2.4, 54)}
    assert bottom[ticks["100"]] == top[ticks["10 k"]] == "●"
    assert "#ff0000" in colors(rows)
    assert len([row for row in texts if DOTS & set(row)]) > 4


def test_single_points_are_visible_and_the_later_of_two_marks_in_a_cell_wins():
    published, here = ("#880000", "○"), ("#ff0000", "●")
    rows, texts = draw(sizes((*published, {1000: 32e6}), (*here, {1000: 16e6}), margin=math.log10(2)))
    text = "".join(texts)
    assert text.count("○") == text.count("●") == 1
    assert {"#880000", "#ff0000"} <= colors(rows)
    assert texts[-1].split() == ["500", "1k", "2k"]
    points = {10: 1.0, 100: 2.0}
    text = "".join(draw(sizes((*published, points), (*here, points), unit=SECONDS))[1])
    assert (text.count("●"), text.count("○")) == (2, 0)


@given(
    frames=st.lists(
        st.tuples(st.lists(st.floats(0, 100), min_size=2, max_size=30), st.floats(0, 100), st.booleans()),
        min_size=2,
        max_size=4,
    )
)
def test_a_painter_paints_what_has_changed_like_all(frames):
    painter, before = Painter(), None
    for values, other, top in frames:
        lines = line(values), structs.replace(line([other] * 30, "#00ff00", "b"), top=top)
        picture = compose(plot(*lines, unit=COUNT, end=30.0, length=30.0), 44, 12)
        rows = painter.paint(picture, "#888888", "#333333", "#000000")
        assert rows == paint(picture, "#888888", "#333333", "#000000")
        if before is not None and before[0] == picture:
            assert all(one is other for one, other in zip(rows[:-1], before[1], strict=False))
        before = picture, rows


@given(
    values=st.lists(st.floats(0, 100) | st.just(math.nan), min_size=60, max_size=60),
    moves=st.lists(st.floats(0, 4), min_size=1, max_size=8),
    note=st.floats(0, 60),
)
def test_a_painter_of_a_chart_that_moves_paints_like_a_new_one(values, moves, note):
    painter, memos, end = Painter(), [Memo(), Memo()], 30.0
    marks = [Annotation(note, "#00ff00", "note"), Annotation(note + 3, "#00ff00")]
    for move in moves:
        end = min(60.0, end + move)
        known = values[: int(end) + 1]
        lines = [
            structs.replace(line(known[shift:], color), memo=memo)
            for shift, color, memo in ((0, "#ff0000", memos[0]), (20, "#00ff00", memos[1]))
        ]
        chart = plot(*lines, unit=COUNT, end=end, length=30.0, annotations=marks)
        colors = "#888888", "#333333", "#000000"
        assert painter.paint(compose(chart, 44, 12), *colors) == paint(compose(chart, 44, 12), *colors)
        picture = compose(
            structs.replace(chart, lines=[structs.replace(one, memo=None) for one in lines]), 44, 12
        )
        assert picture.lines == compose(chart, 44, 12).lines


def test_a_line_moves_by_whole_cells_and_always_reaches_the_right_edge():
    times = [index / 10 for index in range(1200)]
    wave = Line("", "#ff0000", times, [math.sin(time) + 2 for time in times])
    pictures = [
        [row[LABEL_WIDTH + 1 :] for row in draw(plot(wave, unit=COUNT, end=60 + step / 4))[1][:-2]]
        for step in range(40)
    ]
    for before, after in pairwise(pictures):
        assert any(
            all(one[1 + by : -1] == other[1 : -1 - by] for one, other in zip(before, after, strict=True))
            for by in (0, 1)
        )
        assert any(row[-1] in DOTS for row in after)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["svc.py 15543"], ["svc.py"]),
        (["svc.py 15543", "app.py 7"], ["svc.py", "app.py 7"]),
        (["svc.py 15543", "svc.py 15544"], ["svc.py 15543", "svc.py 15544"]),
        (["java-virtual"], ["java-vir"]),
    ],
)
def test_a_number_in_a_shortened_name_is_left_out_or_kept_whole(names, expected):
    assert distinct(names, 8) == expected
