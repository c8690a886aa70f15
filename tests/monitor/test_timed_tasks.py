"""How long the tasks of a lane take, from what its ticks report of those that are timed."""

import math
from heapq import heapify, heappop, heappush
from itertools import count
from random import Random

import pytest

from concwatch.monitor.workers.timed_tasks import MOST_COHORTS, TimedTasks
from concwatch.portable.protocol.workloads import GOLDEN
from tests.monitor.test_survival import LIVES


class VirtualWorker:
    """Holds a target in virtual time, and reports ticks at irregular intervals of 0.1 s on average.

    Args:
        inverse: the inverse of the distribution function of how long tasks take.
        timed: the share of tasks that are timed.
    """

    def __init__(self, inverse, timed=1.0):
        self.now, self.live = 0.0, 0
        self.tasks = TimedTasks(0.0)
        self._inverse, self._timed = inverse, timed
        self._number, self._random = count(1), Random(7)
        self._due = []  # when live tasks end, how long they take, and whether they are timed
        self._target, self._rate, self._missing = 0, math.inf, 0.0
        self._begun, self._durations, self._completed, self._lost = 0, [], 0, 0

    def hold(self, target, rate=math.inf):
        """Set the target; tasks are created at ``rate`` per second, or cancelled at once."""
        if target < self.live:
            self._random.shuffle(self._due)
            self._lost += self.live - target
            del self._due[target:]
            heapify(self._due)
            self.live = target
        self._target, self._rate = target, rate

    def _create(self, now):
        seconds, timed = self._inverse(next(self._number) * GOLDEN % 1), self._random.random() < self._timed
        heappush(self._due, (now + seconds, seconds, timed))
        self.live += 1
        self._begun += timed

    def advance(self, seconds):
        """Let time pass, and report a tick every tenth of a second."""
        until = self.now + seconds
        while self.now < until:
            tick = self.now + 0.1 * self._random.uniform(0.8, 1.2)
            growing = min(self._target - self.live, self._rate * (tick - self.now))
            births = [self.now + (tick - self.now) * k / growing for k in range(int(growing))]
            if self._rate == math.inf:
                births = [self.now + 0.001] * int(growing)
            births.reverse()
            while True:
                if births and (not self._due or births[-1] <= self._due[0][0]):
                    self._create(births.pop())
                elif self._due and self._due[0][0] <= tick:
                    now, duration, timed = heappop(self._due)
                    self.live -= 1
                    self._completed += 1
                    if timed:
                        self._durations.append(duration)
                    if self.live + len(births) < self._target and self.live >= 0:
                        self._create(now)
                else:
                    break
            self.now = tick
            self.report()

    def report(self):
        """Report a tick."""
        self.tasks.add(
            self.now,
            self._begun,
            self._durations,
            self.live,
            completed=self._completed,
            lost=self._lost,
        )
        self._begun, self._durations, self._completed, self._lost = 0, [], 0, 0

    def error(self, share=0.5):
        """Return the relative error of a quantile; infinite if it is only a lower bound."""
        found = self.tasks.survival.quantile(share)
        return math.inf if found.at_least else found.seconds / self._inverse(share) - 1


@pytest.mark.parametrize("name", LIVES)
def test_from_two_mean_lives_on_the_median_is_within_half_a_percent(name):
    inverse, mean = LIVES[name]
    worker = VirtualWorker(inverse)
    worker.hold(4_000)
    worker.advance(2.2 * mean)
    for _ in range(4):
        assert worker.error() == pytest.approx(0, abs=0.005)
        worker.advance(1.3 * mean)
    if name != "bimodal":  # whose p99 is at 3.7 mean lives
        assert worker.error(0.99) == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize("name", ["uniform", "exponential", "constant"])
def test_so_it_is_while_the_lane_grows(name):
    worker = VirtualWorker(LIVES[name][0])
    worker.hold(4_000, rate=1_200)
    worker.advance(3.0)
    assert worker.live < 4_000
    assert worker.error() == pytest.approx(0, abs=0.01)
    worker.advance(3.0)
    assert worker.error() == pytest.approx(0, abs=0.005)


