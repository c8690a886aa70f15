import math
from array import array
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from rich.cells import cell_len
from rich.segment import Segment

from concwatch.charts.decimation import decimate
from concwatch.charts.lines import Line
from concwatch.charts.picture import LABEL_WIDTH, compose
from concwatch.charts.scales import BYTES, COUNT, RATE, SECONDS, SHARE, Kind, linear_scale, log_scale
from concwatch.charts.strokes import rasterize
from concwatch.charts.terminal import paint
from concwatch.charts.ticks import elapsed_ticks, size_ticks, time_ticks

MIB = 1024**2
BLOCKS = set("▖▘▌▗▄▚▙▝▞▀▛▐▟▜█")
KINDS = st.sampled_from([BYTES, COUNT, RATE, SHARE])
VALUES = st.floats(allow_nan=True, allow_infinity=False)
SERIES = st.lists(st.tuples(st.floats(0, 100), VALUES), max_size=40).map(sorted)


def line(values, color="#ff0000", start=0.0, step=1.0):
    return Line("a", color, [start + step * index for index in range(len(values))], values)


def draw(lines, width, height, **options):
    """Return the rows of a picture and their texts; blanks where there is no room for one."""
    found = compose(lines, width=width, height=height, **options)
    rows = paint(found, "#888888", "#333333") if found else [[Segment(" " * width)]] * height
    return rows, ["".join(part.text for part in row) for row in rows]


def picture(*lines, width=44, height=12, now=60.0, window=60.0, kind=BYTES, logarithmic=False):
    return draw(
        lines,
        width=width,
        height=height,
        now=now,
        window=window,
        kind=kind,
        logarithmic=logarithmic,
    )


def sizes_picture(*series, width=44, height=12, margin=0.2, kind=BYTES):
    """Draw figures over sizes, both axes logarithmic; a series is a colour, a mark, and figures by size."""
    places = [math.log10(size) for _, _, points in series for size in points]
    lines = [
        Line("a", color, [math.log10(size) for size in points], list(points.values()), mark)
        for color, mark, points in series
    ]
    return draw(
        lines,
        width=width,
        height=height,
        now=max(places) + margin,
        window=max(places) - min(places) + 2 * margin,
        kind=kind,
        logarithmic=True,
        across=size_ticks,
    )


def shades(found):
    """Return which cells of each row of a plot, the top one first, have another background."""
    rows = paint(found, "#888888", "#333333", "#000000")[:-1]
    cells = [
        [segment.style.bgcolor.name != "#000000" for segment in row for _ in segment.text] for row in rows
    ]
    return [row[LABEL_WIDTH + 1 :] for row in cells]


def colors(strips):
    return {segment.style.color.name for strip in strips for segment in strip if segment.style}


@pytest.mark.parametrize(
    ("kind", "peak", "labels"),
    [
        (BYTES, 315 * MIB, ["0 B", "100 MiB", "200 MiB", "300 MiB"]),
        (BYTES, 1.4 * 1024 * MIB, ["0 B", "512 MiB", "1 GiB", "1.5 GiB"]),
        (RATE, 41_000, ["0/s", "10 k/s", "20 k/s", "30 k/s", "40 k/s", "50 k/s"]),
        (SHARE, 0.9, ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]),
        (COUNT, 0, ["0", "2", "4", "6", "8", "10"]),
    ],
)
def test_linear_labels_are_round(kind, peak, labels):
    assert [tick.label for tick in linear_scale(kind, peak, 11).ticks] == labels


def test_log_labels_climb_evenly():
    assert [tick.label for tick in log_scale(RATE, 3, 41_000, 11).ticks] == [
        "1/s",
        "10/s",
        "100/s",
        "1 k/s",
        "10 k/s",
        "100 k/s",
    ]
    assert [tick.label for tick in log_scale(BYTES, 20 * MIB, 300 * MIB, 11).ticks] == [
        "16 MiB",
        "32 MiB",
        "64 MiB",
        "128 MiB",
        "256 MiB",
        "512 MiB",
    ]


@pytest.mark.parametrize("rows", [3, 4])
def test_a_log_axis_without_room_for_a_tick_between_ends_where_its_values_do(rows):
    for kind, low, high, labels in (
        (BYTES, 8_300, 14 * MIB, ["8 KiB", "16 MiB"]),
        (RATE, 0.3, 41_000, ["0.2/s", "50 k/s"]),
        (BYTES, 30 * MIB, 30 * MIB, ["16 MiB", "32 MiB"]),
    ):
        assert [tick.label for tick in log_scale(kind, low, high, rows).ticks] == labels


