"""Histograms with few buckets."""

from hypothesis import given
from hypothesis import strategies as st

from concwatch.monitor.statistics.buckets import BOUNDS, EMPTY

DURATIONS = st.lists(
    st.tuples(st.one_of(st.floats(0, 1e4), st.sampled_from(BOUNDS)), st.integers(1, 100)), max_size=30
)


@given(DURATIONS, DURATIONS)
def test_each_duration_counts_in_all_buckets_whose_bound_it_does_not_exceed(first, second):
    both = EMPTY.with_weighted(first).with_weighted(second)
    expected = [sum(weight for value, weight in first + second if value <= bound) for bound in BOUNDS]
    everything = sum(weight for _, weight in first + second)
    assert both.cumulative == [*expected, everything]
    assert abs(both.seconds - sum(value * weight for value, weight in first + second)) <= 1e-9 * both.seconds
