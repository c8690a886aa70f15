"""`concwatch doctor`: examination, forecasts, advice, and the test of a forecast."""

import builtins
import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys

import psutil
import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from concwatch.links.link import Ended
from concwatch.measure.doctor import advice
from concwatch.measure.doctor.advice import advise
from concwatch.measure.doctor.capacity import engine_forecasts, local_machine, thread_limits
from concwatch.measure.doctor.doctor_lines import proof_rows, rows
from concwatch.measure.doctor.examination import Examination, examine, terminal_problems
from concwatch.measure.doctor.proof import MAX_THREADS, prove, thread_target
from concwatch.monitor.lanes.forecast import UNBOUND
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.fit import Fit
from concwatch.monitor.metrics.metrics import BY_NAME, FORECAST
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.workers.catalog import CATALOG, find_engines
from concwatch.portable.machine import cpu_quota
from concwatch.portable.machine.limits import SystemLimit, system_limits
from concwatch.system.child import ROOT
from concwatch.system.memory import BUDGET
from tests.browser import until
from tests.command_line import PROGRAM, invoke
from tests.fake_link import Costs, FakeWorkers, Fault
from tests.lab_driver import Bench
from tests.low_limits import low_pid_max, low_user_limit
from tests.processes import assert_ended
from tests.virtual_time import fast, now

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux shows all limits")
PATIENCE = 60.0
GIB = 1 << 30

MAPS = SystemLimit("vm.max_map_count", 65_530, 130)
PIDS = SystemLimit("pid_max", 32_768, 400)
ALL_RUN = [None] * len(CATALOG)
COMMIT = SystemLimit("memory commit limit", 900, 100, 8)
GROUP = SystemLimit("cgroup pids.max", 500, 20, where="/sys/fs/cgroup/app")
SCOPE = SystemLimit("cgroup pids.max", 500, 20, where="/sys/fs/cgroup/user.slice/session.scope")


def text_of(lines):
    return "\n".join("".join(text for text, _ in line) for line in lines)


# Output.


@pytest.mark.real
def test_every_group_is_printed_within_80_columns():
    result = invoke("doctor")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    groups = ("Machine", "Limits on threads", "Engines & forecast", "Terminal", "Versions", "To run more")
    heads = [line for line in lines if line and not line.startswith(" ")]
    assert [next(name for name in groups if line.startswith(name)) for line in heads] == list(groups)
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in result.stdout
    for engine in CATALOG:
        assert any(line.startswith(f"  {engine.name} ") for line in lines)


