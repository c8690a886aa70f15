"""Rates from counters and the counters' own timestamps."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from concwatch.lab.messages import Tick
from concwatch.lab.rates import BestSecond, TickRates, rate


def tick(time, created, completed=0):
    return Tick(time, created, created - completed, completed, 0, 0)


def test_a_rate_is_growth_a_second():
    assert rate(10, 30, 0.5) == 40
    assert rate(30, 10, 1) == -20
    assert math.isnan(rate(10, 30, 0))
    assert math.isnan(rate(10, 30, -1))


def test_nothing_is_known_before_the_second_tick():
    rates = TickRates()
    rates.add(tick(1, 100))
    assert math.isnan(rates.created)
    assert math.isnan(rates.completed)


def test_ticks_are_timed_by_themselves_not_by_their_arrival():
    rates = TickRates()
    for time, created in ((0.0, 0), (0.1, 1_000), (0.5, 5_000)):  # the last one is late
        rates.add(tick(time, created, created // 2))
    assert rates.created == pytest.approx(10_000)
    assert rates.completed == pytest.approx(5_000)


def test_ticks_that_were_dropped_between_two_do_not_show():
    every, some = TickRates(), TickRates()
    for index in range(11):
        every.add(tick(index / 10, index * 70))
        if index in (0, 10):
            some.add(tick(index / 10, index * 70))
    assert some.created == pytest.approx(every.created) == pytest.approx(700)


def test_a_tick_that_comes_twice_changes_no_rate():
    rates = TickRates()
    rates.add(tick(0, 0))
    rates.add(tick(1, 10))
    rates.add(tick(1, 10))
    assert rates.created == 10
    rates.add(tick(2, 30))
    assert rates.created == 20


def test_a_rate_falls_to_nothing_when_nothing_happens():
    rates = TickRates()
    for time, created in ((0, 0), (1, 10), (2, 10)):
        rates.add(tick(time, created))
    assert rates.created == 0


def best(readings):
    second = BestSecond()
    for time, count in readings:
        second.add(time, count)
    return second.best


def test_the_best_second_of_nothing_is_nothing():
    assert best([]) == 0
    assert best([(5, 1_000)]) == 0


def test_less_than_a_second_counts_as_one():
    assert best([(0, 0), (0.1, 500)]) == 500


def test_the_best_second_is_found_wherever_it_lies():
    readings = [(index / 10, 100 * min(max(0, index - 20), 10)) for index in range(60)]
    assert best(readings) == pytest.approx(1_000)


def test_a_steady_rate_is_its_own_best_second():
    assert best([(index / 7, index * 3) for index in range(100)]) == pytest.approx(21)


def test_a_leap_after_a_silence_is_spread_over_the_silence():
    assert best([(0, 0), (4, 4_000)]) == 1_000


@given(st.lists(st.tuples(st.floats(0.001, 3), st.integers(0, 10_000)), min_size=2))
def test_no_second_is_better_than_all_together_nor_worse_than_the_mean(steps):
    time, count, readings = 0.0, 0, []
    for seconds, more in steps:
        time, count = time + seconds, count + more
        readings.append((time, count))
    total = readings[-1][1] - readings[0][1]
    span = readings[-1][0] - readings[0][0]
    found = best(readings)
    assert found <= total * (1 + 1e-9)
    if span >= 1:
        assert found >= total / span / 2 - 1e-6
