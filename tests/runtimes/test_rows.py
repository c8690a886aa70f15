"""The engines in other languages: their reports, times and memory, and their end with the monitor."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.state import State
from concwatch.monitor.workers.catalog import CATALOG, find_engines
from concwatch.monitor.workers.engine_notes import engine_notes
from concwatch.runtimes.rows import RUNTIMES
from concwatch.system.child import ROOT
from tests.processes import assert_ended
from tests.worker_driver import EARLY, PATIENCE, Worker, running_lab, start_command, until

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]  # the first test of an engine may have to build it

GOLDEN = Path(ROOT) / "tests" / "golden" / "wire"
WRITE = os.environ.get("CONCWATCH_GOLDEN") == "write"
OTHERS = [engine.name for engine in CATALOG if engine.ways]
PROGRAMS = ("go", "tokio", "java-virtual", "csharp", "node", "erlang")
"""One engine of each language."""
REQUIRED = os.environ.get("REQUIRE_RUNTIMES", "").split()
"""Engines that must be installed: a missing one is a failure, not a skip."""


@pytest.fixture(scope="module", params=OTHERS)
def worker(request):
    """A worker of each engine whose tools are installed, shared by all tests."""
    if missing := find_engines([request.param])[0].missing():
        pytest.skip(missing)
    with Worker(request.param) as worker:
        yield worker


@pytest.fixture
def engine(worker):
    """The name of its engine."""
    return worker.ready["engine"]


def test_every_required_engine_is_installed():
    missing = {name: find_engines([name])[0].missing() for name in REQUIRED}
    assert not {name: reason for name, reason in missing.items() if reason}


def test_runtimes_and_catalog_have_the_same_engines_with_notes():
    assert sorted(RUNTIMES) == sorted(OTHERS)
    for engine in CATALOG:
        assert len(engine_notes(engine)) > 100, engine.name
        assert engine.bytes_per_task > 0


# Reports.


def masked(report):
    """Return a report as JSON without the values that change: times, bytes, versions."""
    seconds = ("time", "lag", "gc", "seconds", "create_seconds", "create_cpu", "cpu")
    changing = (*seconds, "number", "heap", "pid", "switches", "durations", "delays")
    kept = {key: "…" if key in changing else value for key, value in report.items()}
    if report["type"] == "ready":
        kept["runtime"] = kept["runtime"].split()[0] + " …"
        kept["flags"] = "…"
    return json.dumps(kept, sort_keys=True, ensure_ascii=False)


def conversation(worker):
    """Send every command to a new worker; return all its reports and the last tick."""
    worker.do("rate", hz=50)
    worker.do("workload", spec="hold")
    worker.target(3)
    worker.target(1)
    worker.refuse("workload", spec="http")
    worker.refuse("workload", spec="")
    worker.refuse("target", tasks=-1)
    worker.refuse("refill", on="yes")
    worker.refuse("rate", hz=0)
    worker.refuse("halt", wall=3, value=1)
    worker.refuse("play", on=True)
    worker.refuse("burst", tasks=1, chunks=1, older=0, read_after=None)
    worker.wait("error", lambda report: report["command"] is None, worker.write(b"[1,2]\n"))
    worker.wait("limit", since=worker.send("halt", wall="patience", value=7))
    worker.do("refill", on=False)
    worker.do("trim")
    worker.target(0)
    worker.do("workload", spec="nop")
    worker.refuse("burst", tasks=2, chunks=3, older=0, read_after=None)
    worker.refuse("burst", tasks=2, chunks=1, older=1, read_after=None)
    worker.wait("burst", since=worker.send("burst", tasks=2, chunks=1, older=0, read_after=None))
    last = worker.tick()
    reports = [report for report in worker.reports if report["type"] != "tick"]
    return [
        masked(report)
        for report in reports
        if (report["type"], report.get("command")) != ("applied", "burst")
    ] + [masked(last)]


def test_a_worker_without_tasks_is_idle(worker):
    worker.reset()
    worker.check_idle()


def test_reports_match_the_golden_file(worker, engine):
    lines = "".join(line + "\n" for line in conversation(worker))
    path = GOLDEN / f"{engine}.jsonl"
    if WRITE:
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(lines, encoding="utf-8")
    assert lines == path.read_text(encoding="utf-8")


TIMED = ("go", "tokio", "async-std", "rust-threads", "node", "node-timers", "java-virtual", "java-threads")
"""Engines that time some of their tasks."""


def timings(worker):
    """Return all durations and all delays that a worker has reported, in seconds."""
    return ([value for tick in worker.ticks for value in tick[name]] for name in ("durations", "delays"))


def test_completed_tasks_are_timed_up_to_a_thousand_a_second_except_in_bursts(worker, engine):
    worker.reset()
    worker.do("refill", on=False)
    worker.target(20)
    worker.do("workload", spec="sleep:0.2")  # cancels the 20 tasks
    last = worker.tick(lambda tick: tick["completed"] == 20)
    assert (last["live"], last["cancelled"], last["failed"]) == (0, 20, 0)
    if engine not in TIMED:
        assert not {"durations", "delays"} & set(last)
        return
    durations, delays = timings(worker)
    assert len(durations) == 20, "only completed tasks have a duration"
    assert 0.2 - EARLY <= min(durations) <= max(durations) < 2
    assert len(delays) == (0 if engine == "node-timers" else 40)  # a timer has no start
    assert all(0 <= delay < 2 for delay in delays)
    worker.target(0)
    worker.do("workload", spec="nop")
    worker.wait("burst", since=worker.send("burst", tasks=200, chunks=1, older=0, read_after=None))
    worker.tick()
    assert [*timings(worker)] == [durations, delays]
    first = worker.ticks[0]
    worker.do("refill", on=True)
    worker.send("target", tasks=100)
    worker.tick(lambda tick: tick["completed"] > 5_000 and tick["time"] > first["time"] + 0.3)
    worker.send("target", tasks=0)
    last = worker.tick(lambda tick: tick["live"] == 0)
    durations, _ = timings(worker)
    assert 50 <= len(durations) <= 120 + 1_000 * (last["time"] - first["time"])


def test_a_runtime_with_a_heap_reports_its_size(worker, engine):
    worker.reset()
    before = worker.tick()
    if engine in ("rust-threads", "tokio", "async-std"):  # without a garbage collector
        assert "heap" not in before
        return
    assert 0 < before["heap"] < psutil.Process(worker.ready["pid"]).memory_info().vms
    tasks = 2_000 if find_engines([engine])[0].threads else 20_000
    worker.target(tasks)
    worker.tick(lambda tick: tick["heap"] > before["heap"] + tasks * 40)  # bytes of the smallest task


@pytest.mark.parametrize("worker", ["go", "node", "tokio"], indirect=True, scope="module")
def test_context_switches_are_counted(worker):
    before = worker.tick()["switches"]
    worker.tick(lambda tick: tick["switches"] > before)


# In a lab.


async def test_one_lab_runs_an_engine_of_each_language_and_leaves_no_process():
    rows = [row for row in find_engines([*PROGRAMS, "asyncio"]) if not row.missing()]
    for row in rows:
        await asyncio.to_thread(start_command, row)
    async with running_lab(rows, settings=Settings("sleep:60", trace=True), hz=20) as lab:
        for lane in lab.lanes:
            lab.set_target(lane, 500)
        for lane in lab.lanes:
            await until(
                lambda lane=lane: lane.live == 500,
                f"{lane.engine.name}: {lane.state} {lane.worker.life.reason}",
            )
            assert lane.state in (State.RUNNING, State.STALLED)
        pids = [lane.worker.stats.ready.pid for lane in lab.lanes]
        for lane in lab.lanes:
            assert lane.worker.can("trace") == (not lane.engine.ways)
            assert (lane.worker.stats.tick.traced is None) == bool(lane.engine.ways)
    assert [pid for pid in pids if psutil.pid_exists(pid)] == []


PROGRAM = "import sys; sys.path.insert(0, {root!r}); from concwatch.__main__ import main; main()"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_workers_end_when_their_monitor_is_killed():
    rows = [row for row in find_engines(PROGRAMS) if not row.missing()]
    if not rows:
        pytest.skip("no toolchain of another language is installed")
    for row in rows:
        start_command(row)
    command = [sys.executable, "-P", "-c", PROGRAM.format(root=ROOT), "run", *(row.name for row in rows)]
    command += ["--tasks", "100", "--together", "--seconds", "600", "--workload", "hold"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
        try:
            monitor = psutil.Process(program.pid)
            end = time.monotonic() + PATIENCE
            while len(workers := monitor.children(recursive=True)) < len(rows):
                assert time.monotonic() < end, f"{len(workers)} of {len(rows)} workers"
                time.sleep(0.05)
            workers = monitor.children(recursive=True)
        finally:
            program.send_signal(signal.SIGKILL)
    assert_ended(workers)
