"""Targets and counters, without engine or clock."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from concwatch.portable.worker.target import TargetTracker, TaskCounts

numbers = st.integers(0, 1_000)


class Model:
    """An engine that follows its target in slices; ``target`` tasks are live at first."""

    def __init__(self, refill: bool = True, target: int | None = None):
        self.tracker = TargetTracker()
        self.counts = TaskCounts()
        self.tracker.set_refill(refill)
        self.reported = []
        if target is not None:
            self.set_target(target)
            self.settle()

    def set_target(self, target, now=0.0):
        self.tracker.set_target(target, self.counts, now)

    def step(self, most=10**9):
        wanted = self.tracker.wanted(self.counts.live)
        if wanted > 0:
            self.counts.created += min(wanted, most)
            self.tracker.created(min(wanted, most))
        else:
            self.counts.cancelled += min(-wanted, most)
        fields = self.tracker.reached(self.counts, 1.0)
        if fields:
            self.reported.append(fields)
        return wanted

    def replace(self, times=1):
        for _ in range(times):
            self.tracker.replace(self.counts.live)

    def wanted(self):
        return self.tracker.wanted(self.counts.live)

    def settle(self, most=10**9):
        for _ in range(10_000):
            if self.step(most) == 0:
                return
        raise AssertionError("the target is never reached")


def test_counts_add_up_if_a_task_ends_before_its_start_is_counted():
    counts = TaskCounts()
    counts.created, counts.completed, counts.failed, counts.cancelled = 10, 1, 2, 3
    assert counts.live == 4
    assert counts.report() == {"created": 10, "live": 4, "completed": 1, "failed": 2, "cancelled": 3}
    counts.completed = 6
    assert counts.report() == {"created": 11, "live": 0, "completed": 6, "failed": 2, "cancelled": 3}


@given(st.booleans(), st.lists(st.tuples(numbers, st.integers(1, 400)), max_size=6))
def test_each_target_is_reached_and_never_exceeded(refill, targets):
    model = Model(refill)
    for target, most in targets:
        before = model.counts.live
        model.set_target(target)
        while wanted := model.step(most):
            assert wanted == target - before
            before = model.counts.live
        assert model.counts.live == target
        assert model.reported[-1]["target"] == model.reported[-1]["live"] == target
    assert len(model.reported) == len(targets)


@given(numbers, st.lists(st.integers(0, 100), max_size=20), st.integers(1, 300))
def test_without_refill_exactly_the_target_is_created(target, endings, most):
    model = Model(refill=False)
    model.set_target(target)
    for ending in endings:
        model.step(most)
        model.counts.completed += min(ending, model.counts.live)
    model.settle(most)
    assert model.counts.created == target
    assert model.counts.cancelled == 0


def test_turning_refill_off_drops_tasks_not_yet_created():
    model = Model()
    model.set_target(100)
    model.step(most=30)
    model.tracker.set_refill(False)
    assert model.wanted() == 0
    model.tracker.set_refill(True)
    assert model.wanted() == 70


@given(st.booleans(), st.integers(1, 1_000), st.integers(1, 400), st.integers(1, 3))
def test_a_target_whose_tasks_are_replaced_is_reached_when_all_are_live(refill, target, most, changes):
    model = Model(refill)
    model.set_target(target)
    model.step(most)
    reported = len(model.reported)
    model.replace(changes)
    model.settle(most)
    assert model.counts.live == target
    assert model.counts.cancelled == model.counts.created - target
    assert all(fields["live"] == target for fields in model.reported)
    assert len(model.reported) == max(1, reported)


@given(st.booleans(), st.integers(1, 1_000), numbers)
def test_a_target_set_during_a_replacement_is_reached(refill, target, other):
    model = Model(refill, target=target)
    model.replace()
    model.step(most=target // 2)
    model.set_target(other)
    model.settle()
    assert model.counts.live == other


@given(numbers, numbers, st.integers(1, 5))
def test_replacing_while_shrinking_keeps_the_smaller_target(smaller, excess, changes):
    model = Model(refill=False, target=smaller + excess)
    model.set_target(smaller)
    model.replace(changes)
    model.settle()
    assert model.counts.live == smaller
    model.counts.completed += smaller
    assert model.wanted() == 0


@given(st.booleans(), numbers, st.integers(1, 1_000), numbers)
def test_settling_only_lowers_the_target_and_reports_nothing(refill, target, live, more):
    model = Model(refill)
    model.set_target(target)
    model.step(live)
    reported = len(model.reported)
    model.tracker.settle(model.counts.live)
    assert model.tracker.target == min(target, live)
    model.tracker.settle(model.counts.live + more)
    assert model.tracker.target == min(target, live)
    assert model.step() == 0
    assert len(model.reported) == reported


@pytest.mark.parametrize("refill", [True, False])
def test_reached_is_reported_once_with_the_changes_since_the_command(refill):
    model = Model(refill)
    model.set_target(10, now=5.0)
    model.settle()
    model.counts.completed += 4
    model.set_target(20, now=7.0)
    model.tracker.created(14)
    model.counts.created += 14
    expected = {"target": 20, "live": 20, "created": 14, "cancelled": 0, "seconds": 2.5}
    assert model.tracker.reached(model.counts, 9.5) == expected
    assert model.tracker.reached(model.counts, 9.6) is None
    model.set_target(5, now=10.0)
    model.settle()
    assert model.reported[-1] == {"target": 5, "live": 5, "created": 0, "cancelled": 15, "seconds": -9.0}


def test_a_target_of_tasks_that_end_at_once_is_reached():
    model = Model(refill=False)
    model.set_target(10)
    for _ in range(10):
        assert model.tracker.reached(model.counts, 1.0) is None
        model.counts.created += 1
        model.tracker.created(1)
        model.counts.completed += 1
    expected = {"target": 10, "live": 0, "created": 10, "cancelled": 0, "seconds": 1.0}
    assert model.tracker.reached(model.counts, 1.0) == expected


def test_a_task_being_cancelled_does_not_count_for_the_next_target():
    tracker, counts = TargetTracker(), TaskCounts()
    tracker.set_target(30, counts, 0.0)
    counts.created = 30
    tracker.created(30)
    tracker.set_refill(False)
    tracker.replace(counts.live)
    counts.cancelled = 29
    assert tracker.wanted(counts.live, 1) == 0  # the last one is being cancelled
    tracker.set_target(5, counts, 1.0)
    counts.cancelled = 30
    assert tracker.wanted(counts.live) == 5


def test_a_replacement_that_has_begun_lasts_until_the_last_task_has_ended():
    tracker = TargetTracker()
    tracker.replace(1)  # a task that is being started in place of one that has ended
    tracker.replace(0)
    assert tracker.replacing
    assert tracker.wanted(1) == -1
    tracker.wanted(0)
    assert not tracker.replacing
