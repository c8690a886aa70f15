"""The samples of a lane over hours: bounded memory, order, gaps and extremes."""

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from concwatch.monitor.metrics import series as module
from concwatch.monitor.metrics.metrics import blank_sample
from concwatch.monitor.metrics.series import BLOCK, BUCKET, CHARTED, COARSE, FINE, Series, extremes

HZ = 10


def filled(count, rss=lambda index: index):
    series, others = Series(), [None] * (len(CHARTED) - 1)
    for index in range(count):
        series._add(index / HZ, (rss(index), *others))  # `append` takes three times as long
    return series


def size(series):
    return sum(
        sys.getsizeof(column)
        for part in (series._fine, series._coarse)
        for column in (part.times, *part.values.values())
    )


def test_unknown_values_are_gaps():
    series = Series()
    assert (len(series), math.isnan(series.last("rss"))) == (0, True)
    assert [list(column) for column in series.since("rss", 0)] == [[], []]
    series.append(blank_sample(0, 0.0, rss=0))
    assert series.last("rss") == 0
    assert all(math.isnan(series.last(metric)) for metric in CHARTED if metric != "rss")


def test_a_rate_fills_the_gap_since_the_last_tick_of_the_same_worker():
    series = Series()
    for time, (rss, rate) in enumerate([(1, 5.0), (1, None), (None, None), (1, None), (1, None), (1, 7.0)]):
        series.append(blank_sample(0, time, rss=rss, created_per_second=rate))
    values = list(series.since("created_per_second", 0)[1])
    assert values == pytest.approx([5, math.nan, math.nan, 7, 7, 7], nan_ok=True)


def test_eight_hours_take_less_than_two_megabytes_and_keep_all_extremes():
    hours = 8 * 3600 * HZ
    spike, dip = 12_345, 23_456
    series = filled(hours, lambda index: {spike: 1e9, dip: -1e9}.get(index, index))
    assert size(series) < 2 << 20
    times, values = series.since("rss", 0)
    assert times[0] == 0
    assert times[-1] == (hours - 1) / HZ
    assert list(times) == sorted(set(times))
    assert len(times) == len(values) < FINE + BLOCK + 2 * hours / BUCKET
    for index, value in ((spike, 1e9), (dip, -1e9)):
        (near,) = [time for time, found in zip(times, values, strict=True) if found == value]
        assert near == pytest.approx(index / HZ, abs=BUCKET / HZ)
    times[0] = values[0] = 99.0  # a copy
    assert series.since("rss", 0)[0][0] == 0
    # Every sample of the last ten minutes is kept.
    times, values = series.since("rss", (hours - FINE + 1) / HZ)
    assert list(values) == list(range(hours - FINE, hours))
    assert times[0] == (hours - FINE) / HZ


def test_folding_keeps_only_gaps_that_fill_a_bucket():
    series = Series()
    for index in range(FINE + BLOCK):
        gap = index == 30 or BUCKET <= index < 2 * BUCKET
        series.append(blank_sample(0, index / HZ, rss=None if gap else 1))
    values = list(series.since("rss", 0)[1])
    assert values[:2] == [1.0, 1.0]
    assert all(map(math.isnan, values[2:4]))
    assert values[4:6] == [1.0, 1.0]


def test_the_oldest_folded_samples_are_dropped(monkeypatch):
    monkeypatch.setattr(module, "COARSE", 100)
    series = filled(FINE + 12 * BLOCK)
    assert len(series) <= FINE + BLOCK + 100
    assert series.since("rss", 0)[0][0] > 0
    assert COARSE > 24 * 3600 * HZ / BUCKET * 2


@pytest.mark.parametrize("count", [50, FINE + BLOCK, 15_000])
def test_a_window_starts_with_the_last_sample_before_it(count):
    series = filled(count)
    all_times = list(series.since("rss", -1)[0])
    for start in (0.0, 0.05, 2.0, 66.6, 599.95, 600.0, 1200.0, count / HZ, count / HZ + 5):
        before = [time for time in all_times if time < start]
        expected = [*before[-1:], *(time for time in all_times if time >= start)]
        assert list(series.since("rss", start)[0]) == expected, start


@given(st.lists(st.one_of(st.just(math.nan), st.floats(allow_nan=False))))
def test_extremes_ignore_gaps(values):
    least, greatest = extremes(values)
    known = [value for value in values if not math.isnan(value)] or [math.nan]
    assert [least, greatest] == pytest.approx([min(known), max(known)], rel=0, abs=0, nan_ok=True)