@pytest.mark.real
def test_json_has_all_keys_and_limits():
    result = invoke("doctor", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert list(found) == [*Examination.__struct_fields__]
    assert found["proof"] is None
    assert [row["engine"] for row in found["engines"]][: len(CATALOG)] == [row.name for row in CATALOG]
    assert found["machine"]["budget"] == int(found["machine"]["memory_available"] * 0.8)
    if sys.platform.startswith("linux"):
        limits = {limit["name"]: limit for limit in found["limits"]}
        for limit in (limits[name] for name in ("vm.max_map_count", "pid_max", "threads-max")):
            assert limit["free"] == limit["value"] - limit["used"] > 0
        for limit in (limits[name] for name in ("cgroup pids.max", "ulimit -u")):
            assert limit["value"] is not None or limit["note"] not in ("", "unknown")


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_limits_are_unknown_on_other_systems(system, monkeypatch):
    real = builtins.open

    def open_elsewhere(path, *arguments, **options):
        if str(path).startswith(("/proc", "/sys")):
            raise FileNotFoundError(path)
        return real(path, *arguments, **options)

    memory = psutil.virtual_memory()
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr("concwatch.system.memory.LINUX", False)
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(builtins, "open", open_elsewhere)
    if system == "win32":
        monkeypatch.setitem(sys.modules, "resource", None)
        monkeypatch.setattr(shutil, "which", lambda name, **options: None)  # calls Windows from 3.12 on
        for name in ("getuid", "geteuid", "sched_getaffinity", "readlink"):
            monkeypatch.delattr(os, name, raising=False)
    found = examine(local_machine(None), system_limits())
    assert {limit.note for limit in found.limits} == {"unknown"}
    assert "limits on threads unknown" in text_of(rows(found))
    assert json.dumps(to_builtins(found))
    assert not {row.limit for row in found.for_more} - {BUDGET, "ulimit -n"}


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "150000 100000"}, 1.5),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu.max": "5 0"}, None),
        ({"cpu.cfs_quota_us": "50000", "cpu.cfs_period_us": "100000"}, 0.5),
        ({"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_cgroup_quota_in_cores(files, quota, monkeypatch, tmp_path):
    for name, text in files.items():
        (tmp_path / name).write_text(f"{text}\n")
    monkeypatch.setattr(cpu_quota, "cgroup_folders", lambda _: [str(tmp_path), str(tmp_path / "nowhere")])
    assert local_machine(None).quota == quota


def test_terminal_problems_are_named(monkeypatch):
    class Stream(io.StringIO):
        encoding = "utf-8"
        isatty = staticmethod(lambda: True)

    monkeypatch.setattr(sys, "stdin", Stream())
    monkeypatch.setattr(sys, "stdout", Stream())
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLORTERM", raising=False)
    assert terminal_problems() == []
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(Stream, "encoding", "ascii")
    monkeypatch.setattr(Stream, "isatty", lambda _: False)
    text = "\n".join(terminal_problems())
    for part in (
        "standard input and output are not a terminal",
        "40 × 24",
        "COLORTERM=truecolor",
        "LC_ALL=C.UTF-8",
    ):
        assert part in text
    monkeypatch.setenv("NO_COLOR", "")
    assert any("NO_COLOR" in line for line in terminal_problems())


# Forecasts and advice.


def examined(limits=(MAPS, PIDS), reasons=ALL_RUN):
    """Return an examination with 16 GiB available, a budget of 8, and these limits on threads."""
    machine = replace(local_machine(8 * GIB), memory_available=16 * GIB, memory_group=None)
    engines = engine_forecasts(machine.budget, limits, reasons)
    return Examination("1", machine, thread_limits(limits), engines, [], {}, advise(machine, limits, engines))


def test_the_tightest_of_limits_with_the_same_name_is_shown():
    outer = SystemLimit("cgroup pids.max", 100, 90, where="/outer")
    memory = [SystemLimit(name, 4 * GIB, GIB, 1 << 20) for name in advice.COMMANDS if "memory" in name]
    found = examined([MAPS, GROUP, outer, *memory])
    (group,) = [limit for limit in found.limits if limit.name == "cgroup pids.max"]
    assert (group.threads, group.where) == (10, "/outer")
    lines = text_of(rows(found)).splitlines()
    assert [line.split()[:2] for line in lines if line.endswith("◂ first")] == [["cgroup", "pids.max"]]
    assert max(map(len, lines)) <= 80


def test_threads_have_limits_of_their_own_and_other_tasks_memory():
    found = {(row.engine, row.workload): row for row in examined().engines}
    threads = found["threads", "sleep:10"]
    assert (threads.tasks, threads.limit) == ((65_530 - 130) // 3, "vm.max_map_count")
    assert found["asyncio", "sleep:10"].limit == BUDGET
    assert found["sequential", "sleep:10"].limit == UNBOUND
    assert found["asyncio", "http"].tasks < found["asyncio", "sleep:10"].tasks


def test_an_engine_that_cannot_run_has_a_reason_and_no_advice():
    reasons = [None if row.name != "gevent" else "broken gevent: no such symbol" for row in CATALOG]
    found = examined(reasons=reasons)
    (line,) = [line for line in text_of(rows(found)).splitlines() if line.startswith("  gevent ")]
    assert "unavailable (broken gevent: no such symbol)" in line
    assert not any("gevent" in row.engines for row in found.for_more)


@linux
@pytest.mark.parametrize(
    ("limits", "command", "tasks", "then"),
    [
        ([MAPS, PIDS], "sudo sysctl -w vm.max_map_count=131072", 32_300, "pid_max"),
        ([PIDS], "sudo sysctl -w kernel.pid_max=262144", None, BUDGET),
        ([GROUP, MAPS], "echo 32768 | sudo tee /sys/fs/cgroup/app/pids.max", 21_800, "vm.max_map_count"),
        ([SCOPE, MAPS], "systemd-run --user --scope -p TasksMax=32768 concwatch", 21_800, "vm.max_map_count"),
        ([SystemLimit("threads-max", 900, 100), PIDS], "sudo sysctl -w kernel.threads-max=32768", None, None),
        ([COMMIT], "sudo sysctl -w vm.overcommit_memory=0", None, BUDGET),
        ([], "concwatch --max-memory 90%", None, BUDGET),
    ],
)
def test_advice_raises_only_the_lowest_limit(limits, command, tasks, then, monkeypatch):
    monkeypatch.setattr(advice, "CONTAINER_FILES", ())
    found = examined(limits)
    (row,) = [row for row in found.for_more if "threads" in row.engines]
    assert (row.limit, row.commands) == (limits[0].name if limits else BUDGET, (command,))
    assert tasks in (None, row.tasks)
    assert then in (None, row.then)
    assert row.tasks > next(each.tasks for each in found.engines if each.engine == row.engines[0])


@linux
def test_no_advice_for_a_limit_at_its_maximum():
    found = examined([SystemLimit("pid_max", 1 << 22, (1 << 22) - 500)])
    assert next(row.limit for row in found.engines if row.engine == "threads") == "pid_max"
    assert not any("threads" in row.engines for row in found.for_more)


@linux
def test_advice_in_a_container_raises_the_containers_limit(monkeypatch, tmp_path):
    monkeypatch.setattr(advice, "CONTAINER_FILES", (str(tmp_path),))
    (row,) = [row for row in examined([GROUP]).for_more if "threads" in row.engines]
    assert row.commands[0].startswith("docker run --pids-limit ")


# Tests of a forecast.


def fake_lab(*faults, **costs):
    """Return a function that creates a lab with one fake worker."""
    workers = FakeWorkers({"threads": Costs(create_rate=50_000.0, **costs)}, {"threads": list(faults)})
    return lambda: Lab(find_engines(["threads"]), settings=Settings("hold"), open_link=workers, clock=now)


@pytest.mark.parametrize(("forecast", "requested"), [(1_000, 1_100), (10_000_000, MAX_THREADS), (0, 0)])
def test_the_test_of_a_forecast_requests_a_tenth_more(forecast, requested):
    assert thread_target(Fit(forecast, "pid_max")) == requested


@pytest.mark.parametrize(
    ("lab", "forecast", "holds", "shown"),
    [
        (fake_lab(most=960, limit="pid_max"), 1_000, True, "4.0 % fewer than forecast: the forecast holds"),
        (fake_lab(most=890, limit="threads-max"), 1_000, False, "not the one forecast"),
        (fake_lab(Fault(0.01, Ended("killed by SIGKILL"))), 10_000, False, "stopped early    killed by"),
    ],
    ids=["as forecast", "a tenth less", "killed"],
)
def test_a_forecast_holds_if_its_limit_is_reached_near_its_number(lab, forecast, holds, shown):
    progress = []

    async def run_proof():
        return await prove(lab(), Fit(forecast, "pid_max"), progress.append)

    proof = fast(run_proof())
    assert (proof.asked, proof.holds, proof.ended) == (forecast * 11 // 10, holds, True)
    text = text_of(proof_rows(proof))
    assert shown in text
    assert ("960 of 1,100 requested" in text and "as forecast" in text) == holds
    assert progress[0] == "starting a worker"


def test_a_wrong_forecast_is_one_line_and_exit_status_1(fakes, monkeypatch):
    fakes.costs["threads"] = Costs(create_rate=50_000.0, most=50)
    result = invoke("doctor", "--prove", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["proof"]["standing"] == 50
    assert "the forecast does not hold" in result.stderr.splitlines()[-1]


@pytest.mark.real
@linux
@pytest.mark.parametrize(
    ("lower", "limit"),
    [(low_user_limit, "ulimit -u"), pytest.param(low_pid_max, "pid_max", marks=pytest.mark.apart)],
)
def test_forecast_of_a_real_limit(lower, limit):
    line, value = lower([*PROGRAM, "doctor", "--prove", "--json"])
    done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    proof = json.loads(done.stdout)["proof"]
    assert (proof["wall"], proof["wall_value"], proof["forecast_wall"]) == (limit, value, limit)
    assert abs(proof["difference"]) < 0.05
    assert (proof["ended"], proof["reason"]) == (True, None)
    assert 0 < proof["standing"] < value


@pytest.mark.real
@linux
def test_a_signal_during_the_test_ends_the_worker():
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    doctor = subprocess.Popen([*PROGRAM, "doctor", "--prove"], cwd=ROOT, **silent)

    def find_growing_worker():
        assert doctor.poll() is None
        found = psutil.Process(doctor.pid).children()
        with contextlib.suppress(psutil.Error):  # workers of probes end at once
            return any(worker.num_threads() > 200 for worker in found) and found

    try:
        workers = until(find_growing_worker, "a worker with 200 threads")
        doctor.terminate()
        assert doctor.wait(PATIENCE) == -signal.SIGTERM
        assert_ended(workers)
    finally:
        doctor.kill()
        doctor.wait()


def test_no_command_is_wrapped_in_its_middle():
    command = "pip install --force-reinstall gevent==24.2.1 greenlet==3.0.3"
    reason = f"broken gevent: the library that was built for another Python; try {command}"
    found = examined(reasons=[None if row.name != "gevent" else reason for row in CATALOG])
    for width in (80, 60):
        lines = text_of(rows(found, width)).splitlines()
        assert any(command in line for line in lines)
        longer = [line for line in lines if len(line.rstrip()) > width]
        assert all(command in line or line.startswith("    ") for line in longer), longer


def test_doctor_and_the_screen_say_the_same_number_of_tasks_that_fit():
    bench = Bench("threads", "asyncio", "go", limits=(MAPS, PIDS))
    room = bench.lab.fleet.local.capacity.budget.room
    forecasts = engine_forecasts(room, (MAPS, PIDS), ALL_RUN)
    found = {row.engine: row for row in forecasts if row.workload == "sleep:10"}
    for lane in bench.lab.snapshot(bench.now).lanes:
        row = found[lane.name]
        assert lane.fit == Fit(row.tasks, row.limit, row.forecast)
        assert row.forecast == (row.limit == BUDGET)
    assert f"{FORECAST.mark} {FORECAST.explanation}" in text_of(rows(examined()))


def test_what_fits_is_a_forecast_until_a_task_has_been_measured():
    bench = Bench("asyncio", "threads", limits=(MAPS, PIDS))

    def marks():
        return [BY_NAME["fits"].marks(lane) for lane in bench.lab.snapshot(bench.now).lanes]

    assert marks() == ["≈", ""], "the limit on threads is known"
    bench.lab.set_target(bench.lab.lanes[0], 10_000)
    bench.until(lambda: marks() == ["", ""])
