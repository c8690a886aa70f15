"""The doctor: what it looks up, what it forecasts, what it advises, and whether that is so."""

import builtins
import contextlib
import io
import json
import os
import subprocess
import sys

import psutil
import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from concwatch.cli import main
from concwatch.doctor import advice, examination, machine
from concwatch.doctor.advice import advise
from concwatch.doctor.examination import Examination, Versions, examine, terminal_problems
from concwatch.doctor.forecasts import engine_forecasts
from concwatch.doctor.machine import look_at_machine
from concwatch.doctor.proof import MOST_THREADS, most_asked, prove
from concwatch.doctor.report import proof_rows, rows, verdict
from concwatch.lab.catalog import CATALOG, find
from concwatch.lab.forecast import UNBOUND, Fit
from concwatch.lab.lab import Lab
from concwatch.lab.settings import Settings
from concwatch.links.link import Ended
from concwatch.system.child import ROOT
from concwatch.system.memory import BUDGET
from concwatch.system.thread_limits import first_limit, thread_limits
from concwatch.system.walls import Wall
from tests.browser import until
from tests.command_line import PROGRAM, invoke
from tests.fake import Costs, FakeWorkers, Fault
from tests.low_walls import low_pid_max, low_user_limit

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells all its limits")
PATIENCE = 60.0
GIB = 1 << 30

MAPS = Wall("vm.max_map_count", 65_530, 130)
PIDS = Wall("pid_max", 32_768, 400)
ALL_RUN = [None] * len(CATALOG)
COMMIT = Wall("memory commit limit", 900, 100, 8)
GROUP = Wall("cgroup pids.max", 500, 20, where="/sys/fs/cgroup/app")


def written(rows):
    return ["".join(text for text, _ in row) for row in rows]


def on_a_machine(**changes):
    """A machine with 16 GiB available that is like this one but for ``changes``."""
    found = {"memory_available": 16 * GIB, "budget": 8 * GIB, "memory_bound": "memory", **changes}
    return replace(look_at_machine(), **found)


# What it tells.


@pytest.mark.real
def test_a_person_gets_every_group_and_no_line_is_longer_than_a_terminal():
    result = invoke("doctor")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    groups = ("Machine", "Limits on threads", "Engines & forecast", "Terminal", "Versions", "For more")
    heads = [line for line in lines if line and not line.startswith(" ")]
    assert [next(name for name in groups if line.startswith(name)) for line in heads] == list(groups)
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in result.stdout
    for engine in CATALOG:
        assert any(line.startswith(f"  {engine.name} ") for line in lines)