@pytest.mark.parametrize("name", ["uniform", "exponential", "constant"])
def test_cancelled_tasks_count_as_longer_than_their_age(name):
    worker = VirtualWorker(LIVES[name][0])
    worker.hold(4_000)
    worker.advance(1.65)
    worker.hold(1_000)
    worker.advance(0.3)
    worker.hold(3_000)
    worker.advance(2.5)
    # When in a tick they were cancelled is unknown: here, three quarters were at its beginning.
    assert worker.error() == pytest.approx(0, abs=0.02)
    if name == "constant":
        assert worker.error(0.99) == 0


@pytest.mark.parametrize("name", ["uniform", "exponential", "constant"])
def test_when_all_are_cancelled_the_estimates_remain(name):
    worker = VirtualWorker(LIVES[name][0])
    worker.hold(4_000)
    worker.advance(6.0)
    worker.hold(0)
    worker.advance(0.5)
    assert worker.live == 0
    assert worker.error() == pytest.approx(0, abs=0.005)
    assert worker.error(0.99) == pytest.approx(0, abs=0.03)


def test_if_some_tasks_are_timed_they_stand_for_all():
    worker = VirtualWorker(LIVES["uniform"][0], timed=0.2)
    worker.hold(5_000)
    worker.advance(5.0)
    assert worker.error() == pytest.approx(0, abs=0.015)  # the error of a sample


@pytest.mark.parametrize("name", ["uniform", "exponential", "constant"])
def test_what_began_before_the_observation_is_left_out(name):
    worker = VirtualWorker(LIVES[name][0])
    worker.hold(4_000)
    worker.advance(3.33)
    worker.tasks = TimedTasks(worker.now, worker.live)
    worker.advance(2.5)
    assert worker.error() == pytest.approx(0, abs=0.01)


def test_when_no_task_is_left_all_are_known():
    worker = VirtualWorker(LIVES["uniform"][0])
    worker.hold(500)
    worker.advance(0.2)
    worker.hold(500, rate=0)
    worker._target = 0
    worker.advance(2.0)
    assert worker.live == 0
    assert worker.error(0.01) == pytest.approx(0, abs=0.01)
    assert worker.tasks.survival.quantile(1.0).at_least is False


def test_quantiles_of_which_too_little_is_known_are_lower_bounds():
    worker = VirtualWorker(LIVES["uniform"][0])
    assert worker.tasks.quantile(0.5) == (None, False)
    worker.hold(1_000)
    worker.advance(0.8)
    assert worker.tasks.quantile(0.5).at_least
    assert 0.5 <= worker.tasks.quantile(0.5).seconds <= 0.8
    worker.advance(0.5)
    assert not worker.tasks.quantile(0.5).at_least
    assert worker.tasks.quantile(0.99).at_least


def test_ends_without_beginnings_are_all_that_is_known():
    tasks = TimedTasks()
    for tick in range(1, 5):
        tasks.add(tick / 10, 0, [0.25, 5.0, 5.0], 100)
    assert tasks.quantile(0.5) == (5.0, False)


def test_ends_that_match_no_beginning_do_not_count():
    tasks = TimedTasks(10.0)
    for tick in range(101, 151):
        # Of an earlier workload, whose tasks took 100 s, some complete before they are cancelled.
        tasks.add(tick / 10, 20, [0.05] * 20 + [100.0], 100, completed=21)
    assert tasks.survival.quantile(0.99) == (0.05, False)


def test_an_estimate_seldom_changes():
    worker = VirtualWorker(LIVES["uniform"][0])
    worker.hold(1_000)
    found = set()
    for _ in range(200):
        worker.advance(0.05)
        found.add(worker.tasks.quantile(0.5))
    assert len(found) < 40
    assert worker.tasks.quantile(0.5).seconds == pytest.approx(1.0, rel=0.005)


def test_memory_is_bounded():
    worker = VirtualWorker(lambda share: 100 + 200 * share)
    worker.hold(3_000, rate=20)
    worker.advance(400)
    assert len(worker.tasks._cohorts) < 6 * MOST_COHORTS
    assert worker.error() == pytest.approx(0, abs=0.01)
