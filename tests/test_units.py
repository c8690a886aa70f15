"""Human numbers: how they are written, and how they are read."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from concwatch import units

FINITE = st.floats(min_value=-(2.0**60), max_value=2.0**60)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (-1, "-1 B"),
        (1023, "1023 B"),
        (1023.6, "1 KiB"),
        (1024, "1 KiB"),
        (1305, "1.27 KiB"),
        (16_700, "16.3 KiB"),
        (1023.7 * 1024, "1 MiB"),
        (29.5 * 2**20, "29.5 MiB"),
        (-29.5 * 2**20, "-29.5 MiB"),
        (1.4 * 2**30, "1.4 GiB"),
        (3 * 2**40, "3 TiB"),
        (math.nan, "–"),
        (math.inf, "–"),
    ],
)
def test_bytes(size, text):
    assert units.format_bytes(size) == text


@pytest.mark.parametrize(
    ("count", "exact", "short"),
    [
        (0, "0", "0"),
        (7, "7", "7"),
        (999, "999", "999"),
        (999.6, "1,000", "1 k"),
        (1000, "1,000", "1 k"),
        (10_000, "10,000", "10 k"),
        (21_847, "21,847", "21.8 k"),
        (1_250_000, "1,250,000", "1.25 M"),
        (999_600, "999,600", "1 M"),
        (-12_345, "-12,345", "-12.3 k"),
        (-0.001, "0", "0"),
        (math.nan, "–", "–"),
        (-math.inf, "–", "–"),
    ],
)
def test_counts(count, exact, short):
    assert units.format_count(count) == exact
    assert units.format_short(count) == short


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (1e-9, "0 s"),
        (-1e-9, "0 s"),
        (80e-6, "80 µs"),
        (0.0009996, "1 ms"),
        (0.0123, "12.3 ms"),
        (0.9996, "1 s"),
        (2.4, "2.4 s"),
        (59.99, "60 s"),
        (99.96, "1 min 40 s"),
        (102, "1 min 42 s"),
        (-102, "-1 min 42 s"),
        (3599.6, "1 h 00 min"),
        (7_500, "2 h 05 min"),
        (math.nan, "–"),
        (math.inf, "–"),
    ],
)
def test_seconds(seconds, text):
    assert units.format_seconds(seconds) == text


@pytest.mark.parametrize(
    ("form", "value", "text"),
    [
        (units.format_rate, 40_000, "40 k/s"),
        (units.format_rate, 0, "0/s"),
        (units.format_rate, math.nan, "–"),
        (units.format_clock, 0, "00:00:00"),
        (units.format_clock, -3, "00:00:00"),
        (units.format_clock, 3_725.9, "01:02:05"),
        (units.format_clock, math.nan, "–"),
        (units.format_percent, 0.042, "4.2 %"),
        (units.format_percent, 1, "100 %"),
        (units.format_percent, 12.5, "1,250 %"),
        (units.format_percent, math.inf, "–"),
    ],
)
def test_rates_clocks_and_shares(form, value, text):
    assert form(value) == text


@pytest.mark.parametrize(
    ("form", "longest"),
    [
        (units.format_bytes, 9),
        (units.format_short, 14),
        (units.format_rate, 16),
        (units.format_count, 26),
        (units.format_seconds, 32),
    ],
)
@given(value=st.one_of(FINITE, st.sampled_from([math.nan, math.inf, -math.inf])))
def test_any_number_has_a_short_name(form, longest, value):
    text = form(value)
    assert 0 < len(text) <= longest
    assert text == text.strip()
    assert "\n" not in text


@given(st.floats(min_value=0, max_value=999_499_999_999))
def test_a_size_or_count_that_a_machine_can_have_takes_at_most_eight_characters(value):
    assert len(units.format_bytes(value)) <= 8
    assert len(units.format_short(value)) <= 6


SCALES = {"B": 1, **{prefix: 1024**n for n, prefix in enumerate(units.BINARY_PREFIXES[1:], 1)}}


def read_back(text):
    number, unit = text.split(" ")
    return float(number) * SCALES[unit]


@given(FINITE, FINITE)
def test_a_larger_size_never_reads_smaller(one, other):
    small, large = sorted((one, other))
    assert read_back(units.format_bytes(small)) <= read_back(units.format_bytes(large))


@given(st.floats(min_value=1, max_value=2.0**60))
def test_a_size_reads_as_what_it_is_to_three_digits(size):
    assert read_back(units.format_bytes(size)) == pytest.approx(size, rel=0.005, abs=0.5)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("1048576", 1 << 20),
        ("2GiB", 2 << 30),
        ("2 gib", 2 << 30),
        ("2G", 2 << 30),
        ("500MB", 500_000_000),
        ("1.5k", 1536),
        (".5KiB", 512),
        ("1,048,576 B", 1 << 20),
        ("60%", 600),
        ("100 %", 1000),
    ],
)
def test_sizes_are_read(text, size):
    assert units.parse_size(text, whole=1000) == size


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "0.2",
        "-1",
        "GiB",
        "two",
        "2XB",
        "1e9",
        "nan",
        "inf",
        "1,5",
        "1 2",
        "0%",
        "101%",
        "9" * 41,
    ],
)
def test_what_is_no_size_is_named_with_what_was_expected(text):
    with pytest.raises(ValueError, match="expected a positive number of bytes") as error:
        units.parse_size(text, whole=1000)
    assert text[:40] in str(error.value)


def test_a_share_of_nothing_is_no_size():
    with pytest.raises(ValueError, match='"60%" is not a size: expected a positive number') as error:
        units.parse_size("60%")
    assert 'or "60%"' not in str(error.value)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0", 0),
        ("10000", 10_000),
        ("10,000", 10_000),
        ("10_000", 10_000),
        (" 10k ", 10_000),
        ("10 K", 10_000),
        ("1.5M", 1_500_000),
        ("2.3M", 2_300_000),
        ("1.000001M", 1_000_001),
        ("1,000k", 1_000_000),
        ("1000000000", 1_000_000_000),
    ],
)
def test_counts_are_read(text, count):
    assert units.parse_count(text) == count


@pytest.mark.parametrize(("count", "text"), [(0, "0 lines"), (1, "1 line"), (2_000, "2,000 lines")])
def test_one_is_not_many(count, text):
    assert units.counted(count, "line") == text


@pytest.mark.parametrize(
    "text",
    ["", "-1", "ten", "1.5", "1,5", "1,00", ",100", "1e3", "nan", "inf", "k", "10g", "10%", "1__0", "5" * 60],
)
def test_what_is_no_count_is_named_with_what_was_expected(text):
    with pytest.raises(ValueError, match="expected a whole number from 0 to 1,000,000,000") as error:
        units.parse_count(text)
    assert text[:40] in str(error.value)


def test_too_many_says_how_many_there_may_be():
    assert units.parse_count("22k", largest=22_000) == 22_000
    with pytest.raises(ValueError, match='"22,001" is too many: expected at most 22,000'):
        units.parse_count("22,001", largest=22_000)


@given(st.integers(min_value=0, max_value=units.LARGEST_COUNT))
def test_a_count_that_was_written_reads_back(count):
    assert units.parse_count(units.format_count(count)) == count


@given(st.integers(min_value=1, max_value=units.LARGEST_SIZE))
def test_a_size_that_was_written_reads_back_to_three_digits(size):
    assert units.parse_size(units.format_bytes(size)) == pytest.approx(size, rel=0.005, abs=1)


@given(st.text(max_size=50))
def test_whatever_is_typed_is_read_or_refused(text):
    for read in (units.parse_size, units.parse_count):
        with contextlib.suppress(ValueError):
            assert read(text) >= 0
