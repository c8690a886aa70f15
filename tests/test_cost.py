"""The cost of a task: over the idle baseline, settled, and honest about what spoils it."""

import pytest

from concwatch.lab.cost import LEAST_LIVE, CostMeter

IDLE = 20_000_000
TASK = 1_500


def meter(traced=None):
    found = CostMeter()
    found.baseline(IDLE, traced)
    return found


def settle(found, live, task=TASK, traced=None, looks=2):
    for _ in range(looks):
        found.add(IDLE + live * task, live, traced)
    return found.cost


def test_a_task_costs_what_it_adds_to_the_baseline():
    cost = settle(meter(), 10_000)
    assert cost.rss == TASK
    assert (cost.live, cost.traced, cost.tracing, cost.clean) == (10_000, None, False, True)


def test_nothing_is_told_without_a_baseline():
    assert settle(CostMeter(), 10_000) is None


def test_nothing_is_told_of_a_few_tasks():
    found = meter()
    assert settle(found, LEAST_LIVE - 1) is None
    assert settle(found, LEAST_LIVE) is not None


def test_nothing_is_told_while_tasks_come_or_go():
    found = meter()
    for live in range(1_000, 10_000, 1_000):
        found.add(IDLE + live * 9_999, live, None)
        assert found.cost is None
    assert settle(found, 10_000).rss == TASK
    found.add(IDLE, 9_000, None)
    assert found.cost.rss == TASK


def test_a_slow_change_counts_as_settled():
    found = meter()
    settle(found, 10_000)
    found.add(IDLE + 10_050 * 1_600, 10_050, None)
    assert found.cost.rss == 1_600


def test_memory_kept_from_earlier_tasks_does_not_overwrite_a_clean_figure():
    found = meter()
    settle(found, 10_000)
    assert settle(found, 1_000, task=9_000).rss == TASK
    assert settle(found, 9_600, task=1_550).rss == 1_550
    assert found.cost.clean


def test_a_worker_below_its_baseline_costs_nothing_rather_than_less():
    found = meter()
    found.add(IDLE - 5_000, 1_000, None)
    found.add(IDLE - 5_000, 1_000, None)
    assert found.cost.rss == 0


def test_traced_bytes_count_over_their_own_baseline_and_mark_the_figure():
    cost = settle(meter(traced=600_000), 10_000, traced=600_000 + 10_000 * 1_400)
    assert cost.traced == 1_400
    assert cost.tracing


def test_a_change_among_tasks_forgets_the_figure_and_marks_the_next():
    found = meter()
    settle(found, 10_000)
    found.changed(used=True)
    assert found.cost is None
    cost = settle(found, 10_000, task=5_000)
    assert (cost.rss, cost.clean) == (5_000, False)
    assert settle(found, 10_000, task=5_100).rss == 5_100


def test_a_change_before_the_first_task_leaves_figures_clean():
    found = meter()
    found.changed(used=False)
    assert settle(found, 10_000).clean


def test_tracing_that_began_among_tasks_gives_no_traced_figure_until_all_have_gone():
    found = meter()
    settle(found, 10_000)
    found.tracing_changed(used=True)
    cost = settle(found, 10_000, traced=3_000_000)
    assert (cost.traced, cost.tracing, cost.clean) == (None, True, False)
    found.add(IDLE, 0, 50_000)
    cost = settle(found, 10_000, traced=50_000 + 10_000 * 1_400)
    assert cost.traced == 1_400


def test_tracing_that_ended_is_no_longer_marked():
    found = meter(traced=600_000)
    settle(found, 10_000, traced=14_600_000)
    found.tracing_changed(used=True)
    cost = settle(found, 10_000, task=1_700)
    assert (cost.tracing, cost.traced, cost.rss) == (False, None, pytest.approx(1_700))
