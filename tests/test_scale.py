"""The slider's scale: readable numbers, evenly spread stops, both ends exact."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from concwatch.ui.scale import StopScale

maxima = st.one_of(st.sampled_from([0, 1, 2, 7, 10, 21_800, 1_000_000]), st.integers(0, 5_000_000))
scales = st.builds(StopScale, maxima)
fractions = st.floats(0, 1)
widths = st.integers(1, 250)


def significant_digits(number: int) -> int:
    return len(str(number).rstrip("0"))


def test_stops_are_1_2_5_and_then_the_maximum():
    assert StopScale(1_000_000).stops[:8] == (0, 1, 2, 5, 10, 20, 50, 100)
    assert StopScale(1_000_000).stops[-3:] == (200_000, 500_000, 1_000_000)
    assert StopScale(21_800).stops[-3:] == (10_000, 20_000, 21_800)
    assert [StopScale(maximum).stops for maximum in (0, 1, 7)] == [(0,), (0, 1), (0, 1, 2, 5, 7)]


def test_a_negative_maximum_is_refused():
    with pytest.raises(ValueError, match="-5 tasks"):
        StopScale(-5)


@given(scales)
def test_stops_stand_equally_far_apart_and_come_back(scale):
    intervals = max(1, len(scale.stops) - 1)
    for index, stop in enumerate(scale.stops):
        assert scale.fraction(stop) == pytest.approx(index / intervals)
        assert scale.value(scale.fraction(stop)) == stop


@given(scales)
def test_both_ends_are_exact(scale):
    assert scale.value(0.0) == scale.fraction(0) == 0
    assert scale.value(1.0) == scale.maximum
    assert scale.fraction(scale.maximum) == (1.0 if scale.maximum else 0.0)


@given(scales, st.integers(-10, 6_000_000), st.integers(-10, 6_000_000))
def test_fraction_grows_with_the_value(scale, one, other):
    low, high = sorted((one, other))
    assert 0 <= scale.fraction(low) <= scale.fraction(high) <= 1


@given(scales, fractions, fractions)
def test_value_grows_with_the_fraction(scale, one, other):
    low, high = sorted((one, other))
    assert 0 <= scale.value(low) <= scale.value(high) <= scale.maximum


@given(scales, fractions)
def test_a_dragged_value_is_readable(scale, fraction):
    value = scale.value(fraction)
    assert value == scale.maximum or significant_digits(value) <= 2


def test_a_typed_value_stands_between_its_neighbours():
    scale = StopScale()
    assert scale.fraction(10_000) < scale.fraction(12_345) < scale.fraction(20_000)


@given(scales, widths)
def test_cells_rise_from_nothing_to_the_maximum_in_readable_values(scale, width):
    values = [scale.value_at(cell, width) for cell in range(width)]
    assert values == sorted(values)
    assert values[0] == 0
    assert width == 1 or values[-1] == scale.maximum
    assert all(value == scale.maximum or significant_digits(value) <= 2 for value in values)
    assert (scale.value_at(-3, width), scale.value_at(width + 3, width)) == (0, scale.maximum)


@given(scales, widths)
def test_a_wide_enough_track_can_be_dragged_to_every_stop(scale, width):
    if width > 2 * len(scale.stops):
        assert {scale.value_at(cell, width) for cell in range(width)} >= set(scale.stops)


@given(scales, widths)
def test_a_track_with_few_cells_gives_whole_stops(scale, width):
    if width <= len(scale.stops):
        assert {scale.value_at(cell, width) for cell in range(width)} <= set(scale.stops)


def test_cells_between_two_stops_give_the_roundest_number():
    assert [StopScale().value_at(cell, 34) for cell in range(22, 33)] == [
        8_000, 10_000, 20_000, 30_000, 50_000, 80_000, 100_000, 150_000, 200_000, 500_000, 600_000,
    ]  # fmt: skip


@given(scales, widths, st.integers(0, 6_000_000))
def test_the_end_cells_are_for_the_ends_alone(scale, width, value):
    cell = scale.cell(value, width)
    assert 0 <= cell < width
    if width >= 3 and scale.maximum:
        assert (cell == 0) == (value == 0)
        assert (cell == width - 1) == (value >= scale.maximum)


@given(scales, st.integers(0, 6_000_000), st.sampled_from(["step", "fine", "decade"]))
def test_every_kind_of_step_moves_until_it_is_at_the_end(scale, value, kind):
    move = getattr(scale, kind)
    up, down = move(value, 1), move(value, -1)
    assert value < up <= scale.maximum if value < scale.maximum else up == scale.maximum
    assert 0 <= down < value if value > 0 else down == 0


@given(scales, st.integers(0, 6_000_000))
def test_a_fine_step_never_passes_a_stop(scale, value):
    assert scale.fine(value, 1) <= scale.step(value, 1)
    assert scale.fine(value, -1) >= scale.step(value, -1)


def test_steps_around_ten_thousand():
    scale = StopScale()
    assert [scale.step(10_000, 1), scale.step(10_000, -1), scale.step(12_345, -1)] == [20_000, 5_000, 10_000]
    assert [scale.fine(10_000, 1), scale.fine(10_000, -1), scale.fine(12_345, 1)] == [11_000, 9_500, 13_000]
    assert [scale.decade(10_000, 1), scale.decade(10_000, -1), scale.decade(0, 1)] == [100_000, 1_000, 1]
