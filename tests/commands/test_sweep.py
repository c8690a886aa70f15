"""`concwatch sweep`, with fake workers and with real ones."""

import json
import re

import pytest

from concwatch.recordings.load import load
from tests.command_line import invoke
from tests.fake_link import Costs


@pytest.fixture
def served(fakes):
    """Fake asyncio workers of which 8 tasks run at once, and a pool that refuses more than 20 threads."""
    fakes.costs["asyncio"] = Costs(served=8)
    fakes.costs["threads"] = Costs(most=20, limit="ulimit -u")
    return fakes


def sweep(*arguments, check=0):
    done = invoke("sweep", *arguments, "--workload", "sleep:2")
    assert done.exit_code == check, done.output
    return done


def test_json_has_the_steps_the_knee_and_the_fit(served):
    done = sweep("asyncio", "threads", "--to", "32", "--json", "--expect", "asyncio.knee >= 8")
    found = json.loads(done.stdout)
    assert found["workload"] == "sleep:2"
    first, second = found["engines"]
    knee = first["knee"]
    assert knee["tasks"] == 8
    assert knee["interval"][0] <= 8 <= knee["interval"][1]
    assert knee["best_throughput"] == pytest.approx(4, rel=0.03)
    assert first["fit"]["contention"]["value"] == pytest.approx(1 / 8, rel=0.1)
    assert [step["tasks"] for step in first["steps"]][-1] == 32
    assert second["knee"] is None
    assert "ulimit -u" in second["ended_by"]
    assert found["expect"][0] == {
        "expect": "asyncio.knee >= 8", "engine": "asyncio", "figure": "knee", "op": ">=", "value": 8.0,
        "measured": 8.0, "holds": True,
    }  # fmt: skip


def test_repeats_are_one_result_with_the_spread_between_them(served):
    once = json.loads(sweep("asyncio", "--to", "16", "--json").stdout)["engines"][0]
    [twice] = json.loads(sweep("asyncio", "--to", "16", "--repeats", "2", "--json").stdout)["engines"]
    assert twice["knee"]["tasks"] == 8
    assert [step["tasks"] for step in twice["steps"]] == [step["tasks"] for step in once["steps"]]
    assert [run["knee"] for run in twice["runs"]] == [8, 8]
    assert set(twice["spread"]) >= {"knee", "best_throughput"}
    assert "runs" not in once


def test_a_recording_has_the_steps_and_the_result_as_events(served, tmp_path):
    path = tmp_path / "sweep.jsonl"
    sweep("asyncio", "--to", "16", "--record", path)
    recording = load(path)
    texts = [event.text for event in recording.events(recording.duration).since(0)]
    for tasks in (1, 2, 4, 8, 16):
        assert any(re.match(rf"{tasks} tasks?: [\d.]+/s", text) for text in texts)
    assert any(text.startswith("8 at once are enough") for text in texts)
    assert invoke("compare", path, path).exit_code == 0


def test_a_sweep_of_which_no_step_could_be_measured_fails(served):
    served.costs["asyncio"] = Costs(refused=0)
    done = sweep("asyncio", "--to", "8", check=1)
    assert "asyncio: not measured: " in done.stdout
    assert " failed with 1 task: ConnectionRefusedError at app/jobs.py:12" in done.stdout


def test_two_sweeps_are_compared(served, tmp_path):
    for name, at_once in (("before", 8), ("after", 16)):
        served.costs["asyncio"] = Costs(served=at_once)
        (tmp_path / name).write_text(sweep("asyncio", "--to", "32", "--json").stdout)
    done = invoke("compare", tmp_path / "before", tmp_path / "after")
    assert "asyncio: the knee moved from 8" in done.stdout, done.output


def test_the_table_marks_what_is_enough_and_the_sentence_says_so(served):
    text = sweep("asyncio", "--to", "32").stdout
    assert "◂ enough" in text
    assert "asyncio: 8 at once are enough: " in text
    assert "contention" in text


def test_charts_have_the_axis_of_tasks(served):
    text = sweep("asyncio", "--to", "8", "--chart").stdout
    assert "tasks ended per second over live tasks   o asyncio" in text
    assert "duration p99 over live tasks" in text


def test_an_expectation_that_fails_is_one_line_and_exit_status_1(served):
    done = sweep("asyncio", "--to", "16", "--expect", "asyncio.knee >= 40", check=1)
    assert done.stderr.splitlines()[-1] == "concwatch: FAILED asyncio.knee >= 40: is 8"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((), "name one or more engines"),
        (("asyncio", "--from", "10", "--to", "5"), "--to 5 is less than --from 10"),
        (("asyncio", "--tasks", "5"), "--tasks has no effect"),
        (("asyncio", "--to", "0"), "at least 1 task"),
        (("asyncio", "--expect", "uvloop.knee > 4"), 'unknown engine of this sweep "uvloop"'),
        (("asyncio", "--expect", "asyncio.nee > 4"), 'unknown metric "nee"'),
        (("asyncio", "--chart", "--json"), "use one of them"),
    ],
)
def test_wrong_arguments_are_one_line(served, arguments, error):
    assert error in sweep(*arguments, check=2).stderr


def test_an_engine_without_a_pool_is_named(served):
    done = sweep("uvloop", "--over", "pool-threads", "--to", "4", check=1)
    assert "uvloop: not measured: it has no pool of threads" in done.stdout


@pytest.mark.real
def test_threads_of_a_real_pool_around_a_resource_for_two(tmp_path, monkeypatch):
    (tmp_path / "jobs.py").write_text(
        "import threading, time\nfree = threading.BoundedSemaphore(2)\n"
        "def job():\n    with free:\n        time.sleep(0.05)\n"
    )
    monkeypatch.chdir(tmp_path)
    arguments = ("--over", "pool-threads", "--to", "8", "--workload", "jobs:job", "--seconds", "1", "--json")
    done = invoke("sweep", "pool", *arguments)
    assert done.exit_code == 0, done.output
    [pool] = json.loads(done.stdout)["engines"]
    assert pool["over"] == "pool threads"
    # On a busy machine a step may be slow, so that a later one is the first with enough.
    assert 2 <= pool["knee"]["tasks"] <= 5 if pool["knee"] else pool["steps"]
    assert max(step["throughput"] for step in pool["steps"]) < 1.3 * 2 / 0.05
