"""`concwatch run`: metrics of real workers, and failures of fake ones."""

import asyncio
import json
import signal
import subprocess
import sys

import pytest

from concwatch.commands.cli import main
from concwatch.links.link import Ended
from concwatch.measure import measurement as module
from concwatch.measure.run import RunSession
from concwatch.monitor.lanes.lab import Lab
from concwatch.portable.machine.kernel_memory import kernel_stack_size
from concwatch.system.child import ROOT
from tests.command_line import PROGRAM, invoke
from tests.fake_link import Costs, FakeWorkers, Fault
from tests.lab_driver import ENGINES, use_lab

MIB = 1 << 20


def measured(*arguments, check=0):
    """Return the object of ``concwatch run --json``, and its standard error."""
    done = invoke("run", *arguments, "--json")
    assert done.exit_code == check, done.output
    return json.loads(done.stdout), done.stderr


@pytest.mark.real
def test_every_figure_of_real_workers_is_plausible():
    holds, fails = "asyncio.rss_per_task < 1MiB", "asyncio.create_rate > 1000M/s"
    expected = ("--expect", holds, "--expect", fails)
    run = ("threads", "asyncio", "--together", "--tasks", "500", "--seconds", "0.2", *expected)
    found, _ = measured(*run, check=1)
    assert [(each["expect"], each["holds"]) for each in found["expect"]] == [(holds, True), (fails, False)]
    assert (found["workload"], type(found["concwatch"])) == ("sleep", str)
    machine = found["machine"]
    assert machine["cores"] >= 1
    assert machine["memory_total"] >= machine["memory_available"] > 0
    threads, coroutines = found["lanes"]
    assert (threads["engine"], coroutines["engine"]) == ("threads", "asyncio")
    assert threads["rss_per_task"] > 3 * coroutines["rss_per_task"]
    if sys.platform.startswith("linux"):
        assert threads["kernel_stack"] == pytest.approx(kernel_stack_size(), rel=0.02)
        assert 10 * threads["kernel_stack"] > threads["kernel_per_task"] > threads["rss_per_task"] / 2
        for lane in found["lanes"]:
            parts = sum(lane[name] for name in ("kernel_stack", "page_tables", "kernel_objects"))
            assert lane["kernel_per_task"] == pytest.approx(parts)
            assert lane["memory_per_task"] == pytest.approx(lane["rss_per_task"] + parts)
    for lane in found["lanes"]:
        assert (lane["state"], lane["reason"], lane["traced"], lane["gc"]) == ("done", None, False, "default")
        assert lane["runtime"].startswith("CPython 3.")
        assert lane["peak_live"] == lane["created"] == lane["cancelled"] == 500
        assert lane["completed"] == lane["failed"] == lane["completion_rate"] == 0
        assert 2 * MIB < lane["idle_rss"] < 100 * MIB
        assert lane["peak_rss"] >= lane["idle_rss"] + 500 * lane["rss_per_task"] * 0.9
        assert lane["idle_rss"] * 0.9 < lane["retained_rss"] <= lane["peak_rss"]
        assert 200 < lane["rss_per_task"] < 60_000
        assert lane["traced_per_task"] is lane["limited_by"] is None
        assert lane["create_rate"] > 100
        assert 0 <= lane["wake_lag_p99"] < 10
        assert 0 <= lane["gc_seconds"] < 10
        assert 0 < lane["stop_seconds"] < 30
        assert lane["marks"] is not lane["plus_minus"] is not None


