"""The slider's scale: readable numbers, evenly spread stops, both ends exact."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from concwatch.ui.widgets.lanes.slider_scale import StopScale

SCALES = st.builds(
    StopScale, st.sampled_from([0, 1, 2, 7, 10, 21_800, 1_000_000]) | st.integers(0, 5_000_000)
)
WIDTHS = st.integers(1, 250)
VALUES = st.integers(0, 6_000_000)


def is_readable(value: int, scale: StopScale) -> bool:
    return value == scale.maximum or len(str(value).rstrip("0")) <= 2


def test_stops_are_1_2_5_and_the_maximum():
    stops = StopScale(1_000_000).stops
    assert (*stops[:8], *stops[-3:]) == (0, 1, 2, 5, 10, 20, 50, 100, 200_000, 500_000, 1_000_000)
    assert StopScale(21_800).stops[-3:] == (10_000, 20_000, 21_800)
    assert [StopScale(maximum).stops for maximum in (0, 1, 7)] == [(0,), (0, 1), (0, 1, 2, 5, 7)]
    with pytest.raises(ValueError, match="-5 tasks"):
        StopScale(-5)


@given(SCALES)
def test_stops_are_equidistant_and_round_trip_with_exact_ends(scale):
    for index, stop in enumerate(scale.stops):
        assert scale.fraction(stop) == pytest.approx(index / max(1, len(scale.stops) - 1))
        assert scale.value(scale.fraction(stop)) == stop
    assert scale.value(0.0) == scale.fraction(0) == 0
    assert scale.value(1.0) == scale.maximum
    assert scale.fraction(scale.maximum) == (1.0 if scale.maximum else 0.0)


@given(SCALES, st.tuples(VALUES, VALUES).map(sorted), st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted))
def test_fraction_and_value_are_monotonic_and_values_are_readable(scale, values, fractions):
    places = list(map(scale.fraction, values))
    assert 0 <= places[0] <= places[1] <= 1
    dragged = list(map(scale.value, fractions))
    assert 0 <= dragged[0] <= dragged[1] <= scale.maximum
    assert all(is_readable(value, scale) for value in dragged)


@given(SCALES, WIDTHS, VALUES)
def test_cells_rise_from_0_to_the_maximum_in_readable_values(scale, width, value):
    values = [scale.value_at(cell, width) for cell in range(width)]
    assert values == sorted(values)
    assert all(is_readable(value, scale) for value in values)
    assert values[0] == 0
    assert width == 1 or values[-1] == scale.maximum
    assert (scale.value_at(-3, width), scale.value_at(width + 3, width)) == (0, scale.maximum)
    # With many cells every stop has one; with few every cell is a stop.
    assert width <= 2 * len(scale.stops) or set(values) >= set(scale.stops)
    assert width > len(scale.stops) or set(values) <= set(scale.stops)
    # Only the ends are in the end cells.
    cell = scale.cell(value, width)
    assert 0 <= cell < width
    if width >= 3 and scale.maximum:
        assert (cell == 0, cell == width - 1) == (value == 0, value >= scale.maximum)


def test_cells_between_stops_have_the_roundest_number():
    assert [StopScale().value_at(cell, 34) for cell in range(22, 33)] == [
        8_000, 10_000, 20_000, 30_000, 50_000, 80_000, 100_000, 150_000, 200_000, 500_000, 600_000,
    ]  # fmt: skip


@given(SCALES, VALUES)
def test_every_step_moves_until_the_end_and_a_fine_one_skips_no_stop(scale, value):
    for move in (scale.step, scale.fine, scale.decade):
        up, down = move(value, 1), move(value, -1)
        assert value < up <= scale.maximum if value < scale.maximum else up == scale.maximum
        assert 0 <= down < value if value > 0 else down == 0
    assert scale.fine(value, 1) <= scale.step(value, 1)
    assert scale.fine(value, -1) >= scale.step(value, -1)
