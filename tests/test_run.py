"""Measuring without a screen: the figures of real workers, and of fake ones where something goes wrong."""

import asyncio
import json
import math
import os
import subprocess
import sys
from dataclasses import fields
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from concwatch.lab import run as module
from concwatch.lab.catalog import ROOT
from concwatch.lab.fake import Costs, FakeWorkers, Fault
from concwatch.lab.lab import Lab
from concwatch.lab.link import Ended
from concwatch.lab.messages import Tick
from concwatch.lab.run import Plan, Result, Watch, percentile, run
from concwatch.lab.sampler import Reading
from concwatch.lab.settings import Settings
from tests.lab_driver import ENGINES

PATIENCE = 80
LANE_KEYS = {
    "engine", "runtime", "state", "reason", "traced", "gc", "idle_rss", "peak_rss", "peak_live", "created",
    "completed", "failed", "cancelled", "rss_per_task", "traced_per_task", "create_rate", "completion_rate",
    "wake_lag_p99", "gc_seconds", "retained_rss", "stop_seconds",
}  # fmt: skip
MIB = 1 << 20


def concwatch(*arguments, cwd=ROOT, check=None):
    """Run the real command, and give what it wrote; with ``check``, insist on that exit status."""
    done = subprocess.run(
        [sys.executable, "-m", "concwatch", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": ROOT},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert check is None or done.returncode == check, done.stderr
    return done


def measured(*arguments, cwd=ROOT, check=0):
    """Give the object that ``concwatch run --json`` prints."""
    return json.loads(concwatch("run", *arguments, "--json", cwd=cwd, check=check).stdout)


@pytest.fixture(scope="module")
def alone():
    """Four real engines, each alone."""
    return measured("threads", "pool", "asyncio", "uvloop", "--tasks", "500", "--seconds", "0.3")


def test_the_object_says_what_was_measured_where(alone):
    assert alone["workload"] == "sleep:10"
    assert isinstance(alone["concwatch"], str)
    machine = alone["machine"]
    assert machine["cores"] >= 1
    assert machine["memory_total"] >= machine["memory_available"] > 0
    assert [lane["engine"] for lane in alone["lanes"]] == ["threads", "pool", "asyncio", "uvloop"]


@pytest.mark.parametrize("index", range(4))
def test_every_figure_of_a_lane_is_there_and_sane(alone, index):
    lane = alone["lanes"][index]
    assert set(lane) >= LANE_KEYS
    assert (lane["state"], lane["reason"], lane["traced"], lane["gc"]) == ("done", None, False, "default")
    assert lane["runtime"].startswith("CPython 3.")
    assert lane["peak_live"] == lane["created"] == lane["cancelled"] == 500
    assert lane["completed"] == lane["failed"] == 0
    assert 2 * MIB < lane["idle_rss"] < 100 * MIB
    assert lane["peak_rss"] >= lane["idle_rss"] + 500 * lane["rss_per_task"] * 0.9
    assert lane["idle_rss"] * 0.9 < lane["retained_rss"] <= lane["peak_rss"]
    assert 200 < lane["rss_per_task"] < 60_000
    assert lane["traced_per_task"] is None
    assert lane["create_rate"] > 100
    assert lane["completion_rate"] == 0
    assert 0 <= lane["wake_lag_p99"] < 10
    assert 0 <= lane["gc_seconds"] < 10
    assert 0 < lane["stop_seconds"] < 30


def test_a_thread_costs_more_than_a_coroutine(alone):
    threads, _, coroutines, _ = alone["lanes"]
    assert threads["rss_per_task"] > 3 * coroutines["rss_per_task"]


def test_together_and_traced_every_lane_has_both_figures():
    found = measured(
        "asyncio", "threads", "--together", "--trace", "--gc", "frozen", "--tasks", "500", "--seconds", "0.3"
    )
    for lane in found["lanes"]:
        assert (lane["state"], lane["traced"], lane["gc"]) == ("done", True, "frozen")
        assert lane["peak_live"] == 500
        assert 300 < lane["traced_per_task"] < lane["rss_per_task"]


def test_tasks_that_end_are_counted_and_refilled():
    (lane,) = measured("asyncio", "--tasks", "200", "--workload", "sleep:0.05", "--seconds", "1.2")["lanes"]
    assert lane["created"] == lane["completed"] + lane["failed"] + lane["cancelled"]
    assert lane["completed"] > 400
    assert lane["completion_rate"] > 200
    assert lane["peak_live"] <= 200


def test_without_refill_a_burst_is_all_there_is():
    (lane,) = measured(
        "pool",
        "--pool-threads",
        "20",
        "--no-refill",
        "--workload",
        "nop",
        "--tasks",
        "300",
        "--seconds",
        "0.2",
    )["lanes"]
    assert (lane["created"], lane["completed"], lane["cancelled"]) == (300, 300, 0)
    assert lane["flags"] == ["20 threads"]


def test_the_memory_budget_limits_a_lane_and_names_itself():
    done = concwatch(
        "run", "asyncio", "--tasks", "1M", "--workload", "payload:65536", "--max-memory", "80MiB",
        "--seconds", "0.2", "--force", "--json", check=0,
    )  # fmt: skip
    (lane,) = json.loads(done.stdout)["lanes"]
    assert (lane["state"], lane["reason"]) == ("limited", "memory budget (80 MiB)")
    assert 0 < lane["peak_live"] < 20_000
    assert "memory budget (80 MiB) holds back the rest" in done.stderr
    assert lane["created"] == lane["cancelled"]


def test_a_workload_that_fails_counts_as_failed_and_its_first_traceback_is_shown(tmp_path):
    (tmp_path / "jobs.py").write_text(
        "async def broken():\n    print('noise on standard output')\n    raise KeyError('the reason')\n"
    )
    done = concwatch(
        "run", "asyncio", "--tasks", "5", "--no-refill", "--workload", "jobs:broken", "--seconds", "0.2",
        "--json", cwd=tmp_path, check=0,
    )  # fmt: skip
    (lane,) = json.loads(done.stdout)["lanes"]
    assert (lane["created"], lane["failed"], lane["completed"]) == (5, 5, 0)
    assert done.stderr.count("KeyError: 'the reason'") == 2  # in the message, and in the traceback
    assert 'jobs.py", line 3, in broken' in done.stderr


# The same with fake workers, where something goes wrong.


async def fake_run(*names, plan=None, settings=None, budget=None, together=True, **workers):
    links = FakeWorkers(**workers)
    said = []

    def make_lab(engines):
        return Lab(engines, settings=settings, budget=budget, hz=50, open_link=links)

    found = await asyncio.wait_for(
        run(
            make_lab,
            [ENGINES[name] for name in names],
            plan or Plan(1_000, 0.1),
            together,
            lambda lab, lane, text: said.append((lane, text)),
        ),
        PATIENCE,
    )
    return *found, said


@pytest.fixture
def quick(monkeypatch):
    """Take less care than a real measurement needs."""
    monkeypatch.setattr(module, "SETTLE", 0.1)


@pytest.mark.usefixtures("quick")
async def test_a_measurement_says_what_it_is_doing():
    (result,), events, said = await fake_run("asyncio")
    assert result.state == "done"
    assert result.rss_per_task == pytest.approx(1_260, rel=0.01)
    assert result.create_rate > 0
    assert result.gc_seconds > 0
    assert [text for _, text in said] == ["starting 1,000 tasks", "holding 1,000 for 100 ms", "stopping"]
    assert [event.weight for event in events] == ["info"] * len(events)


@pytest.mark.usefixtures("quick")
async def test_a_wall_limits_a_lane_and_is_named():
    (result,), _, _ = await fake_run("threads", costs={"threads": Costs(most=300)})
    assert (result.state, result.reason, result.peak_live) == ("limited", "vm.max_map_count (65,530)", 300)
    assert result.create_rate is None
    assert result.cancelled == result.created == 300


@pytest.mark.usefixtures("quick")
async def test_a_budget_that_is_spent_before_the_first_task_limits_a_lane():
    (result,), _, _ = await fake_run("asyncio", budget=MIB)
    assert result.state == "limited"
    assert result.reason == "memory budget (1 MiB)"


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("after", [0.0, 0.06, 0.4])
async def test_a_worker_that_dies_fails_its_lane_while_the_other_is_measured(after):
    faults = {"asyncio": [Fault(after, Ended("killed by SIGKILL"))]}
    (dead, well), events, _ = await fake_run("asyncio", "uvloop", plan=Plan(500, 1.0), faults=faults)
    assert (dead.state, dead.reason) == ("failed", "killed by SIGKILL")
    assert (well.state, well.peak_live, well.cancelled) == ("done", 500, 500)
    assert [event.text for event in events if event.weight == "error"] == ["failed: killed by SIGKILL"]
    if after == 0.4:
        assert dead.created == dead.peak_live == 500


@pytest.mark.usefixtures("quick")
async def test_what_happened_to_each_engine_alone_is_kept():
    faults = {"asyncio": [Fault(0.0, Ended("killed by SIGKILL"))]}
    results, events, _ = await fake_run("asyncio", "uvloop", together=False, faults=faults)
    assert [result.state for result in results] == ["failed", "done"]
    assert {event.lane for event in events} == {"asyncio", "uvloop"}


@pytest.mark.usefixtures("quick")
async def test_a_worker_that_falls_silent_does_not_hold_up_the_end(monkeypatch):
    monkeypatch.setattr(module, "GROW_LIMIT", 0.3)
    monkeypatch.setattr(module, "STUCK", 0.2)
    monkeypatch.setattr("concwatch.lab.lane.STOP_LIMIT", 0.2)
    faults = {"asyncio": [Fault(0.06, silence=1e9)]}
    (result,), events, _ = await fake_run("asyncio", faults=faults)
    assert result.state == "limited"
    assert result.reason == "not all had started within 300 ms"
    assert result.stop_seconds is None
    assert any("killed" in event.text for event in events)


@pytest.mark.usefixtures("quick")
async def test_a_lab_that_breaks_down_ends_the_run(monkeypatch):
    def broken(lab, now=None):
        raise ZeroDivisionError

    monkeypatch.setattr("concwatch.lab.lane.Lane.step", broken)
    monkeypatch.setattr(Lab, "close", lambda lab: asyncio.sleep(0))
    with pytest.raises(ExceptionGroup) as error:
        await fake_run("asyncio")
    assert error.group_contains(ZeroDivisionError)


@pytest.mark.usefixtures("quick")
async def test_no_tasks_at_all_is_a_measurement_too():
    (result,), _, _ = await fake_run("asyncio", plan=Plan(0, 0.0))
    assert (result.state, result.peak_live, result.rss_per_task, result.create_rate) == (
        "done",
        0,
        None,
        None,
    )


@pytest.mark.usefixtures("quick")
async def test_settings_are_in_the_result():
    settings = Settings("hold", True, True, "off")
    (result,), _, _ = await fake_run("asyncio", settings=settings)
    assert (result.traced, result.gc, result.tasks) == (True, "off", 1_000)
    assert result.traced_per_task == pytest.approx(1_400)


def test_a_result_has_the_keys_that_are_promised():
    assert {field.name for field in fields(Result)} >= LANE_KEYS


@given(st.lists(st.floats(0, 100), min_size=1), st.floats(0.01, 1))
def test_a_percentile_has_its_share_at_or_below_it(values, share):
    found = percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= math.floor(share * len(values))
    assert sum(value < found for value in values) < share * len(values) + 1e-9


@pytest.mark.parametrize("busy", [1, 2, 3])
def test_the_lag_is_that_of_ticks_with_tasks_at_them_or_before_or_between(busy):
    lane = SimpleNamespace(tick=None, reading=Reading(10 * MIB, 0.0, 1))
    watch = Watch(lane)
    for number, (created, live) in enumerate(((0, 0), (9, 0), (20, 11), (20, 0), (20, 0))):
        lag = 5.0 if number in (0, 4) else 1.0 + (number == busy)
        lane.tick = Tick(1.0, created, live, completed=created - live, failed=0, cancelled=0, lag=lag)
        watch.look()
    watch.summarize(result := Result("asyncio"))
    assert result.wake_lag_p99 == 2.0


def test_nothing_has_no_percentile():
    assert percentile([], 0.99) is None