@pytest.mark.real
def test_tasks_that_fail_are_counted_and_logged(tmp_path, monkeypatch):
    source = "async def broken():\n    print('noise on standard output')\n    raise KeyError('the reason')\n"
    (tmp_path / "jobs.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "SETTLE", 0.05)  # metrics need not be exact
    run = ("asyncio", "--tasks", "5", "--no-refill", "--workload", "jobs:broken", "--seconds", "0.2")
    found, errors = measured(*run, check=1)
    (lane,) = found["lanes"]
    assert (lane["state"], lane["created"], lane["failed"], lane["completed"]) == ("failing", 5, 5, 0)
    place = f"{tmp_path / 'jobs.py'}:3"
    assert lane["failures"] == [{"type": "KeyError", "where": place, "count": 5}]
    assert lane["reason"] == f"5 tasks failed: KeyError at {tmp_path.name}/jobs.py:3: 5 times"
    assert errors.count("KeyError: 'the reason'") == 2  # in the message, and in the traceback
    assert 'jobs.py", line 3, in broken' in errors


# Failures of fake workers.


def fake_run(*names, tasks=1_000, seconds=0.1, budget=None, together=True, **workers):
    """Return the JSON object of each engine, the events, and the progress."""
    links, progress = FakeWorkers(**workers), []
    session = RunSession([ENGINES[name] for name in names], [tasks], seconds, together=together)

    def make_lab(engines):
        make = main.context_settings["obj"]
        return make(engines, budget=budget, hz=50, open_link=links)

    asyncio.run(session.run(make_lab, lambda lab, lane, text: progress.append(text)))
    return session.as_json("", lambda engine: ())["lanes"], session.events, progress


@pytest.mark.usefixtures("fakes")
def test_progress_of_a_measurement():
    (lane,), events, progress = fake_run("asyncio")
    assert (lane["state"], lane["reason"]) == ("done", None)
    assert lane["rss_per_task"] == pytest.approx(1_260, rel=0.01)
    assert lane["create_rate"] > 0
    assert lane["gc_seconds"] > 0
    assert progress == ["starting 1,000 tasks", "holding 1,000 for 100 ms", "stopping"]
    assert [event.severity for event in events] == ["info"] * len(events)


def test_anatomy_prints_what_a_task_consists_of_and_exports_it(fakes):
    arguments = ("threads", "go", "--tasks", "1000", "--seconds", "0.1", "--anatomy")
    done = invoke("run", *arguments)
    assert done.exit_code == 0, done.output
    for text in (
        "threads: one task takes 43.1 KiB",
        "stack pages touched",
        "coroutine sleep and its frame",
        "kernel stack",
        "objects: the mean of 500 of 1,000 tasks",
        "go: one task takes",
        "live objects, as the runtime counts them",
    ):
        assert text in done.stdout
    assert "anatomy" in [type_ for type_, _ in fakes.links["threads"].sent]
    assert "anatomy" not in [type_ for type_, _ in fakes.links["go"].sent], "it cannot"
    found, _ = measured(*arguments)
    for lane in found["lanes"]:
        anatomy = lane["anatomy"]
        assert anatomy["memory_per_task"] == pytest.approx(lane["memory_per_task"])
        assert sum(part["bytes"] for part in anatomy["parts"]) == pytest.approx(
            anatomy["memory_per_task"], rel=0.01
        )


def test_an_anatomy_of_too_few_tasks_says_why_objects_are_missing(fakes):
    done = invoke("run", "asyncio", "--tasks", "20", "--seconds", "0.1", "--anatomy")
    assert done.exit_code == 0, done.output
    assert "20 tasks are live; to tell what each has, 100 are needed" in done.stdout


@pytest.mark.real
def test_the_anatomy_of_real_tasks_adds_up():
    found, _ = measured("asyncio", "--tasks", "20000", "--seconds", "0.5", "--anatomy")
    (lane,) = found["lanes"]
    names = {part["name"] for part in lane["anatomy"]["parts"]}
    assert {"Task", "Future", "TimerHandle"} <= names
    assert abs(lane["anatomy"]["unexplained"]) <= 0.05 * lane["memory_per_task"]


@pytest.mark.usefixtures("fakes")
def test_a_limit_of_a_lane_is_named():
    (lane,), _, _ = fake_run("threads", costs={"threads": Costs(most=300)})
    assert (lane["state"], lane["reason"], lane["peak_live"]) == ("limited", "vm.max_map_count (65,530)", 300)
    assert lane["limited_by"] == "vm.max_map_count (65,530) lets 300 of 1,000 live"
    assert lane["create_rate"] is None
    assert lane["cancelled"] == lane["created"] == 300


@pytest.mark.usefixtures("fakes")
def test_a_memory_budget_that_limits_a_lane_is_named():
    (lane,), _, _ = fake_run("asyncio", budget=MIB)  # used up before the first task
    assert (lane["state"], lane["reason"]) == ("limited", "memory budget (1 MiB)")
    (lane,), events, _ = fake_run("asyncio", tasks=1_000_000, budget=80 * MIB)
    assert (lane["state"], lane["reason"]) == ("limited", "memory budget (80 MiB)")
    assert 0 < lane["peak_live"] < 100_000
    assert any("memory budget (80 MiB) reached at" in event.text for event in events)
    assert lane["created"] == lane["cancelled"]


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("after", [0.0, 0.06, 0.9])
def test_a_killed_worker_fails_its_lane_and_the_other_is_measured(after, together):
    faults = {"asyncio": [Fault(after, Ended("killed by SIGKILL"))]}
    options = {"tasks": 500, "seconds": 1.0, "together": together, "faults": faults}
    (dead, healthy), events, _ = fake_run("asyncio", "uvloop", **options)
    assert (dead["state"], dead["reason"]) == ("failed", "killed by SIGKILL")
    assert (healthy["state"], healthy["peak_live"], healthy["cancelled"]) == ("done", 500, 500)
    assert [event.text for event in events if event.severity == "error"] == ["failed: killed by SIGKILL"]
    assert {event.lane for event in events} == {"asyncio", "uvloop"}
    if after == 0.9:
        assert dead["created"] == dead["peak_live"] == 500


@pytest.mark.usefixtures("fakes")
def test_a_silent_worker_does_not_delay_the_end(monkeypatch):
    monkeypatch.setattr(module, "GROW_LIMIT", 0.3)
    monkeypatch.setattr(module, "STOP_LIMIT", 0.2)
    monkeypatch.setattr("concwatch.monitor.workers.worker_life.STOP_LIMIT", 0.2)
    faults = {"asyncio": [Fault(0.06, silence=1e9)]}
    (lane,), events, _ = fake_run("asyncio", faults=faults)
    assert (lane["state"], lane["reason"]) == ("limited", "not all tasks started within 300 ms")
    assert lane["stop_seconds"] is None
    assert any("killed" in event.text for event in events)


@pytest.mark.usefixtures("fakes")
def test_an_exception_in_the_lab_ends_the_run(monkeypatch):
    def broken(lab, now=None):
        raise ZeroDivisionError

    monkeypatch.setattr("concwatch.monitor.lanes.lane.Lane.step", broken)
    monkeypatch.setattr(Lab, "close", lambda lab: asyncio.sleep(0))
    with pytest.raises(ZeroDivisionError):
        fake_run("asyncio")


# Several sizes, repeats, interruption.


def test_repeats_of_several_sizes_give_medians_with_spread_and_interval(fakes, monkeypatch, tmp_path):
    class GrowingCosts(FakeWorkers):
        opened = 0

        def __call__(self, engine):
            self.costs = {"asyncio": Costs(task=1_000 + 100 * self.opened)}
            self.opened += 1
            return super().__call__(engine)

    use_lab(monkeypatch, open_link=GrowingCosts())
    found, _ = measured("asyncio", "--seconds", "0.1", "--tasks", "500,1k", "--repeats", "3")
    assert [(lane["tasks"], lane["state"]) for lane in found["lanes"]] == [(500, "done"), (1_000, "done")]
    small, large = found["lanes"]
    assert [round(run["rss_per_task"], -1) for run in small["runs"]] == [1_000, 1_100, 1_200]
    assert small["rss_per_task"] == pytest.approx(1_100, rel=0.01)
    assert small["spread"]["rss_per_task"] == pytest.approx(200 / 1_100, rel=0.01)
    # Student's t for three values is 4.303: half the interval is 4.303 × 100 / √3.
    interval = pytest.approx([1_100 - 248.4, 1_100 + 248.4], rel=0.01)
    assert small["interval"]["rss_per_task"] == interval
    assert large["rss_per_task"] == pytest.approx(1_400, rel=0.01)
    (tmp_path / "a.json").write_text(json.dumps(found))
    comparison = invoke("compare", *[tmp_path / "a.json"] * 2, "--json")
    metrics = {(each["size"], each["figure"]): each for each in json.loads(comparison.stdout)["figures"]}
    cost = metrics[1_000, "rss_per_task"]
    assert (cost["a"]["count"], cost["spread_known"], cost["verdict"]) == (3, True, "equal")
    assert cost["a"]["spread"] == pytest.approx(200 / 1_400, rel=0.01)


def test_fewer_live_tasks_than_requested_is_short_with_a_reason_unless_expected(fakes):
    # 500 are created a second, and each lives a second: at most half of them are live.
    fakes.costs["asyncio"] = Costs(create_rate=500.0)
    few = ("asyncio", "--tasks", "1000", "--no-refill", "--workload", "sleep:1", "--seconds", "0.1")
    (lane,) = measured(*few, check=1)[0]["lanes"]
    assert lane["state"] == "short"
    assert 400 < lane["peak_live"] < 600
    assert lane["limited_by"].startswith("Little's law: ")
    live = f"at most {lane['peak_live']} of 1,000 tasks were live at once"
    assert lane["reason"] == f"{live}: {lane['limited_by']}"
    (lane,) = measured(*few, "--expect", "asyncio.peak_live >= 400")[0]["lanes"]
    assert (lane["state"], lane["reason"]) == ("done", None)


@pytest.mark.real
def test_an_interrupted_run_prints_the_results_so_far():
    command = [*PROGRAM, "run", "asyncio", "threads", "--tasks", "20", "--seconds", "60", "--json"]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, text=True, **streams) as process:
        while "holding" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    found = json.loads(output)
    assert (process.returncode, found["interrupted"]) == (-signal.SIGINT, True)
    (lane,) = found["lanes"]
    assert (lane["engine"], lane["state"], lane["peak_live"]) == ("asyncio", "interrupted", 20)
