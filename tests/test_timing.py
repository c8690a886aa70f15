"""Which tasks are timed, and the times of a tick, with time passed in: no engine, no clock."""

import math
import random

import pytest

from concwatch.worker.timing import BUCKET, MAX_TIMES, RATE, Timing


class Run:
    """Tasks created at given moments; keeps the index and the moment of those that are timed."""

    def __init__(self):
        self.now = 0.0
        self.timing = Timing(lambda: self.now)
        self.created = 0
        self.timed = []

    def create(self, moments):
        for self.now in moments:
            if self.timing.choose() is not None:
                self.timed.append((self.created, self.now))
            self.created += 1


def poisson(rate, seconds, seed=1):
    source, now = random.Random(seed), 0.0
    while (now := now + source.expovariate(rate)) < seconds:
        yield now


def slices(size, interval, seconds):
    """Growth in slices: ``size`` tasks within 1 ms, then nothing until the next."""
    return (
        turn * interval + place * 1e-3 / size
        for turn in range(int(seconds / interval))
        for place in range(size)
    )


@pytest.mark.parametrize(
    "moments",
    [
        lambda: poisson(300, 10),
        lambda: poisson(5_000, 3),
        lambda: poisson(50_000, 2),
        lambda: slices(1_024, 0.01, 2),
        lambda: slices(5_000, 3, 15),
        lambda: [0.0] * 5_000,
    ],
    ids=["few", "many", "most", "slices", "bursts", "at once"],
)
def test_at_most_a_thousand_tasks_a_second_are_timed(moments):
    run = Run()
    run.create(moments())
    times = [now for _, now in run.timed]
    for first, last in zip(times, times[RATE + BUCKET :], strict=False):
        assert last - first >= 1 - 1e-6


@pytest.mark.parametrize("rate", [3_000, 20_000, 50_000])
def test_the_allowed_number_of_timed_tasks_is_nearly_used_up(rate):
    run = Run()
    run.create(poisson(rate, 2))
    assert len(run.timed) > 0.95 * 2 * RATE


def test_at_most_a_third_of_many_tasks_is_timed_also_at_a_low_rate():
    run = Run()
    run.create([0.0] * 1_000)
    before = run.created, len(run.timed)
    run.create(1 + index / 500 for index in range(10_000))
    share = (len(run.timed) - before[1]) / (run.created - before[0])
    assert 0.3 < share <= 0.34


def test_timed_tasks_are_spread_evenly_over_slices_of_growth():
    run = Run()
    run.create(slices(1_024, 0.01, 5))
    places = [index % 1_024 for index, _ in run.timed[2 * BUCKET :]]
    quarters = [sum(place // 256 == quarter for place in places) / len(places) for quarter in range(4)]
    assert quarters == pytest.approx([0.25] * 4, abs=0.03)


def test_the_durations_of_timed_tasks_are_representative():
    run, source = Run(), random.Random(2)
    run.create(poisson(5_000, 30))
    lengths = [0.2 * math.exp(source.gauss(0, 0.5)) for _ in range(run.created)]
    timed = sorted(lengths[index] for index, _ in run.timed)
    lengths.sort()
    for share, near in ((0.5, 0.01), (0.99, 0.03)):
        assert timed[int(share * len(timed))] == pytest.approx(lengths[int(share * len(lengths))], rel=near)


def test_times_are_drained_once_and_rounded():
    timing = Timing(lambda: 0.0)
    timing.record_start(1.0, 1.00012344)
    timing.record_completion(1.0, 13.34567)
    timing.record_completion(1.0, 1.0000006)
    assert timing.drain() == {"durations": [12.35, 1e-06], "delays": [0.000123]}
    assert timing.drain() == {"durations": [], "delays": []}


def test_the_oldest_times_are_dropped_when_not_drained():
    timing = Timing(lambda: 0.0)
    for index in range(MAX_TIMES + 5):
        timing.record_completion(0.0, index)
    times = timing.drain()["durations"]
    assert (len(times), times[0]) == (MAX_TIMES, 5)


def test_skipping_several_tasks_times_the_same_ones_as_choosing_one_by_one():
    one_by_one, together = Run(), Run()
    moments = list(slices(1_000, 0.1, 3))
    one_by_one.create(moments)
    while together.created < len(moments):
        skipped = together.timing.skip(len(moments) - together.created)
        together.created += skipped
        together.create(moments[together.created : together.created + 1])
    assert together.timed == one_by_one.timed
