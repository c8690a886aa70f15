"""Formatting and parsing of numbers."""

import contextlib
from functools import partial
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from concwatch.portable.protocol import units

FINITE = st.floats(min_value=-(2.0**60), max_value=2.0**60)

WRITTEN = {
    units.format_bytes: [
        (0, "0 B"), (-1, "-1 B"), (1023, "1023 B"), (1023.6, "1 KiB"), (1305, "1.27 KiB"),
        (16_700, "16.3 KiB"), (1023.7 * 1024, "1 MiB"), (-29.5 * 2**20, "-29.5 MiB"),
        (1.4 * 2**30, "1.4 GiB"), (3 * 2**40, "3 TiB"), (nan, "–"), (inf, "–"),
    ],
    units.format_count: [
        (0, "0"), (999.6, "1,000"), (21_847, "21,847"), (-12_345, "-12,345"), (-0.001, "0"), (nan, "–"),
        (-inf, "–"),
    ],
    units.format_short: [
        (7, "7"), (999.6, "1 k"), (21_847, "21.8 k"), (1_250_000, "1.25 M"), (999_600, "1 M"),
        (-12_345, "-12.3 k"), (-0.001, "0"), (nan, "–"), (-inf, "–"),
    ],
    units.format_seconds: [
        (0, "0 s"), (1e-9, "0 s"), (-1e-9, "0 s"), (80e-6, "80 µs"), (0.0009996, "1 ms"), (0.0123, "12.3 ms"),
        (0.9996, "1 s"), (2.4, "2.4 s"), (59.99, "60 s"), (99.96, "1 min 40 s"), (-102, "-1 min 42 s"),
        (3599.6, "1 h 00 min"), (7_500, "2 h 05 min"), (nan, "–"), (inf, "–"),
    ],
    units.format_rate: [(40_000, "40 k/s"), (0, "0/s"), (nan, "–")],
    units.format_clock: [(0, "00:00:00"), (-3, "00:00:00"), (3_725.9, "01:02:05"), (nan, "–")],
    units.format_number: [
        (0.41128, "0.4113"), (5_166.7, "5,167"), (0, "0"), (nan, "–"), (inf, "–"), (12, "12.00"),
        (999.96, "1,000"), (12_345_678, "12,350,000"), (-3.14159, "-3.142"),
    ],
    units.format_exactly: [(5166.721, "5,166.721"), (32.0, "32"), (1_000_000, "1,000,000"), (0.1, "0.1")],
    units.format_percent: [(0.042, "4.2 %"), (1, "100 %"), (12.5, "1,250 %"), (inf, "–")],
}  # fmt: skip


@pytest.mark.parametrize("form", WRITTEN)
def test_numbers_are_formatted(form):
    for value, text in WRITTEN[form]:
        assert form(value) == text, value


def test_counted_uses_the_singular_for_one():
    assert [units.counted(count, "line") for count in (0, 1, 2_000)] == ["0 lines", "1 line", "2,000 lines"]


LONGEST = {
    units.format_bytes: 9, units.format_short: 14, units.format_rate: 16, units.format_count: 26,
    units.format_seconds: 32,
}  # fmt: skip


@given(FINITE | st.sampled_from([nan, inf, -inf]), st.floats(min_value=0, max_value=999_499_999_999))
def test_any_number_is_short_and_realistic_ones_have_at_most_eight_characters(value, possible):
    for form, longest in LONGEST.items():
        text = form(value)
        assert 0 < len(text) <= longest
        assert (text, "\n" in text) == (text.strip(), False)
    assert len(units.format_bytes(possible)) <= 8
    assert len(units.format_short(possible)) <= 6


SCALES = {"B": 1, **{prefix: 1024**n for n, prefix in enumerate(units.BINARY_PREFIXES[1:], 1)}}


def read_back(size):
    number, unit = units.format_bytes(size).split(" ")
    return float(number) * SCALES[unit]


@given(FINITE, FINITE)
def test_a_formatted_size_is_accurate_and_monotonic(one, other):
    small, large = sorted((one, other))
    assert read_back(small) <= read_back(large)
    assert read_back(one) == pytest.approx(one, rel=0.005, abs=0.5)


def read_size(text):
    return units.parse_size(text, whole=1000)


READ = {
    read_size: {
        "1": 1, "1048576": 1 << 20, "2GiB": 2 << 30, "2 gib": 2 << 30, "2G": 2 << 30, "500MB": 500_000_000,
        "1.5k": 1536, ".5KiB": 512, "1,048,576 B": 1 << 20, "60%": 600, "100 %": 1000,
    },
    units.parse_count: {
        "0": 0, "10,000": 10_000, "10_000": 10_000, " 10k ": 10_000, "10 K": 10_000, "2.3M": 2_300_000,
        "1.000001M": 1_000_001, "1,000k": 1_000_000, "1000000000": 1_000_000_000,
    },
}  # fmt: skip
REFUSED = {
    read_size: (
        "expected a positive number of bytes",
        ("", "0", "0.2", "-1", "GiB", "2XB", "1e9", "nan", "inf", "1,5", "1 2", "0%", "101%", "9" * 41),
    ),
    units.parse_size: ("expected a positive number of bytes", ("60%",)),
    units.parse_count: (
        "expected a whole number from 0 to 1,000,000,000",
        ("", "-1", "1.5", "1,5", "1,00", ",100", "1e3", "nan", "inf", "k", "10g", "10%", "1__0", "5" * 60),
    ),
    partial(units.parse_count, largest=22_000): ("is too many; expected at most 22,000", ("22,001", "23k")),
}  # fmt: skip


@pytest.mark.parametrize("read", READ)
def test_numbers_are_parsed(read):
    assert {text: read(text) for text in READ[read]} == READ[read]


@pytest.mark.parametrize("read", REFUSED)
def test_errors_name_the_invalid_number_and_what_was_expected(read):
    expected, texts = REFUSED[read]
    for text in texts:
        with pytest.raises(ValueError, match=expected) as error:
            read(text)
        assert str(error.value).startswith(f'"{text[:40]}" is ')
        assert ('or "60%"' in str(error.value)) is (read is read_size)


@given(st.integers(0, units.LARGEST_COUNT), st.integers(1, units.LARGEST_SIZE), st.text(max_size=50))
def test_formatted_numbers_parse_back_and_any_text_parses_or_raises_a_value_error(count, size, text):
    assert units.parse_count(units.format_count(count)) == count
    assert units.parse_size(units.format_bytes(size)) == pytest.approx(size, rel=0.005, abs=1)
    for read in (units.parse_size, units.parse_count):
        with contextlib.suppress(ValueError):
            assert read(text) >= 0
