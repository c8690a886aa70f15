"""How long tasks take, from those that have ended and those that have not."""

import math
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from concwatch.monitor.statistics.histogram import Histogram
from concwatch.monitor.statistics.survival import Survival
from concwatch.portable.agent.counting.durations import Durations

LIVES = {
    # The inverse of the distribution function, and the mean.
    "uniform": (lambda share: 0.5 + share, 1.0),
    "exponential": (lambda share: -math.log(1 - share), 1.0),
    "constant": (lambda share: 1.0, 1.0),
    "bimodal": (lambda share: 0.2 + share / 8 if share < 0.8 else 2.0 + share, 0.8 * 0.25 + 0.2 * 2.9),
}


def histogram(durations):
    found = Histogram()
    found.add(durations)
    return found


def generation(inverse, tasks, random):
    """Return how long this many tasks take: evenly spread over the distribution, in random order."""
    found = [inverse((number + 0.5) / tasks) for number in range(tasks)]
    random.shuffle(found)
    return found


def refilled(inverse, slots, until, exact=True):
    """Return what is known at a time of slots in each of which a task follows another.

    Ages are ``exact``, or means such as an agent reports.
    """
    random, ended, ages, began = Random(3), [], [], [0.0] * slots
    while began:
        lives = generation(inverse, len(began), random)
        ages += [until - start for start, life in zip(began, lives, strict=True) if start + life > until]
        done = [each for each in zip(began, lives, strict=True) if sum(each) <= until]
        ended += [life for _, life in done]
        began = [sum(each) for each in done]
    grouped = [(age, 1) for age in ages]
    if not exact:
        timed = Durations()
        timed.live = {number: SimpleNamespace(began=-age, weight=1) for number, age in enumerate(ages)}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("concwatch.portable.agent.counting.durations.monotonic", lambda: 0.0)
            grouped = timed.ages()
    return Survival(histogram(ended), [(age, tasks) for age, tasks in grouped])


@given(st.lists(st.floats(2e-6, 1e6), min_size=1), st.sampled_from([0.0, 0.1, 0.5, 0.99, 1.0]))
def test_if_all_have_ended_quantiles_and_mean_are_those_of_the_durations(durations, share):
    survival = Survival(histogram(durations))
    exact = sorted(durations)[max(0, math.ceil(share * len(durations)) - 1)]
    found = survival.quantile(share)
    assert found.seconds == pytest.approx(exact, rel=0.005)
    assert not found.at_least
    assert survival.mean().seconds == pytest.approx(sum(durations) / len(durations))


def test_the_example_of_the_textbooks():
    # Remission of 21 patients with 6-mercaptopurine (E. J. Freireich et al., Blood 21 (1963), 699-716).
    ended = [6, 6, 6, 7, 10, 13, 16, 22, 23]
    censored = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
    survival = Survival(histogram(ended), [(age, 1) for age in censored])
    shares = {6: 0.8571, 7: 0.8067, 10: 0.7529, 13: 0.6902, 16: 0.6275, 22: 0.5378, 23: 0.4482}
    for weeks, share in shares.items():
        assert survival.quantile(1 - share - 1e-4).seconds == pytest.approx(weeks, rel=0.005)
    assert survival.quantile(0.5) == (23, False)
    assert survival.quantile(0.6) == (23, True)


@pytest.mark.parametrize("name", LIVES)
@pytest.mark.parametrize("lives", [2.0, 3.3, 8.0])
@pytest.mark.parametrize("exact", [True, False])
def test_from_two_mean_lives_on_figures_are_within_half_a_percent(name, lives, exact):
    inverse, mean = LIVES[name]
    survival = refilled(inverse, 5_000, lives * mean, exact)
    for share in (0.1, 0.5, 0.9, 0.99):
        found, truth = survival.quantile(share), inverse(share)
        if truth < 0.9 * lives * mean:
            assert found == (pytest.approx(truth, rel=0.005), False)
        elif truth > lives * mean:
            assert found.at_least
            assert found.seconds <= lives * mean
    # Of a bimodal distribution nobody knows how long the longer ones take before the first has ended.
    if name != "bimodal" or lives == 8.0:
        assert survival.mean().seconds == pytest.approx(mean, rel=0.005 if lives > 2 and exact else 0.02)


def test_equal_durations_are_returned_as_they_are():
    survival = Survival(histogram([1.1] * 30), [(0.1, 5), (1.1, 3)])
    assert survival.quantile(0.5) == (1.1, False)
    assert survival.quantile(0.99) == (1.1, True)


def test_without_an_end_nothing_is_known():
    assert Survival(Histogram(), [(3.0, 10)]).quantile(0.5) == (None, False)
    assert Survival(Histogram()).mean() == (None, False)


def test_a_mean_is_a_lower_bound_if_most_tasks_have_not_ended():
    found = Survival(histogram([1.0]), [(2.0, 9)]).mean()
    assert found == (pytest.approx(1.9), True)


def test_merged_ones_are_of_all_tasks():
    one = Survival(histogram([1.0, 2.0]), [(1.5, 1)])
    other = Survival(histogram([3.0]), [(0.5, 2)])
    whole = Survival(histogram([1.0, 2.0, 3.0]), [(1.5, 1), (0.5, 2)])
    merged = Survival.merged([one, other])
    for share in (0.2, 0.5, 0.9):
        assert merged.quantile(share) == whole.quantile(share)
    assert merged.mean() == whole.mean()


def test_more_taken_back_than_there_are_leaves_those_that_ended():
    survival = Survival(histogram([1.0, 1.0, 2.0]), [(1.5, -4.0)])
    assert survival.quantile(0.5).seconds == 1.0