def check_ticks(kind: Kind, scale, rows):
    positions = [tick.position for tick in scale.ticks]
    labels = [tick.label for tick in scale.ticks]
    assert positions == sorted(set(positions))
    assert len(set(labels)) == len(labels) <= rows
    assert all(0 <= position < rows for position in positions)
    assert all(len(label) <= LABEL_WIDTH for label in labels)
    return positions


@given(kind=KINDS, peak=st.floats(0, 1e300), rows=st.integers(3, 70))
def test_linear_scale_holds_its_peak_and_spaces_its_ticks(kind, peak, rows):
    scale = linear_scale(kind, peak, rows)
    positions = check_ticks(kind, scale, rows)
    assert positions[0] == 0
    assert len({b - a for a, b in pairwise(positions)}) <= 1
    assert scale.row(min(peak, kind.largest)) <= rows - 0.5
    assert len(positions) >= 2


@given(
    kind=KINDS,
    values=st.tuples(st.floats(0, 1e300), st.floats(0, 1e300)).map(sorted),
    rows=st.integers(3, 70),
)
def test_log_scale_holds_its_limits_and_sits_zero_on_its_floor(kind, values, rows):
    low, high = values
    scale = log_scale(kind, low, high, rows)
    check_ticks(kind, scale, rows)
    assert scale.row(0) == scale.row(-1) == 0
    assert scale.row(min(high, kind.largest)) <= rows - 0.9
    if low >= kind.smallest:
        assert scale.row(min(low, kind.largest)) >= 0


def test_the_linear_axis_is_steady_while_its_peak_wobbles():
    assert len({linear_scale(BYTES, (300 + wobble) * MIB, 11) for wobble in range(10)}) == 1


@pytest.mark.parametrize(
    ("window", "labels"),
    [
        (10, ["-10s", "-5s", "now"]),
        (60, ["-60s", "-45s", "-30s", "-15s", "now"]),
        (3600, ["-60m", "-45m", "-30m", "-15m", "now"]),
        (8 * 3600, ["-8h", "-6h", "-4h", "-2h", "now"]),
    ],
)
def test_time_labels(window, labels):
    assert [tick.label for tick in time_ticks(window, 33)] == labels


