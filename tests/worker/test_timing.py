"""The choice of timed tasks, and the times of a tick, on a simulated clock."""

import math
import random

import pytest

from concwatch.portable.worker.timing import BUCKET, MAX_TIMES, RATE, Timing


class TimedRun:
    """Tasks created at given times; ``timed`` has the index and time of the timed ones."""

    def __init__(self):
        self.now = 0.0
        self.timing = Timing(lambda: self.now)
        self.created = 0
        self.timed = []

    def create(self, times):
        for self.now in times:
            if self.timing.choose() is not None:
                self.timed.append((self.created, self.now))
            self.created += 1


def poisson(rate, seconds, seed=1):
    source, now = random.Random(seed), 0.0
    while (now := now + source.expovariate(rate)) < seconds:
        yield now


def slices(size, interval, seconds):
    """Return the times of tasks created in slices: ``size`` tasks within 1 ms, every ``interval`` seconds."""
    return (
        turn * interval + place * 1e-3 / size
        for turn in range(int(seconds / interval))
        for place in range(size)
    )


@pytest.mark.parametrize(
    ("times", "least"),
    [
        (lambda: poisson(300, 10), 0),
        (lambda: poisson(3_000, 2), 0.95 * 2 * RATE),
        (lambda: poisson(20_000, 2), 0.95 * 2 * RATE),
        (lambda: poisson(50_000, 2), 0.95 * 2 * RATE),
        (lambda: slices(1_024, 0.01, 2), 0),
        (lambda: slices(5_000, 3, 15), 0),
        (lambda: [0.0] * 5_000, 0),
    ],
    ids=["300", "3000", "20000", "50000", "slices", "bursts", "at once"],
)
def test_at_most_a_thousand_tasks_a_second_and_hardly_fewer_are_timed(times, least):
    run = TimedRun()
    run.create(times())
    timed = [now for _, now in run.timed]
    assert len(timed) >= least
    for first, last in zip(timed, timed[RATE + BUCKET :], strict=False):
        assert last - first >= 1 - 1e-6


def test_at_most_a_third_of_many_tasks_is_timed_also_at_a_low_rate():
    run = TimedRun()
    run.create([0.0] * 1_000)
    before = run.created, len(run.timed)
    run.create(1 + index / 500 for index in range(10_000))
    share = (len(run.timed) - before[1]) / (run.created - before[0])
    assert 0.3 < share <= 0.34


def test_timed_tasks_are_spread_evenly_over_slices_of_growth():
    run = TimedRun()
    run.create(slices(1_024, 0.01, 5))
    places = [index % 1_024 for index, _ in run.timed[2 * BUCKET :]]
    quarters = [sum(place // 256 == quarter for place in places) / len(places) for quarter in range(4)]
    assert quarters == pytest.approx([0.25] * 4, abs=0.03)


def test_the_durations_of_timed_tasks_are_representative():
    run, source = TimedRun(), random.Random(2)
    run.create(poisson(5_000, 30))
    every = [0.2 * math.exp(source.gauss(0, 0.5)) for _ in range(run.created)]
    timed = sorted(every[index] for index, _ in run.timed)
    every.sort()
    for share, rel in ((0.5, 0.01), (0.99, 0.03)):
        assert timed[int(share * len(timed))] == pytest.approx(every[int(share * len(every))], rel=rel)


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
    one_by_one, together = TimedRun(), TimedRun()
    times = list(slices(1_000, 0.1, 3))
    one_by_one.create(times)
    while together.created < len(times):
        together.created += together.timing.skip(len(times) - together.created)
        together.create(times[together.created : together.created + 1])
    assert together.timed == one_by_one.timed
