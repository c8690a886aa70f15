"""A step of a sweep as a cell of an experiment, and the figures of a burst that it is compared with."""

import asyncio

import pytest

from concwatch.commands.basics.lab import open_process
from concwatch.links.link import Ended
from concwatch.measure.experiments.runner import CellState, Runner, Selection
from concwatch.measure.sweep.engine_sweep import HZ
from concwatch.monitor.lanes.lab import Lab
from tests.fake_link import Costs, FakeWorkers, Fault
from tests.measure.experiments.test_runner import experiment, run

SWEEP = {"reading": "throughput", "action": '"sweep"', "workload": "sleep:2", "seconds": 3}


def swept(costs, *sizes, faults=(), **how):
    """Return the figures of steps of a fake worker."""
    workers = FakeWorkers({"asyncio": costs}, {"asyncio": list(faults)})
    return run(experiment("asyncio", sizes=sizes, **{**SWEEP, **how}), workers, repeats=1).figures()


def test_a_step_has_the_throughput_the_cycle_and_the_durations_of_its_tasks():
    ten, hundred = swept(Costs(served=50), 10, 100)
    assert ten.here == pytest.approx(5, rel=0.03)
    assert hundred.here == pytest.approx(25, rel=0.03)
    (result,) = hundred.results
    figures = result.metrics
    assert figures["cycle_seconds"] == pytest.approx(4, rel=0.03)
    assert figures["duration_p50"] == pytest.approx(4, rel=0.1)
    assert figures["duration_p99"] >= figures["duration_p50"]
    assert 0 <= figures["throughput_interval"] < 0.1 * hundred.here
    assert (result.tasks, result.live) == (100, 100)
    assert result.runtime == "CPython 3.11.7"
    assert result.rss_curve[-1][1] > result.rss_curve[0][1]
    assert 0 < result.own_seconds < result.seconds


def test_a_step_is_sampled_as_often_as_in_a_sweep():
    what = experiment("asyncio", sizes=(10,), **SWEEP)
    runner = run(what, FakeWorkers(), repeats=1)
    assert runner.lab.hz == HZ
    assert run(experiment("asyncio"), FakeWorkers(), repeats=1).lab.hz < HZ


def test_tables_of_throughput_and_of_durations_share_their_runs():
    cells = {
        cell
        for reading, unit in (("throughput", "tasks/s"), ("duration_p99", "s"), ("cycle_seconds", "s"))
        for cell in run(
            experiment("asyncio", sizes=(10,), **{**SWEEP, "reading": reading}, unit=unit)
        ).outcomes
    }
    assert len(cells) == 1


@pytest.mark.parametrize(
    ("costs", "how", "reason"),
    [
        (Costs(refused=50), {}, "tasks failed with 100 tasks: ConnectionRefusedError at app/jobs.py:12"),
        (Costs(most=50, limit="ulimit -n"), {}, "ulimit -n"),
        (Costs(), {"workload": "hold"}, "0 of 100 tasks ended within 60 s"),
    ],
)
def test_a_step_that_cannot_be_measured_fails_with_the_reason(costs, how, reason):
    (figure,) = swept(costs, 100, **how)
    assert (figure.state, figure.here) == (CellState.FAILED, None)
    assert reason in figure.reason


def test_a_step_whose_worker_dies_fails():
    (figure,) = swept(Costs(), 10, faults=[Fault(1.0, Ended("killed by SIGKILL"))])
    assert (figure.state, figure.reason) == (CellState.FAILED, "killed by SIGKILL")


def test_the_throughput_of_a_burst_is_its_tasks_by_its_seconds():
    what = experiment("asyncio", sizes=(1000,), reading="throughput", workload="sleep:2")
    (figure,) = run(what, repeats=1).figures()
    figures = figure.results[0].metrics
    assert figure.here == pytest.approx(1_000 / figures["burst_seconds"])
    assert figures["cycle_seconds"] == pytest.approx(figures["burst_seconds"])


def test_the_time_left_has_the_life_of_tasks_until_throughput_is_known():
    def expected(**how):
        (cell,) = run(experiment("asyncio", sizes=(10,), **{**SWEEP, **how}), repeats=1).outcomes
        return cell.expected_seconds()

    assert expected() == pytest.approx(2 + 3 * 2, abs=1)
    assert expected(workload="ticks:3x0.1") == pytest.approx(0.3 + 3, abs=1)


# Real workers.

RESOURCES = "concwatch.measure.experiments.limited_resources"


@pytest.mark.real
@pytest.mark.parametrize(("workload", "most"), [("semaphore", 200), ("crowd", 193)])
def test_tasks_that_share_a_resource_end_no_faster_than_it_lets_them(workload, most):
    what = experiment(
        "asyncio", sizes=(20,), **{**SWEEP, "workload": f"{RESOURCES}:{workload}", "seconds": 1}
    )

    def make_lab(engines, settings, **options):
        return Lab(engines, open_link=open_process, settings=settings, **options)

    runner = Runner(what, Selection(repeats=1), make_lab)
    asyncio.run(runner.run())
    (figure,) = runner.figures()
    assert figure.state is CellState.DONE, figure.reason
    assert 0 < figure.here <= 1.5 * most  # on a busy machine, ticks are late
    assert figure.results[0].metrics["duration_p50"] >= 0.1
