"""What a task costs in memory and CPU, and how long tasks take, computed from made-up ticks and readings."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from concwatch.links.messages import Tick
from concwatch.monitor.statistics.histogram import Histogram
from concwatch.monitor.workers.cost import KEPT, CostMeter, CpuMeter, RecentMedian
from concwatch.system.process import Reading
from tests.lab_driver import tick

IDLE = 20_000_000
TASK = 1_500


def make_meter(traced=None):
    meter = CostMeter()
    meter.set_baseline(Reading(IDLE, 0.0, 3), traced)
    return meter


def add(meter, live, task=TASK, traced=None, samples=1):
    """Add samples of ``live`` tasks of ``task`` bytes each, and return the cost."""
    for _ in range(samples):
        meter.add(Reading(IDLE + live * task, 0.0, 3), tick(0.0, live, traced=traced))
    return meter.cost


def settle(meter, live, task=TASK, traced=None, samples=2):
    """Add enough samples for a settled figure, and return the cost."""
    return add(meter, live, task, traced, samples)


# Memory.


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=3 * KEPT))
def test_the_recent_median_is_that_of_the_last_values(values):
    recent = RecentMedian()
    for at, value in enumerate(values, 1):
        recent.add(value)
        assert recent.median == statistics.median(values[:at][-KEPT:])
    recent.clear()
    assert recent.median is None


def test_a_task_costs_what_it_adds_to_the_baseline():
    cost = settle(make_meter(), 10_000)
    assert cost.rss == TASK
    assert (cost.live, cost.traced, cost.tracing, cost.clean) == (10_000, None, False, True)
    assert settle(CostMeter(), 10_000) is None  # without a baseline
    assert settle(make_meter(), 0) is None
    assert settle(make_meter(), 10).rss == TASK
    below = make_meter()
    below.add(Reading(IDLE - 5_000, 0.0, 3), tick(0.0, 1_000))
    assert below.cost.rss == 0


def test_the_figure_is_the_median_of_samples_of_the_same_tasks():
    meter = make_meter()
    for task in (1_500, 1_510, 9_000, 1_490, 1_505):  # one sample during a collection
        add(meter, 10_000, task)
    add(meter, 10_050, 1_506)  # a few more still count as the same tasks
    assert meter.cost.rss == pytest.approx(1_506)  # of the five that were settled
    assert settle(meter, 10_000, 2_000, samples=KEPT).rss == 2_000


def test_a_settled_figure_replaces_one_taken_while_tasks_start_or_end():
    meter = make_meter()
    for live in range(1_000, 10_000, 1_000):
        add(meter, live, 9_999)
    assert meter.cost.rss == 9_999
    assert settle(meter, 10_000).rss == TASK
    add(meter, 20_000, 9_999)
    assert meter.cost.rss == TASK
    assert settle(meter, 20_000, 1_600).rss == 1_600


def test_memory_retained_from_earlier_tasks_does_not_overwrite_a_clean_figure():
    meter = make_meter()
    settle(meter, 10_000)
    assert settle(meter, 1_000, task=9_000).rss == TASK
    assert settle(meter, 9_600, task=1_550).rss == 1_550
    assert meter.cost.clean


@pytest.mark.parametrize(("idle", "per_task"), [(600_000, 1_400), (None, None)])
def test_traced_bytes_have_their_own_baseline_and_mark_the_figure(idle, per_task):
    cost = settle(make_meter(traced=idle), 10_000, traced=600_000 + 10_000 * 1_400)
    assert (cost.traced, cost.tracing) == (per_task, True)


@pytest.mark.parametrize("used", [False, True])
def test_a_reset_clears_the_figure_and_marks_the_next_one_if_tasks_have_run(used):
    meter = make_meter()
    settle(meter, 10_000 if used else 0)
    meter.reset(used=used)
    assert meter.cost is None
    cost = settle(meter, 10_000, task=5_000, samples=3)
    assert (cost.rss, cost.clean) == (5_000, not used)
    assert settle(meter, 10_000, task=5_100, samples=9).rss == 5_100


# CPU.


class BusyWorker:
    """A worker that uses some of a core while idle, and some CPU for each task."""

    def __init__(self, idle=0.04):
        self.idle = idle
        self.meter = CpuMeter()
        self.time = self.used = 0.0
        self.created = self.completed = 0

    def run(self, ticks, asked=True, create=0, end=0, each=0.0):
        for _ in range(ticks):
            self.time += 0.1
            self.created, self.completed = self.created + create, self.completed + end
            self.used += self.idle * 0.1 + each * max(create, end)
            live = self.created - self.completed
            report = Tick(self.time, self.created, live, self.completed, 0, 0)
            self.meter.add(report, Reading(IDLE, 0.0, 3, cpu_seconds=self.used), asked)
        return self.meter.per_task


def test_cpu_per_finished_task_excludes_what_the_idle_worker_uses():
    worker = BusyWorker()
    assert worker.run(30, asked=False) is None
    # Every tenth of a second, ten tasks of 10 ms end and ten start.
    assert worker.run(50, create=10, end=10, each=0.01) == pytest.approx(0.01)


def test_cpu_per_task_excludes_unfinished_tasks_that_started_together():
    meter = CpuMeter()
    for step in range(30):
        meter.add(Tick(step / 10, 0, 0, 0, 0, 0), Reading(IDLE, 0.0, 3, cpu_seconds=0.0), False)
    for step in range(1, 61):
        # 50 tasks of 10 ms share one core: unfinished ones are half done on average.
        used = step / 10
        ended = max(1, round((used - 50 * 0.005) / 0.01))
        report = Tick(3 + used, ended + 50, 50, ended, 0, 0)
        meter.add(report, Reading(IDLE, 1.0, 53, cpu_seconds=used), True)
    assert meter.per_task == pytest.approx(0.01, rel=0.01)


def test_cpu_is_per_created_task_until_lives_are_known_which_need_not_be_all():
    worker = BusyWorker()
    worker.run(30, asked=False)
    # While 10,000 are created, some end already, as with the workload churn.
    assert worker.run(10, create=1_000, each=20e-6) == pytest.approx(20e-6)
    assert worker.run(10, create=1_100, end=100, each=20e-6) == pytest.approx(20e-6, rel=0.1)
    assert worker.run(5, create=100, end=100, each=30e-6) == pytest.approx(21e-6, rel=0.1)
    assert worker.run(30, create=100, end=100, each=30e-6) == pytest.approx(30e-6, rel=0.01)
    assert worker.run(10, create=1_000, each=90e-6) == pytest.approx(30e-6, rel=0.01)
    assert worker.run(40, create=100, end=100, each=40e-6) == pytest.approx(40e-6, rel=0.01)


def test_cpu_of_a_life_excludes_that_of_threads_which_start_late():
    worker = BusyWorker(idle=0.0)
    worker.run(30, asked=False)
    created = worker.run(30, create=333, each=100e-6)
    worker.idle = 0.5  # they get the GIL one after another
    assert worker.run(25, create=10, end=10, each=600e-6) >= created
    worker.idle = 0.0
    for _ in range(10):  # the share of a core of the starts is never taken for that of lives
        assert worker.run(10, create=10, end=10, each=600e-6) < 900e-6
    assert worker.meter.life_known
    assert worker.meter.per_task == pytest.approx(600e-6, rel=0.1)


def test_a_worker_that_is_busy_without_tasks_has_no_cpu_per_task():
    worker = BusyWorker(idle=0.9)
    worker.run(30, asked=False)
    assert worker.run(50, create=10, end=10, each=0.001) is None


def test_cpu_per_task_is_measured_again_after_a_reset():
    worker = BusyWorker()
    worker.run(30, asked=False)
    worker.run(50, create=10, end=10, each=0.01)
    worker.meter.reset()
    assert worker.meter.per_task is None
    worker.run(10, asked=False)
    assert worker.run(50, create=10, end=10, each=0.002) == pytest.approx(0.002)


# How long tasks take.


@given(st.lists(st.lists(st.floats(2e-6, 1e6), min_size=1), min_size=1))
def test_a_quantile_is_within_half_a_percent_of_the_exact_one_after_each_addition(parts):
    histogram, values = Histogram(), []
    for part in parts:
        histogram.add(part)
        values += part
        for share in (0.0, 0.5, 0.99, 1.0):
            expected = sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
            assert histogram.quantile(share) == pytest.approx(expected, rel=0.005)


def test_a_histogram_accumulates_and_accepts_values_beyond_its_range():
    histogram = Histogram()
    assert histogram.quantile(0.5) is None
    histogram.add([0.0, 1e9, 1e9])
    assert histogram.quantile(0.01) == 0
    assert histogram.quantile(0.5) == pytest.approx(1e9, rel=0.01)
    histogram.add([0.0] * 10)
    assert histogram.quantile(0.5) == 0
