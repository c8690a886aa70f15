"""Measuring without a screen: the figures of real workers, and of fake ones where something goes wrong."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from concwatch.cli import main
from concwatch.lab.lab import Lab
from concwatch.lab.settings import Settings
from concwatch.links.link import Ended
from concwatch.measure import measurement as module
from concwatch.measure.run import Session
from concwatch.system.child import ROOT
from tests.fake import Costs, FakeWorkers, Fault
from tests.lab_driver import ENGINES, use_lab

PATIENCE = 80
LANE_KEYS = {
    "engine", "runtime", "state", "reason", "traced", "gc", "idle_rss", "peak_rss", "peak_live", "created",
    "completed", "failed", "cancelled", "rss_per_task", "traced_per_task", "create_rate", "completion_rate",
    "wake_lag_p99", "gc_seconds", "retained_rss", "stop_seconds", "limited_by", "plus_minus", "marks",
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
    """Return the object that ``concwatch run --json`` prints."""
    return json.loads(concwatch("run", *arguments, "--json", cwd=cwd, check=check).stdout)


@pytest.fixture(scope="module")
def alone():
    """Four real engines, each alone."""
    return measured("threads", "pool", "asyncio", "uvloop", "--tasks", "500", "--seconds", "0.3")


@pytest.mark.real
def test_the_object_says_what_was_measured_where(alone):
    assert alone["workload"] == "sleep:10"
    assert isinstance(alone["concwatch"], str)
    machine = alone["machine"]
    assert machine["cores"] >= 1
    assert machine["memory_total"] >= machine["memory_available"] > 0
    assert [lane["engine"] for lane in alone["lanes"]] == ["threads", "pool", "asyncio", "uvloop"]


@pytest.mark.real
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


@pytest.mark.real
def test_a_thread_costs_more_than_a_coroutine(alone):
    threads, _, coroutines, _ = alone["lanes"]
    assert threads["rss_per_task"] > 3 * coroutines["rss_per_task"]


@pytest.mark.real
def test_together_and_traced_every_lane_has_both_figures():
    found = measured(
        "asyncio", "threads", "--together", "--trace", "--gc", "frozen", "--tasks", "500", "--seconds", "0.3"
    )
    for lane in found["lanes"]:
        assert (lane["state"], lane["traced"], lane["gc"]) == ("done", True, "frozen")
        assert lane["peak_live"] == 500
        assert 300 < lane["traced_per_task"] < lane["rss_per_task"]


@pytest.mark.real
def test_tasks_that_end_are_counted_and_refilled():
    (lane,) = measured("asyncio", "--tasks", "200", "--workload", "sleep:0.05", "--seconds", "1.2")["lanes"]
    assert lane["created"] == lane["completed"] + lane["failed"] + lane["cancelled"]
    assert lane["completed"] > 400
    assert lane["completion_rate"] > 200
    assert lane["peak_live"] <= 200


@pytest.mark.real
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
        check=1,  # they have not all been live at once
    )["lanes"]
    assert (lane["state"], lane["created"], lane["completed"], lane["cancelled"]) == ("short", 300, 300, 0)
    assert lane["flags"] == ["20 threads"]


@pytest.mark.real
def test_the_memory_budget_limits_a_lane_and_names_itself():
    done = concwatch(
        "run", "asyncio", "--tasks", "1M", "--workload", "payload:65536", "--max-memory", "80MiB",
        "--seconds", "0.2", "--force", "--json", check=1,
    )  # fmt: skip
    (lane,) = json.loads(done.stdout)["lanes"]
    assert (lane["state"], lane["reason"]) == ("limited", "memory budget (80 MiB)")
    assert 0 < lane["peak_live"] < 20_000
    assert "memory budget (80 MiB) reached at" in done.stderr
    assert lane["created"] == lane["cancelled"]


@pytest.mark.real
def test_tasks_that_fail_are_counted_and_told_unless_they_are_expected(tmp_path):
    (tmp_path / "jobs.py").write_text(
        "async def broken():\n    print('noise on standard output')\n    raise KeyError('the reason')\n"
    )
    done = concwatch(
        "run", "asyncio", "--tasks", "5", "--no-refill", "--workload", "jobs:broken", "--seconds", "0.2",
        "--json", cwd=tmp_path, check=1,
    )  # fmt: skip
    (lane,) = json.loads(done.stdout)["lanes"]
    assert (lane["state"], lane["created"], lane["failed"], lane["completed"]) == ("failing", 5, 5, 0)
    assert lane["reason"] == "5 tasks failed: a task failed: KeyError: 'the reason'"
    assert done.stderr.count("KeyError: 'the reason'") == 2  # in the message, and in the traceback
    again = ("run", "asyncio", "--tasks", "5", "--no-refill", "--workload", "jobs:broken", "--seconds", "0.2")
    failed, live = ("--expect", "asyncio.failed <= 5"), ("--expect", "asyncio.peak_live >= 0")
    done = concwatch(*again, *failed, *live, cwd=tmp_path, check=0)
    assert "asyncio  done" in done.stdout
    # That they may fail does not say that fewer may live.
    assert "asyncio  short" in concwatch(*again, *failed, cwd=tmp_path, check=1).stdout
    assert 'jobs.py", line 3, in broken' in done.stderr


# The same with fake workers, where something goes wrong.


def fake_run(*names, tasks=1_000, seconds=0.1, settings=None, budget=None, together=True, **workers):
    """Return what each engine came to as JSON, the events, and what was said meanwhile."""
    links, said = FakeWorkers(**workers), []
    session = Session([ENGINES[name] for name in names], [tasks], seconds, together=together)

    def make_lab(engines):
        make = main.context_settings["obj"]
        return make(engines, settings=settings, budget=budget, hz=50, open_link=links)

    asyncio.run(session.run(make_lab, lambda lab, lane, text: said.append(text)))
    return session.as_json("", lambda engine: ())["lanes"], session.events, said


@pytest.mark.usefixtures("fakes")
def test_a_measurement_says_what_it_is_doing():
    (lane,), events, said = fake_run("asyncio")
    assert (lane["state"], lane["reason"]) == ("done", None)
    assert lane["rss_per_task"] == pytest.approx(1_260, rel=0.01)
    assert lane["create_rate"] > 0
    assert lane["gc_seconds"] > 0
    assert said == ["starting 1,000 tasks", "holding 1,000 for 100 ms", "stopping"]
    assert [event.severity for event in events] == ["info"] * len(events)


@pytest.mark.usefixtures("fakes")
def test_a_wall_limits_a_lane_and_is_named():
    (lane,), _, _ = fake_run("threads", costs={"threads": Costs(most=300)})
    assert (lane["state"], lane["reason"], lane["peak_live"]) == ("limited", "vm.max_map_count (65,530)", 300)
    assert lane["limited_by"] == "vm.max_map_count (65,530) lets 300 of 1,000 live"
    assert lane["create_rate"] is None
    assert lane["cancelled"] == lane["created"] == 300


@pytest.mark.usefixtures("fakes")
def test_a_budget_that_is_spent_before_the_first_task_limits_a_lane():
    (lane,), _, _ = fake_run("asyncio", budget=MIB)
    assert (lane["state"], lane["reason"]) == ("limited", "memory budget (1 MiB)")


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("after", [0.0, 0.06, 0.9])
def test_a_worker_that_dies_fails_its_lane_while_the_other_is_measured(after, together):
    faults = {"asyncio": [Fault(after, Ended("killed by SIGKILL"))]}
    (dead, well), events, _ = fake_run(
        "asyncio", "uvloop", tasks=500, seconds=1.0, together=together, faults=faults
    )
    assert (dead["state"], dead["reason"]) == ("failed", "killed by SIGKILL")
    assert (well["state"], well["peak_live"], well["cancelled"]) == ("done", 500, 500)
    assert [event.text for event in events if event.severity == "error"] == ["failed: killed by SIGKILL"]
    assert {event.lane for event in events} == {"asyncio", "uvloop"}
    if after == 0.9:
        assert dead["created"] == dead["peak_live"] == 500


@pytest.mark.usefixtures("fakes")
def test_a_worker_that_falls_silent_does_not_hold_up_the_end(monkeypatch):
    monkeypatch.setattr(module, "GROW_LIMIT", 0.3)
    monkeypatch.setattr(module, "STUCK", 0.2)
    monkeypatch.setattr("concwatch.lab.worker.STOP_LIMIT", 0.2)
    faults = {"asyncio": [Fault(0.06, silence=1e9)]}
    (lane,), events, _ = fake_run("asyncio", faults=faults)
    assert (lane["state"], lane["reason"]) == ("limited", "not all had started within 300 ms")
    assert lane["stop_seconds"] is None
    assert any("killed" in event.text for event in events)


@pytest.mark.usefixtures("fakes")
def test_a_lab_that_breaks_down_ends_the_run(monkeypatch):
    def broken(lab, now=None):
        raise ZeroDivisionError

    monkeypatch.setattr("concwatch.lab.lane.Lane.step", broken)
    monkeypatch.setattr(Lab, "close", lambda lab: asyncio.sleep(0))
    with pytest.raises(ZeroDivisionError):
        fake_run("asyncio")


@pytest.mark.usefixtures("fakes")
def test_no_tasks_at_all_is_a_measurement_too():
    (lane,), _, _ = fake_run("asyncio", tasks=0, seconds=0.0)
    assert (lane["state"], lane["peak_live"]) == ("done", 0)
    assert lane["rss_per_task"] is lane["create_rate"] is lane["cpu_per_task"] is None


@pytest.mark.usefixtures("fakes")
def test_settings_are_in_the_result():
    (lane,), _, _ = fake_run("asyncio", settings=Settings("hold", True, True, "off"))
    assert (lane["traced"], lane["gc"], lane["tasks"]) == (True, "off", 1_000)
    assert lane["traced_per_task"] == pytest.approx(1_400)


# Several sizes, several runs, an early end.


def run_fakes(*arguments, check=0):
    done = CliRunner().invoke(main, ["run", "asyncio", *arguments, "--seconds", "0.1", "--json"])
    assert done.exit_code == check, done.output
    return json.loads(done.stdout)


def test_each_size_is_run_as_often_as_asked_and_the_median_has_its_spread(fakes, monkeypatch, tmp_path):
    class Dearer(FakeWorkers):
        def __call__(self, engine):
            self.costs = {"asyncio": Costs(task=1_000 + 100 * self.opened)}
            self.opened += 1
            return super().__call__(engine)

    dearer = Dearer()
    dearer.opened = 0
    use_lab(monkeypatch, open_link=dearer)
    found = run_fakes("--tasks", "500,1k", "--repeats", "3")
    assert [(lane["tasks"], lane["state"]) for lane in found["lanes"]] == [(500, "done"), (1_000, "done")]
    small, large = found["lanes"]
    costs = [round(run["rss_per_task"], -1) for run in small["runs"]]
    assert costs == [1_000, 1_100, 1_200]
    assert small["rss_per_task"] == pytest.approx(1_100, rel=0.01)
    assert small["spread"]["rss_per_task"] == pytest.approx(200 / 1_100, rel=0.01)
    low, high = small["interval"]["rss_per_task"]
    # Student's t for three values is 4.303: half the interval is 4.303 × 100 / √3.
    assert (low, high) == pytest.approx((1_100 - 248.4, 1_100 + 248.4), rel=0.01)
    assert large["rss_per_task"] == pytest.approx(1_400, rel=0.01)

    (tmp_path / "a.json").write_text(json.dumps(found))
    told = CliRunner().invoke(main, ["compare", *[str(tmp_path / "a.json")] * 2, "--json"])
    figures = {(each["size"], each["figure"]): each for each in json.loads(told.stdout)["figures"]}
    cost = figures[1_000, "rss_per_task"]
    assert (cost["a"]["count"], cost["spread_known"], cost["verdict"]) == (3, True, "equal")
    assert cost["a"]["spread"] == pytest.approx(200 / 1_400, rel=0.01)


def test_fewer_live_than_asked_is_short_and_says_why_unless_it_is_expected(fakes):
    # 500 are created a second, and each lives a second: half of them stand at most.
    fakes.costs["asyncio"] = Costs(create_rate=500.0)
    few = ("--tasks", "1000", "--no-refill", "--workload", "sleep:1")
    (lane,) = run_fakes(*few, check=1)["lanes"]
    assert lane["state"] == "short"
    assert 400 < lane["peak_live"] < 600
    assert lane["limited_by"].startswith("Little's law: ")
    assert (
        f"at most {lane['peak_live']} of 1,000 tasks were live at once: {lane['limited_by']}"
        == lane["reason"]
    )
    (lane,) = run_fakes(*few, "--expect", "asyncio.peak_live >= 400")["lanes"]
    assert (lane["state"], lane["reason"]) == ("done", None)


@pytest.mark.real
def test_interrupted_it_prints_what_there_is():
    command = [sys.executable, "-m", "concwatch", "run", "asyncio", "threads", "--tasks", "20"]
    with subprocess.Popen(
        [*command, "--seconds", "60", "--json"],
        cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        while "holding" not in process.stderr.readline():
            assert process.poll() is None
        time.sleep(1.0)  # a few samples: what they say is in the result
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=PATIENCE)
    found = json.loads(said)
    assert (process.returncode, found["interrupted"]) == (130, True)
    (lane,) = found["lanes"]
    assert (lane["engine"], lane["state"], lane["peak_live"]) == ("asyncio", "interrupted", 20)
    assert lane["rss_per_task"] is not None