@pytest.mark.real
def test_the_object_has_the_same_keys_everywhere():
    result = invoke("doctor", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert list(found) == ["machine", "limits", "engines", "terminal", "versions", "for_more", "proof"]
    assert found["proof"] is None
    assert [row["engine"] for row in found["engines"]][: len(CATALOG)] == [row.name for row in CATALOG]
    assert {"name", "value", "used", "free", "threads", "where", "note"} == set(found["limits"][0])
    assert found["machine"]["budget"] == int(found["machine"]["memory_available"] * 0.8)
    assert set(found["versions"]) == {"concwatch", "python", "missing"}


@pytest.mark.real
@linux
def test_on_linux_every_limit_is_known_or_does_not_bind():
    found = {limit.name: limit for limit in examine().limits}
    for name in ("vm.max_map_count", "pid_max", "threads-max"):
        limit = found[name]
        assert limit.value is not None
        assert 0 < limit.used < limit.value
        assert limit.free == limit.value - limit.used
    for name in ("cgroup pids.max", "ulimit -u"):
        assert found[name].value is not None or found[name].note not in ("", "unknown")


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_another_system_tells_less_and_never_breaks(system, monkeypatch):
    real = builtins.open

    def opened(path, *arguments, **options):
        if str(path).startswith(("/proc", "/sys")):
            raise FileNotFoundError(path)
        return real(path, *arguments, **options)

    def no_swap():
        raise RuntimeError("no swap information")

    memory = psutil.virtual_memory()
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(psutil, "swap_memory", no_swap)
    monkeypatch.setattr(examination, "why_not", lambda engines: ALL_RUN)  # no process is to be started so
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(builtins, "open", opened)
    if system == "win32":
        monkeypatch.setitem(sys.modules, "resource", None)
        for name in ("getuid", "geteuid", "sched_getaffinity", "readlink"):
            monkeypatch.delattr(os, name, raising=False)
    found = examine()
    text = "\n".join(written(rows(found)))
    assert {limit.note for limit in found.limits} == {"unknown"}
    assert found.machine.overcommit is found.machine.swap_total is found.machine.stack is None
    assert "limits on threads unknown" in text
    assert "swap             unknown" in text
    assert json.dumps(to_builtins(found))
    assert not {row.wall for row in found.for_more} - {BUDGET, "ulimit -n"}


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "150000 100000"}, 1.5),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu.max": "garbage"}, None),
        ({"cpu.max": "5 0"}, None),
        ({"cpu.cfs_quota_us": "50000", "cpu.cfs_period_us": "100000"}, 0.5),
        ({"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_a_quota_of_a_control_group_counts_in_cores(files, quota, monkeypatch, tmp_path):
    for name, text in files.items():
        (tmp_path / name).write_text(f"{text}\n")
    monkeypatch.setattr(machine, "cgroup_folders", lambda _: [str(tmp_path), str(tmp_path / "nowhere")])
    assert look_at_machine().quota == quota


def test_of_the_terminal_what_is_in_the_way_of_the_screen_is_said(monkeypatch):
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
    for said in ("input is not", "output is not", "40 × 24", "COLORTERM=truecolor", "LC_ALL=C.UTF-8"):
        assert said in text
    monkeypatch.setenv("NO_COLOR", "")
    assert any("NO_COLOR" in line for line in terminal_problems())


# What it forecasts and advises.


def test_of_limits_with_the_same_name_the_one_that_binds_is_told():
    outer = Wall("cgroup pids.max", 100, 90, where="/outer")
    found = thread_limits([MAPS, GROUP, outer])
    (group,) = [limit for limit in found if limit.name == "cgroup pids.max"]
    assert (group.threads, group.where) == (10, "/outer")
    assert first_limit(found) is group


def examined(walls=(MAPS, PIDS), reasons=ALL_RUN, **changes):
    """What the doctor says of a machine with these limits on threads."""
    here = on_a_machine(**changes)
    engines = engine_forecasts(here.budget, walls, reasons)
    versions = Versions("1", "CPython 3", {})
    return Examination(here, thread_limits(walls), engines, [], versions, advise(here, walls, engines))


def test_no_row_is_longer_than_a_terminal_whatever_binds():
    memory = [Wall(name, 4 * GIB, GIB, 1 << 30) for name in advice.COMMANDS if "memory" in name]
    assert max(map(len, written(rows(examined([MAPS, PIDS, GROUP, *memory]))))) <= 80


def test_threads_are_bound_by_walls_and_the_others_by_memory():
    found = {(row.engine, row.workload): row for row in examined().engines}
    threads = found["threads", "sleep:10"]
    assert (threads.tasks, threads.wall) == ((65_530 - 130) // 3, "vm.max_map_count")
    assert found["asyncio", "sleep:10"].wall == BUDGET
    assert found["sequential", "sleep:10"].wall == UNBOUND
    assert found["asyncio", "http"].tasks < found["asyncio", "sleep:10"].tasks


def test_an_engine_that_cannot_run_says_why_and_is_given_no_advice():
    reasons = [None if row.name != "gevent" else "broken gevent: no such symbol" for row in CATALOG]
    found = examined(reasons=reasons)
    (line,) = [line for line in written(rows(found)) if line.startswith("  gevent ")]
    assert "cannot: broken gevent: no such symbol" in line
    assert not any("gevent" in row.engines for row in found.for_more)


@linux
@pytest.mark.parametrize(
    ("walls", "commands", "tasks", "then"),
    [
        ([MAPS, PIDS], ("sudo sysctl -w vm.max_map_count=131072",), 32_368, "pid_max"),
        ([PIDS], ("sudo sysctl -w kernel.pid_max=524288",), None, BUDGET),
        ([GROUP, MAPS], ("echo 32768 | sudo tee /sys/fs/cgroup/app/pids.max",), 21_800, "vm.max_map_count"),
        ([Wall("threads-max", 900, 100), PIDS], ("sudo sysctl -w kernel.threads-max=32768",), None, None),
        ([COMMIT], ("sudo sysctl -w vm.overcommit_memory=0",), None, BUDGET),
    ],
)
def test_only_the_wall_that_comes_first_is_to_be_raised(walls, commands, tasks, then, monkeypatch):
    monkeypatch.setattr(advice, "CONTAINER_MARKS", ())
    (row,) = [row for row in examined(walls).for_more if "threads" in row.engines]
    assert (row.wall, row.commands) == (walls[0].name, commands)
    assert tasks in (None, row.tasks)
    assert then in (None, row.then)


@linux
def test_a_wall_that_is_as_high_as_it_can_be_is_not_to_be_raised():
    found = examined([Wall("pid_max", 1 << 22, (1 << 22) - 500)])
    assert next(row.wall for row in found.engines if row.engine == "threads") == "pid_max"
    assert not any("threads" in row.engines for row in found.for_more)


@linux
def test_in_a_container_and_in_a_scope_the_commands_are_those_that_help_there(monkeypatch, tmp_path):
    scope = Wall("cgroup pids.max", 500, 20, where="/sys/fs/cgroup/user.slice/session.scope")
    monkeypatch.setattr(advice, "CONTAINER_MARKS", ())
    assert advice.wall_commands(scope, 1024) == ("systemd-run --user --scope -p TasksMax=1024 concwatch",)
    monkeypatch.setattr(advice, "CONTAINER_MARKS", (str(tmp_path),))
    assert advice.wall_commands(scope, 1024)[0] == "docker run --pids-limit 1024 ..."


def test_where_memory_comes_first_a_higher_share_is_what_helps():
    found = examined([])
    (row,) = [row for row in found.for_more if row.wall == BUDGET]
    assert row.commands[0] == "concwatch --max-memory 90%"
    assert row.tasks > next(each.tasks for each in found.engines if each.engine == row.engines[0])


# Whether that is so.


def fake_lab(*faults, **costs):
    workers = FakeWorkers({"threads": Costs(create_rate=50_000.0, **costs)}, {"threads": list(faults)})
    return Lab(find(["threads"]), settings=Settings("hold"), open_link=workers)


@pytest.mark.parametrize(("forecast", "asked"), [(1_000, 1_100), (10_000_000, MOST_THREADS), (0, 0)])
def test_no_more_is_asked_for_than_a_little_more_than_the_forecast(forecast, asked):
    assert most_asked(Fit(forecast, "pid_max")) == asked


async def test_a_forecast_holds_when_the_wall_is_where_it_said():
    said = []
    proof = await prove(fake_lab(most=960, wall="pid_max"), Fit(1_000, "pid_max"), said.append)
    assert (proof.asked, proof.standing, proof.wall, proof.reason) == (1_100, 960, "pid_max", None)
    assert (proof.holds, proof.ended, proof.difference) == (True, True, pytest.approx(-0.04))
    assert verdict(proof) == "4.0 % fewer than forecast: the forecast holds"
    text = "\n".join(written(proof_rows(proof)))
    assert "960 of 1,100 asked for" in text
    assert "as forecast" in text
    assert said[-1] == "ending them"


async def test_a_forecast_does_not_hold_when_a_tenth_is_missing_or_the_worker_dies():
    proof = await prove(fake_lab(most=890, wall="threads-max"), Fit(1_000, "pid_max"), str)
    assert not proof.holds
    assert "another than forecast" in "\n".join(written(proof_rows(proof)))
    proof = await prove(fake_lab(Fault(0.01, Ended("killed by SIGKILL"))), Fit(10_000, "pid_max"), str)
    assert not proof.holds
    assert "killed by SIGKILL" in proof.reason


@pytest.mark.real
def test_a_forecast_that_does_not_hold_is_exit_status_1_and_a_line(monkeypatch):
    monkeypatch.setitem(main.context_settings, "obj", lambda *_, **__: fake_lab(most=50))
    result = invoke("doctor", "--prove", "--json")
    assert result.exit_code == 1
    proof = json.loads(result.stdout)["proof"]
    assert proof["standing"] == 50
    assert result.stderr.splitlines()[-1].startswith("concwatch: ")
    assert "the forecast does not hold" in result.stderr


@pytest.mark.real
@linux
@pytest.mark.parametrize(("lower", "wall"), [(low_user_limit, "ulimit -u"), (low_pid_max, "pid_max")])
def test_a_real_wall_is_where_the_forecast_says(lower, wall):
    line, value = lower([*PROGRAM, "doctor", "--prove", "--json"])
    done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    proof = found["proof"]
    assert (proof["wall"], proof["wall_value"], proof["forecast_wall"]) == (wall, value, wall)
    assert abs(proof["difference"]) < 0.05
    assert proof["ended"]
    assert proof["reason"] is None
    assert 0 < proof["standing"] < value


@pytest.mark.real
@linux
def test_a_signal_on_the_way_ends_the_worker_too():
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    doctor = subprocess.Popen([*PROGRAM, "doctor", "--prove"], cwd=ROOT, **silent)

    def growing():
        assert doctor.poll() is None
        found = psutil.Process(doctor.pid).children()
        with contextlib.suppress(psutil.Error):  # one that was only to be tried has ended meanwhile
            return any(worker.num_threads() > 200 for worker in found) and found

    try:
        workers = until(growing, "the worker grows")
        doctor.terminate()
        assert doctor.wait(PATIENCE) == 143
        _, alive = psutil.wait_procs(workers, PATIENCE)
        assert not alive
    finally:
        doctor.kill()
        doctor.wait()