@given(window=st.floats(10, 28_800), columns=st.integers(1, 300))
def test_time_labels_never_touch(window, columns):
    ticks = time_ticks(window, columns)
    assert ticks[-1].label == "now"
    ends = [tick.position - len(tick.label) // 2 + len(tick.label) for tick in ticks]
    starts = [tick.position - len(tick.label) // 2 for tick in ticks]
    assert all(start - end >= 1 for end, start in zip(ends[:-1], starts[1:], strict=True))


@given(series=SERIES, end=st.floats(0, 200), columns=st.integers(1, 80))
def test_decimation_keeps_the_extremes_of_each_column(series, end, columns):
    times, values = [time for time, _ in series], [value for _, value in series]
    points = decimate(times, values, end - 60, end, columns)
    for column in range(columns):
        kept = [value for place, value in points if place == column and not math.isnan(value)]
        assert len(kept) <= 2
    inside = [value for place, value in points if place >= 0 and not math.isnan(value)]
    assert set(inside) <= {value for value in values if not math.isnan(value)}
    assert [place for place, _ in points] == sorted(place for place, _ in points)


def test_decimation_works_on_arrays_and_keeps_the_order_within_a_column():
    times, values = array("d", range(10)), array("d", [5, 1, 9, 5, 5, 5, 9, 5, 1, 5])
    assert decimate(times, values, -1, 9, 2) == [(0, 1), (0, 9), (1, 9), (1, 1)]


def test_closed_columns_do_not_change_as_the_window_moves():
    times = [index * 0.1 for index in range(1000)]
    values = [math.sin(index * 1.7) for index in range(1000)]
    before = decimate(times, values, 20.0, 80.0, 60)
    later = decimate(times, values, 23.0, 83.0, 60)
    assert [(c - 3, v) for c, v in before if 3 <= c < 59] == [(c, v) for c, v in later if 0 <= c < 56]
    assert [(c, v) for c, v in before if 0 <= c < 59] == [
        (c, v) for c, v in decimate(times, values, 20.4, 80.4, 60) if 0 <= c < 59
    ]


def test_a_line_enters_from_the_left_edge():
    _, rows = picture(Line("a", "#ff0000", [10.0, 70.0], [5 * MIB, 5 * MIB]), now=80.0)
    drawn = max(rows[:-1], key=lambda row: sum(char in BLOCKS for char in row))
    assert drawn[LABEL_WIDTH + 1] in BLOCKS


def test_a_value_lies_in_the_row_of_its_label():
    _, rows = picture(line([100 * MIB] * 61), line([300 * MIB] * 61, "#00ff00"))
    for label in ("100 MiB", "300 MiB"):
        row = next(row for row in rows if label in row)
        assert set(row[LABEL_WIDTH + 1 :]) == {"▄"}


def test_the_area_below_a_lone_line_is_shaded_but_no_floor_and_no_gap():
    values = [100 * MIB] * 20 + [math.nan] * 20 + [100 * MIB] * 21
    lone = compose([line(values)], width=44, height=12, now=60, window=60, kind=BYTES)
    rows = shades(lone)
    at = lone.rows - 1 - next(tick.position for tick in lone.scale.ticks if tick.label == "100 MiB")
    assert not any(map(any, rows[: at + 1]))
    assert all(row[1] and row[-2] and not row[len(row) // 2] for row in rows[at + 1 : -1])
    assert not any(rows[-1])
    two = [line(values), line(values, "#00ff00")]
    assert not any(map(any, shades(compose(two, width=44, height=12, now=60, window=60, kind=BYTES))))


def test_names_stand_at_the_ends_of_lines_where_there_is_room_and_never_on_each_other():
    levels = {"asyncio": 10, "uvloop": 11, "go": 200}
    lines = [structs.replace(line([level * MIB] * 61), name=name) for name, level in levels.items()]
    over = structs.replace(lines[2], values=[200 * MIB] * 30 + [math.nan] * 31)
    wide, narrow, ended = (
        compose(shown, width=width, height=16, now=60, window=60, kind=BYTES)
        for shown, width in ((lines, 90), (lines, 60), ([*lines[:2], over], 90))
    )
    assert sorted(name for _, name, _ in wide.names) == ["asyncio", "go", "uvloop"]
    assert len({row for row, _, _ in wide.names}) == 3
    assert wide.columns == 90 - LABEL_WIDTH - 1 - len(" asyncio")
    assert not narrow.names
    assert sorted(name for _, name, _ in ended.names) == ["asyncio", "uvloop"]


def test_gaps_are_not_bridged():
    values = [100 * MIB] * 20 + [math.nan] * 20 + [100 * MIB] * 21
    _, rows = picture(line(values))
    row = next(row for row in rows if "100 MiB" in row)[LABEL_WIDTH + 1 :]
    assert row[len(row) // 2] == "┈"
    assert row[2] == row[-3] == "▄"


def test_lines_on_top_of_each_other_stay_visible():
    strips, _ = picture(line([100 * MIB] * 61), line([100 * MIB] * 61, "#00ff00"))
    assert {"#ff0000", "#00ff00"} <= colors(strips)


def test_an_unchanged_line_is_not_drawn_again():
    rasterize.cache_clear()
    picture(line([100 * MIB] * 200))
    picture(line([100 * MIB] * 200), now=70.0)
    assert rasterize.cache_info().misses == 1


def test_equal_data_compose_equal_pictures():
    def composed(now, values):
        return compose([line(values)], width=44, height=12, now=now, window=60, kind=BYTES)

    assert composed(60.0, [5.0, math.nan, 7.0] * 20) == composed(60.01, [5.0, math.nan, 7.0] * 20)
    assert composed(60.0, [5.0] * 60) != composed(60.0, [5.0] * 59 + [1e9])


@pytest.mark.parametrize("size", [(1, 1), (5, 3), (11, 12), (44, 3)])
def test_without_room_there_is_nothing(size):
    _, rows = picture(line([1.0] * 5), width=size[0], height=size[1])
    assert rows == [" " * size[0]] * size[1]


@given(
    series=st.lists(SERIES, max_size=4),
    width=st.integers(1, 90),
    height=st.integers(1, 30),
    window=st.floats(10, 28_800),
    now=st.floats(0, 1e6),
    kind=KINDS,
    logarithmic=st.booleans(),
)
def test_every_picture_has_its_size(series, width, height, window, now, kind, logarithmic):
    lines = [Line("a", "#ff0000", [t for t, _ in points], [v for _, v in points]) for points in series]
    strips, rows = picture(
        *lines, width=width, height=height, window=window, now=now, kind=kind, logarithmic=logarithmic
    )
    assert len(strips) == height
    assert {cell_len(row) for row in rows} == {width}
    assert {len(row) for row in rows} == {width}


# Sizes instead of time.


def test_sizes_are_labelled_by_decades():
    ticks = size_ticks(6.2, 6.4, 40)
    assert [tick.label for tick in ticks] == ["1", "10", "100", "1 k", "10 k", "100 k", "1 M"]
    steps = [later.position - former.position for former, later in pairwise(ticks)]
    assert max(steps) - min(steps) <= 1


@pytest.mark.parametrize(
    ("least", "most", "columns", "labels"),
    [
        (100, 1_000, 33, ["100", "200", "500", "1 k"]),
        (100_000, 1_000_000, 33, ["100 k", "200 k", "500 k", "1 M"]),
        (2_000, 100_000, 60, ["2 k", "5 k", "10 k", "20 k", "50 k", "100 k"]),
        (2_000, 100_000, 20, ["10 k", "100 k"]),
        (1, 1_000_000, 16, ["1", "100", "10 k", "1 M"]),
        (1, 1_000_000, 11, ["1", "1 k", "1 M"]),
        (1_500, 1_500, 33, ["1 k", "2 k"]),
    ],
)
def test_sizes_close_together_have_labels_between_the_decades(least, most, columns, labels):
    low, high = math.log10(least) - 0.2, math.log10(most) + 0.2
    assert [tick.label for tick in size_ticks(high, high - low, columns)] == labels


@given(low=st.floats(0, 8), length=st.floats(0.6, 8), columns=st.integers(1, 200))
def test_size_labels_never_touch_and_stay_inside(low, length, columns):
    ticks = size_ticks(low + length, length, columns)
    ends = [tick.position - len(tick.label) // 2 + len(tick.label) for tick in ticks]
    starts = [min(tick.position - len(tick.label) // 2, columns - len(tick.label)) for tick in ticks]
    assert all(start > end for end, start in zip(ends[:-1], starts[1:], strict=True))
    assert all(0 <= tick.position < columns for tick in ticks)


@given(
    points=st.dictionaries(st.integers(1, 10**6), st.floats(1, 1e12), min_size=1, max_size=10).map(
        lambda found: dict(sorted(found.items()))
    ),
    width=st.integers(14, 120),
    height=st.integers(4, 30),
)
def test_a_few_points_are_all_inside_and_the_last_is_marked(points, width, height):
    _, rows = sizes_picture(("#ff0000", "●", points), width=width, height=height)
    assert {len(row) for row in rows} == {width}
    assert 1 <= sum(row.count("●") for row in rows) <= len(points)


def test_a_mark_stands_in_the_column_and_row_of_its_labels():
    strips, rows = sizes_picture(("#ff0000", "●", {100: 1024.0, 10_000: 2**20}), width=60)
    bottom = next(row for row in rows if "1 KiB" in row)
    top = next(row for row in rows if "1 MiB" in row)
    ticks = {tick.label: LABEL_WIDTH + 1 + tick.position for tick in size_ticks(4.2, 2.4, 51)}
    assert bottom[ticks["100"]] == top[ticks["10 k"]] == "●"
    assert "#ff0000" in colors(strips)
    between = [row for row in rows if any(char in BLOCKS for char in row)]
    assert len(between) > 4, "they are joined"


def test_one_point_alone_is_seen_and_two_series_are_told_apart():
    strips, rows = sizes_picture(
        ("#880000", "○", {1000: 32e6}), ("#ff0000", "●", {1000: 16e6}), margin=math.log10(2)
    )
    text = "".join(rows)
    assert text.count("○") == text.count("●") == 1
    assert {"#880000", "#ff0000"} <= colors(strips)
    assert rows[-1].split() == ["500", "1", "k", "2", "k"]


def test_a_mark_on_another_is_the_later_one():
    points = {10: 1.0, 100: 2.0}
    _, rows = sizes_picture(("#880000", "○", points), ("#ff0000", "●", points), kind=SECONDS)
    assert "".join(rows).count("●") == 2
    assert "○" not in "".join(rows)


def test_lines_over_time_have_no_marks():
    assert compose([line([1.0, 2.0])], width=44, height=12, now=60, window=60, kind=BYTES).marks == ()


@pytest.mark.parametrize(
    ("seconds", "labels"),
    [
        (0.5, ["0s", "0.1s", "0.2s", "0.3s", "0.4s", "0.5s"]),
        (10, ["0s", "2s", "4s", "6s", "8s", "10s"]),
        (75, ["0s", "15s", "30s", "45s", "60s", "75s"]),
        (600, ["0m", "2m", "4m", "6m", "8m", "10m"]),
    ],
)
def test_elapsed_time_begins_with_nothing(seconds, labels):
    assert [tick.label for tick in elapsed_ticks(seconds, seconds, 44)] == labels
