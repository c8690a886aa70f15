"""Rates computed from counters and their timestamps, as a lane draws them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from concwatch.links.messages import Reached
from concwatch.monitor.statistics.rates import BestSecond, Trailing
from tests.lab_driver import running_lane, tick


def drawn(ticks, seconds):
    """Return the rates that a lane draws at 10 Hz.

    Args:
        ticks: the time of each, tasks created so far, and the seconds of a target reached with it, if any.
        seconds: the duration.
    """
    bench, lane, link = running_lane()
    start, pending = bench.now, sorted(ticks)
    while bench.now < start + seconds:
        while pending and start + pending[0][0] <= bench.now + 0.1:
            time, created, *target = pending.pop(0)
            if target:
                link.report(Reached(created, created, created, 0, *target))
            link.report(tick(time, created))
        bench.pass_()
    return list(lane.series.since("created_per_second", start)[1])


def created(time, begin, tasks, rate):
    """Return how many of ``tasks`` exist at a time, created from ``begin`` on at ``rate``."""
    return round(min(tasks, max(0.0, time - begin) * rate))


@pytest.mark.parametrize("late", [0.0, 0.03])
def test_a_burst_has_the_same_peak_at_any_phase_of_the_ticks(late):
    tasks, rate = 500, 200_000
    highest = []
    for phase in range(50):
        begin = 1 + phase / 500
        end = begin + tasks / rate
        # Ten ticks a second, some of them late, and one when all tasks have been created.
        times = [0.05 + index / 10 + late * (index % 3) for index in range(20)]
        ticks = [(time, created(time, begin, tasks, rate)) for time in times]
        found = drawn([*ticks, (end + 1e-4, tasks, tasks / rate + 1e-4)], 2.5)
        highest.append(max(value for value in found if not math.isnan(value)))
    assert max(highest) / min(highest) < 1.1
    assert max(highest) == pytest.approx(tasks / 0.1, rel=0.1)


def test_rates_fill_a_silence_and_add_up_to_the_tasks_created():
    # The worker is silent for three seconds of growth.
    times = [index / 10 for index in range(100) if not 30 < index < 60]
    found = drawn([(time, created(time, 1, 100_000, 20_000)) for time in times], 9.5)
    assert sum(value for value in found if not math.isnan(value)) / 10 == pytest.approx(100_000, rel=0.001)
    assert found[32:58] == pytest.approx([20_000] * 26)


def test_a_trailing_rate_spreads_changes_before_its_window_evenly():
    trailing = Trailing(1.0)
    assert math.isnan(trailing.rate)
    readings = ((0.0, 100), (0.0, 100), (0.5, 150), (4.5, 950), (5.0, 950), (6.0, 950))
    rates = []
    for time, count in readings:
        trailing.add(time, count)
        rates.append(trailing.rate)
    assert rates == pytest.approx([math.nan, math.nan, 50, 200, 100, 0], nan_ok=True)


def best(readings):
    second = BestSecond()
    for time, count in readings:
        second.add(time, count)
    return second.best


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ([], 0),
        ([(5, 1_000)], 0),
        ([(0, 0), (0.1, 500)], 500),  # shorter than a second
        ([(index / 10, 100 * min(max(0, index - 20), 10)) for index in range(60)], 1_000),
        ([(index / 7, index * 3) for index in range(100)], 21),
        ([(0, 0), (4, 4_000)], 1_000),  # spread over a silence
    ],
)
def test_the_best_second_is_found_at_any_offset(readings, expected):
    assert best(readings) == pytest.approx(expected)


@given(st.lists(st.tuples(st.floats(0.001, 3), st.integers(0, 10_000)), min_size=2))
def test_the_best_second_is_between_the_mean_and_the_total(steps):
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
