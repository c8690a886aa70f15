"""Lanes on remote hosts: naming hosts, links, budgets, rows of several lanes, and real connections."""

import ast
import asyncio
import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from concwatch.commands.basics.lab import open_process
from concwatch.hosts import package
from concwatch.hosts.host import Host, find_host, read_hosts, with_unique_names
from concwatch.hosts.link import BridgeProgram, is_static
from concwatch.hosts.survey import survey
from concwatch.links.link import Ended, Flood, Noise
from concwatch.links.messages import Building, Built, HostFigures, LimitFigures, Ready
from concwatch.links.process import WorkerProcess
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.metrics import EngineFacts, LaneSnapshot, LaneStatus, blank_sample
from concwatch.monitor.metrics.state import State
from concwatch.portable.build.runtime import Runtime
from concwatch.portable.build.tool import Tool
from concwatch.portable.machine.machine_reader import busy_seconds
from concwatch.portable.machine.process_reader import LINUX, process_figures
from concwatch.runtimes.building import build
from concwatch.runtimes.recipe import recipe
from concwatch.system import process
from concwatch.system.process import Sampler
from concwatch.ui.sources.lane_row import LaneRow, combined_sample, split
from concwatch.ui.sources.source import LabSource
from tests.command_line import invoke, refused
from tests.fake_hosts import figures
from tests.fake_link import FakeLink
from tests.host_driver import (
    PIPED,
    SSHD,
    THROUGH_A_SHELL,
    Relay,
    Remote,
    Sshd,
    all_ended,
    connect,
    eventually,
    kill_run,
    killed_by_memory,
    make_key,
    memory_group,
    remove_group,
)
from tests.lab_driver import ENGINES, Bench, HandLink
from tests.other_pythons import PYTHONS
from tests.worker_driver import running_lab, until

MIB = 1 << 20
WEB1 = Host("web1", ("env",))
WEB2 = Host("web2", ("nice",))


# Naming hosts.


@pytest.mark.parametrize(
    ("text", "name", "command"),
    [
        ("ssh -T web1", "web1", ("ssh", "-T", "web1")),
        ("ssh -T me@web1.example.org", "web1.example.org", ("ssh", "-T", "me@web1.example.org")),
        ("env nice -n 5", "5", ("env", "nice", "-n", "5")),
        ("env a 'b c' --", "b c", ("env", "a", "b c", "--")),
        ("env", "env", ("env",)),
    ],
)
def test_a_host_given_as_a_command_is_named_by_its_last_word(monkeypatch, text, name, command):
    monkeypatch.setattr(shutil, "which", lambda program: f"/bin/{program}")
    assert find_host(text, {}) == Host(name, command)


def test_names_in_the_settings_come_before_commands_and_local_is_this_machine():
    known = read_hosts({"env": {"command": "ssh -T far", "python": "python3.12"}})
    assert find_host(" env ", known) == Host("env", ("ssh", "-T", "far"), "python3.12")
    assert find_host("local", known) is None


def test_hosts_with_the_same_name_are_numbered_and_duplicates_rejected():
    namesake = Host("web1", ("env", "web1"))
    assert [host.name for host in with_unique_names([WEB1, namesake, WEB2])] == ["web1", "web1#2", "web2"]
    for hosts in ([WEB1, WEB2, WEB1], [None, None], [WEB1, namesake, namesake]):
        with pytest.raises(ValueError, match="is named twice"):
            with_unique_names(hosts)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"web1": {"python": "python3"}}, "hosts.web1 must be a table with a command"),
        ({"web1": "ssh"}, "hosts.web1 must be a table with a command"),
        (
            {"web1": {"command": "ssh", "user": "me"}},
            'hosts.web1: unknown key "user"; expected command or python',
        ),
        ({"web1": {"command": "ssh", "python": 3}}, "hosts.web1: python must be text"),
        ({"web1": {"command": "'"}}, "is not a command: No closing quotation"),
        ({"web1": {"command": " "}}, "hosts.web1: command must be text"),
    ],
)
def test_invalid_hosts_in_the_settings_are_a_one_line_error(tables, message):
    with pytest.raises(ValueError, match=message) as error:
        read_hosts(tables)
    assert "\n" not in str(error.value)


def test_commands_reject_invalid_hosts_with_one_line(tmp_path):
    assert refused("run", "asyncio", "--tasks", 1, "--host", "nowhere").startswith('unknown host "nowhere"')
    message = refused("run", "asyncio", "--tasks", 1, "--host", "env", "--host", "env")
    assert message == "--host: env is named twice (see concwatch run --help)"
    assert '"local" is this machine; name another host' in refused("hosts", "local")
    assert "no host is named" in refused(
        "hosts", env={"CONCWATCH_SETTINGS": str(write_settings(tmp_path, ""))}
    )
    wrong = write_settings(tmp_path, '[hosts.web1]\ncommand = "ssh"\nuser = "me"\n')
    assert 'hosts.web1: unknown key "user"' in refused("hosts", env={"CONCWATCH_SETTINGS": str(wrong)})
    assert "--prove tests this machine" in refused("doctor", "--prove", "--host", "env")


def write_settings(folder, text):
    file = folder / "settings.toml"
    file.write_text(text)
    return file


# The archive.


def test_the_archive_is_small_and_reproducible():
    assert package.archive() == package.archive.__wrapped__()
    assert len(package.payload()) < 150_000


def test_the_code_in_the_archive_has_its_line_numbers_but_not_its_docstrings():
    with zipfile.ZipFile(io.BytesIO(package.archive())) as archive:
        for name in archive.namelist():
            source = (package.PACKAGE.parent / name).read_text()
            code = archive.read(name).decode()
            expected, found = (
                ast.dump(_undocumented(text), include_attributes=True) for text in (source, code)
            )
            assert found == expected
            assert code.count("\n") == source.count("\n")


def _undocumented(source):
    """Return the tree of a module without the texts of docstrings, and without the ends of nodes."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                node.value = ast.Constant("")
        if hasattr(node, "end_lineno"):
            node.end_lineno = node.end_col_offset = 0
    return tree


def test_a_program_that_needs_an_interpreter_is_not_static():
    for content in (Path(shutil.which("sh")).read_bytes(), b"#!/bin/sh\n", b""):
        assert not is_static(content)


# Lanes of a lab with fake workers.


class HostWorker(FakeLink):
    """A fake worker whose bridge first reports its machine."""

    def __init__(self, engine, report):
        super().__init__(engine)
        self._report = report

    def arrivals(self, now):
        first, self._report = self._report, None
        return [*([first] if first else []), *super().arrivals(now)]

    def disconnect(self):
        self.end(Ended("nothing received for 4.5 s", lost=True))


def bench(*hosts, reports=None, **options):
    """Return a bench with an asyncio lane on each host; ``reports`` has figures by name."""

    def open_link(engine):
        host = engine.host.name if engine.host else ""
        link = HostWorker(engine, None if not host else (reports or {}).get(host, figures()))
        if made.unreachable:
            link = HandLink()
            link.report(Ended("remote cannot be reached", ran=False))
        made.opened.append(link)
        return link

    made = Bench(links=open_link, engines=[ENGINES["asyncio"].on(host) for host in hosts], **options)
    made.opened, made.unreachable = [], False
    return made


def test_each_host_has_its_own_budget_and_limit():
    limits = (LimitFigures("pid_max", 1_000, 100),)
    small = bench(None, WEB1, WEB2, reports={"web1": figures(available=100 * MIB, limits=limits)})
    for lane in small.lab.lanes:
        small.lab.set_target(lane, 500_000)
    small.until(lambda: small.lab.lanes[1].target.limit)
    local, web1, web2 = small.lab.lanes
    small.until(lambda: local.live == web2.live == 500_000)
    assert web1.target.limit.name == "memory budget"
    assert web1.worker.stats.rss <= 80 * MIB
    assert [host.name for host in small.lab.snapshot().hosts] == ["web1", "web2"]
    assert [limit.name for limit in small.lab.host_of(web1).capacity.limits] == ["pid_max"]
    assert small.lab.host_of(web1).capacity.fit(web1).tasks < 80_000


def test_hosts_that_are_the_same_machine_share_one_budget():
    same = structs.replace(figures(), boot_id="e2d5")
    other = structs.replace(figures(), boot_id="77aa")
    two = bench(WEB1, WEB2, Host("web3", ("x",)), reports={"web1": same, "web2": same, "web3": other})
    for lane in two.lab.lanes:
        two.lab.set_target(lane, 10_000)
    two.until(lambda: all(lane.live == 10_000 for lane in two.lab.lanes))
    two.until(lambda: two.lab.hosts[2].shares)
    _, first, second, third = two.lab.hosts
    assert (first.shares, second.shares, third.shares) == (False, True, False)
    assert two.lab.fleet.budget == first.capacity.budget.size + third.capacity.budget.size
    assert two.lab.fleet.memory == sum(lane.memory for lane in two.lab.lanes)
    assert first.admission is second.admission is not third.admission
    web1, web2, web3 = (lane.status.fits for lane in two.lab.snapshot().lanes)
    (row,) = LabSource(two.lab).snapshot().lanes
    assert row.status.fits == web1 + web3 < web1 + web2 + web3


def test_the_cores_that_a_folded_row_uses_are_not_used_by_others():
    same = structs.replace(figures(), boot_id="e2d5")
    two = bench(WEB1, WEB2, reports={"web1": same, "web2": same})
    for lane in two.lab.lanes:
        two.lab.set_target(lane, 10_000)
    two.until(lambda: all(lane.live == 10_000 for lane in two.lab.lanes))
    two.until(lambda: two.lab.snapshot().lanes[0].machine_cores)
    source, taken = LabSource(two.lab), two.lab.snapshot()
    busy = [
        structs.replace(lane, sample=structs.replace(lane.sample, cpu=1.5, others=0.5))
        for lane in taken.lanes
    ]
    (row,) = source.by_row(structs.replace(taken, lanes=tuple(busy))).lanes
    assert row.sample.others == 0.5 - 1.5 / 4


def test_no_tasks_are_granted_before_the_host_has_reported():
    silent = bench(WEB1)
    lane = silent.lab.lanes[0]
    assert silent.lab.host_of(lane).capacity.budget.size == 0
    silent.lab.set_target(lane, 1_000)
    assert lane.target.granted == 0
    silent.until(lambda: lane.live == 1_000)


def test_a_lost_lane_has_a_reason_and_keeps_its_target_when_switched_on_again():
    lost = bench(WEB1)
    (lane,) = lost.lab.lanes
    lost.lab.set_target(lane, 1_000)
    lost.until(lambda: lane.live == 1_000)
    lost.opened[0].disconnect()
    lost.pass_(2)
    assert (lane.state, lane.worker.life.reason) == (State.LOST, "nothing received for 4.5 s")
    assert "lost: nothing received for 4.5 s" in lost.texts("error")
    lost.pass_(60)
    assert lane.state is State.LOST
    lost.lab.switch(lane, True)
    lost.until(lambda: lane.live == 1_000)


def test_a_lost_lane_reconnects_with_increasing_delays():
    lost = bench(WEB1, reconnect=True)
    (lane,) = lost.lab.lanes
    lost.lab.set_target(lane, 1_000)
    lost.until(lambda: lane.live == 1_000)
    lost.opened[0].disconnect()
    lost.unreachable = True
    delays = []
    for _ in range(4):
        count, began = len(lost.opened), lost.now
        lost.until(lambda count=count: len(lost.opened) > count)
        delays.append(lost.now - began)
    assert delays == pytest.approx([1, 2, 4, 8], abs=0.5)
    assert lane.state is State.STARTING
    lost.unreachable = False
    lost.until(lambda: lane.live == 1_000)
    lost.lab.switch(lane, False)
    lost.pass_(60)
    assert lane.state is State.OFF


# Rows of several lanes.


def fitting(tasks):
    """Return a lane in which so many tasks fit; None for one whose host has not answered."""
    status = LaneStatus() if tasks is None else LaneStatus(fits=tasks, fits_limit="memory budget")
    return LaneSnapshot(EngineFacts("asyncio"), status, blank_sample(0, 0.0))


@given(st.integers(0, 1_000_000), st.lists(st.integers(0, 10_000_000), min_size=1, max_size=8), st.booleans())
def test_the_shares_of_a_split_target_add_up_and_follow_the_weights(tasks, fits, even):
    shares = split(tasks, [fitting(each) for each in fits], even)
    assert sum(shares) == tasks
    assert all(share >= 0 for share in shares)
    whole = sum(fits)
    if even or not whole:
        assert max(shares) - min(shares) <= 1
    else:
        found = zip(shares, fits, strict=True)
        assert all(abs(share - tasks * size / whole) <= len(fits) for share, size in found)


def test_a_host_that_has_not_answered_gets_the_mean_share():
    assert split(1_000, [fitting(100), fitting(None), fitting(300)]) == [167, 333, 500]
    assert split(3, 3 * [fitting(None)]) == [1, 1, 1]


def test_a_lost_host_gets_no_tasks_while_others_can_run_them():
    made = bench(WEB1, WEB2)
    lanes = made.lab.lanes
    for lane in lanes:
        made.lab.set_target(lane, 500)
    made.until(lambda: sum(lane.live for lane in lanes) == 1_000)
    made.opened[0].disconnect()
    made.pass_(1)
    now = made.lab.snapshot(made.now).lanes
    assert split(1_000, now) == [0, 1_000]
    snapshot = LaneRow([0, 1], lanes[0].facts).snapshot(now, 0)
    assert (snapshot.status.state, snapshot.status.limit) == (State.RUNNING, "without web1")


def test_a_combined_sample_has_sums_maxima_and_means_per_task():
    first = blank_sample(
        0, 1.0, rss=10, live=100, lag=0.5, rss_per_task=1e3, measured_live=100, duration=2.0, tick_time=7.0
    )
    second = blank_sample(
        1, 2.0, rss=20, live=300, lag=0.1, rss_per_task=2e3, measured_live=300, duration=3.0
    )
    both = combined_sample([first, second], 5)
    assert (both.lane, both.time, both.rss, both.live, both.lag) == (5, 2.0, 30, 400, 0.5)
    assert both.rss_per_task == 1_750
    assert (both.duration, both.tick_time, both.traced) == (3, None, None)


def test_a_combined_row_records_sums_and_the_range_of_retained_memory():
    made = bench(WEB1, WEB2)
    source, lanes = LabSource(made.lab), made.lab.lanes
    for lane in lanes:
        made.lab.set_target(lane, 500)
    made.until(lambda: all(lane.live == 500 for lane in lanes))
    made.pass_(1)
    (row,), (series,) = source.snapshot().lanes, source.snapshot().series
    assert series.last("live") == 1_000
    assert series.last("rss") == sum(lane.worker.stats.rss for lane in lanes)
    assert (row.name, row.names) == ("asyncio × 2", ("asyncio · web1", "asyncio · web2"))
    for lane in lanes:
        made.lab.set_target(lane, 0)
    made.until(lambda: not any(lane.live for lane in lanes))
    made.pass_(1)
    retained = [lane.sample.rss for lane in lanes]
    assert series.last("retained") == sum(retained)
    source.show_range = True
    (series,) = source.snapshot().series
    spread = [each.last("retained") for each in (series, series.band.least, series.band.most)]
    assert spread == [sum(retained) / 2, min(retained), max(retained)]


def test_process_figures_match_psutil():
    other = psutil.Process()
    found, memory, times = process_figures(os.getpid()), other.memory_info(), other.cpu_times()
    assert found["rss"] == pytest.approx(memory.rss, abs=8 * MIB)
    assert found["virtual"] == pytest.approx(memory.vms, abs=80 * MIB)
    assert found["threads"] == other.num_threads()
    assert found["cpu_seconds"] == pytest.approx(times.user + times.system, abs=0.5)
    assert found["peak_rss"] >= found["rss"]
    assert busy_seconds() > 0
    assert process_figures(1 << 30) is None


@pytest.mark.skipif(not LINUX, reason="read at once with the memory on other systems")
def test_cpu_time_of_many_threads_is_read_at_intervals_and_never_falls(monkeypatch):
    now, threads, used, reads = 0.0, 10_000, 5.0, 0

    def cpu_seconds(stat):
        nonlocal reads
        reads += 1
        return used

    figures = {"rss": 1, "virtual": 1, "peak_rss": 1}
    monkeypatch.setattr(process.time, "monotonic", lambda: now)
    monkeypatch.setattr(process, "memory_figures", lambda status: {**figures, "threads": threads})
    monkeypatch.setattr(process, "cpu_seconds", cpu_seconds)
    sampler = Sampler()
    now, used = 1.0, 5.5
    assert sampler.read().cpu_seconds == 5.5
    now = 1.5
    assert (sampler.read().cpu_seconds, reads) == (5.75, 2)  # half a core, as before
    now, used = 2.0, 5.6
    assert (sampler.read().cpu_seconds, reads) == (5.75, 3)  # extrapolated too far: it waits
    now, used, threads = 2.1, 6.0, 9_000
    assert (sampler.read().cpu_seconds, reads) == (6.0, 4)  # other threads: at once
    now, threads, reads = 3.0, 100, 0
    sampler.read()
    now = 3.1
    sampler.read()
    assert reads == 2


# Real connections.


@pytest.mark.real
@pytest.mark.parametrize(
    ("prefix", "python"),
    [(("env",), -1), (THROUGH_A_SHELL, 0), (("busybox", "sh", "-c", 'busybox sh -c "$*"', "x"), -1)],
    ids=["env", "sh", "busybox"],
)
async def test_a_worker_runs_through_a_prefix_on_the_oldest_and_newest_python(prefix, python):
    if shutil.which(prefix[0]) is None:
        pytest.skip(f"no {prefix[0]}")
    version, path = [*PYTHONS.items()][python] if PYTHONS else ("", sys.executable)
    remote = connect(*prefix, python=path)
    pid = await remote.ready()
    bridge = remote.bridge.pid
    host = remote.all(HostFigures)[0]
    assert host.python.startswith(version)
    assert host.cores == len(os.sched_getaffinity(0))
    await remote.until(lambda: remote.link.reading() is not None)
    idle = remote.link.reading().rss
    await remote.start_tasks(20_000)
    await remote.until(lambda: remote.link.reading().rss > idle + 20_000 * 1_000)
    assert remote.link.reading().rss < idle + 20_000 * 3_000
    await remote.until(lambda: remote.link.delay is not None)
    assert await remote.stop() == Ended("exited with status 0", status=0)
    await all_ended(pid, bridge)


OLD = [
    (version, path)
    for version in ("3.6", "3.7", "3.8")
    for path in Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python3")
]


@pytest.mark.real
async def test_a_kind_of_host_is_what_opens_it():
    opened = []

    def open_here(host, code, preamble):
        opened.append(host.name)
        pipe = WorkerProcess([sys.executable, "-c", code], preamble=preamble)
        pipe.echoed = 0.0
        return pipe

    host = Host("own", (), opener=open_here)
    async with running_lab([ENGINES["asyncio"].on(host)]) as lab:
        (lane,) = lab.lanes
        lab.set_target(lane, 20)
        await until(lambda: lane.live == 20, "20 tasks are live on it")
        await until(lambda: [each.name for each in lab.snapshot().hosts] == ["own"], "its figures")
    assert opened == ["own"]


class LateEnd(WorkerProcess):
    """A connection whose end comes late, as on a slow machine."""

    echoed = 0.0

    def connection_lost(self, exc):
        asyncio.get_running_loop().call_later(1.5, super().connection_lost, exc)


@pytest.mark.real
async def test_a_survey_returns_once_its_connection_has_ended():
    opened = []

    def open_here(host, code, preamble):
        opened.append(LateEnd([sys.executable, "-c", code], preamble=preamble))
        return opened[-1]

    found = await survey(Host("own", (), opener=open_here))
    assert found.problem == ""
    (connection,) = opened
    assert connection._transport.is_closing()


@pytest.mark.real
async def test_a_missing_python_command_or_package_is_a_one_line_error(tmp_path):
    for version, python in OLD:
        message = await connect("env", python=str(python)).failure()
        assert message.endswith(f"is cpython {version}: Python 3.9 or newer is needed")
    message = await connect("env", python="no-such-python").failure()
    assert message.startswith("remote cannot be reached: exited with status 127: ")
    assert message.endswith(
        "(expected no-such-python: Python 3.9 or newer, or another named in the settings)"
    )
    message = await connect("false").failure()
    assert message == "remote cannot be reached: exited with status 1"
    message = await connect("no-such-program").failure()
    assert message.startswith("remote cannot be reached: could not be started: ")
    for python in PYTHONS.values():
        if subprocess.run([python, "-c", "import uvloop"], capture_output=True, check=False).returncode:  # noqa: ASYNC221
            message = await connect("env", engine="uvloop", python=python).failure()
            assert message.startswith("ModuleNotFoundError: No module named 'uvloop'")
            break


@pytest.mark.real
async def test_output_of_the_login_shell_is_skipped():
    remote = connect("sh", "-c", """echo Welcome; echo to web1; printf '{"type":'; "$@" """, "sh")
    await remote.ready()
    assert remote.all(Noise)
    await remote.stop()


@pytest.mark.real
async def test_a_host_without_an_answer_or_with_endless_garbage_is_an_error(monkeypatch):
    with monkeypatch.context() as shorter:
        shorter.setattr("concwatch.hosts.link.CONNECT_TIMEOUT", 0.1)
        message = await connect("sh", "-c", "exec sleep 60").failure()
    assert message == "remote cannot be reached: did not answer within 0 s"
    remote = connect("sh", "-c", "exec yes")
    message = await remote.failure()
    assert message.startswith(
        "remote cannot be reached: printed something other than wire messages: not a line of the wire: "
    )
    assert len([one for one in remote.received if not isinstance(one, Flood)]) < 200


@pytest.mark.real
@pytest.mark.parametrize("victim", ["bridge", "worker"])
async def test_killing_bridge_or_worker_ends_the_other(victim):
    remote = connect(*PIPED)
    pid = await remote.ready()
    bridge = remote.bridge.pid
    await remote.start_tasks(1_000)
    os.kill({"bridge": bridge, "worker": pid}[victim], signal.SIGKILL)
    ended = await remote.end()
    if victim == "worker":
        assert ended == Ended("killed by SIGKILL", status=-9)
    else:
        assert ended.lost
        assert ended.reason.startswith("the connection ")
    await all_ended(pid, bridge)


@pytest.mark.real
async def test_a_silent_connection_is_lost_and_its_remote_processes_end():
    remote = connect(*PIPED)
    pid = await remote.ready()
    bridge = remote.bridge
    await remote.start_tasks(1_000)
    cats = [child for child in bridge.parent().children() if child.name() == "cat"]
    assert len(cats) == 2
    for cat in cats:
        cat.suspend()
    try:
        ended = await remote.end()
        assert ended == Ended("nothing received for 4.5 s", lost=True)
        await all_ended(pid, bridge.pid)
    finally:
        for cat in cats:
            with contextlib.suppress(psutil.Error):
                cat.kill()


@pytest.mark.real
def test_killing_the_monitor_ends_remote_workers():
    assert kill_run("--host", "env -u X") == 2  # a bridge and a worker


@pytest.mark.real
def test_run_hosts_and_doctor_report_each_host(tmp_path):
    hosts = f'[hosts.web1]\ncommand = "env"\npython = "{sys.executable}"\n[hosts.gone]\ncommand = "false"\n'
    settings = {"CONCWATCH_SETTINGS": str(write_settings(tmp_path, hosts))}
    both = ("--host", "local", "--host", "web1")
    done = invoke("run", "asyncio", "--tasks", 1_000, "--seconds", 0, *both, "--json", env=settings)
    found = json.loads(done.stdout)
    assert [(lane["host"], lane["peak_live"]) for lane in found["lanes"]] == [(None, 1_000), ("web1", 1_000)]
    (total,) = found["totals"]
    assert {"engine": "asyncio", "tasks": 1_000, "hosts": 2, "peak_live": 2_000}.items() <= total.items()
    assert total["peak_rss"] == sum(lane["peak_rss"] for lane in found["lanes"])
    done = invoke("hosts", env=settings)
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert lines[1].startswith("web1 ")
    assert lines[2] == "gone  gone cannot be reached: exited with status 1"
    found = json.loads(invoke("doctor", "--host", "web1", "--json", env=settings).stdout)
    assert found[0]["machine"]["budget"] > 0
    assert {limit["name"] for limit in found[0]["limits"]} >= {"pid_max", "vm.max_map_count"}


@pytest.mark.real
async def test_a_static_program_is_sent_to_hosts_of_the_same_processor(tmp_path, monkeypatch):
    go = ENGINES["go"]
    if go.missing():
        pytest.skip(go.missing())
    command = (await build(go.ways, "go", lambda line: None)).command
    content = await asyncio.to_thread(Path(command[0]).read_bytes)
    assert is_static(content)
    remote = connect("env", program=BridgeProgram("go", {}, command[1:], content))
    await remote.ready()
    await remote.start_tasks(1_000)
    await remote.stop()
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    remote = connect("env", program=BridgeProgram("go", {}, command[1:], content))
    assert (await remote.failure()).startswith("the program is built for riscv64: this is ")


# Building on the host.

WORKER = """import sys
print('{"type":"ready","engine":"toy","runtime":"Toy","pid":1,"protocol":1}', flush=True)
sys.stdin.read()
"""


def toy(folder, *build, tool="python3", least=(3,)):
    """Return a program whose build copies its source."""
    (folder / "toy.py").write_text(WORKER)
    way = Runtime(
        "Toy",
        str(folder / "toy.py"),
        (Tool(tool, "ask for it", least=least),),
        (build or ("cp", "{source}", "{out}/built.py"),),
        ("{python3}", "{out}/built.py"),
    )
    ways, sources = recipe([way])
    return BridgeProgram("toy", {}, ways=ways, sources=sources)


def connect_with_cache(cache, program, python=sys.executable):
    return connect("env", f"XDG_CACHE_HOME={cache}", program=program, python=python)


@pytest.mark.real
async def test_a_worker_is_built_once_on_the_host(tmp_path):
    oldest = next(iter(PYTHONS.values()), sys.executable)
    for kinds in ([Building, Built], []):
        remote = connect_with_cache(tmp_path / "cache", toy(tmp_path), oldest)
        await remote.receive(Ready)
        assert [type(found) for found in remote.received if isinstance(found, Building | Built)] == kinds
        remote.link.send("stop")
        remote.link.kill()
        await remote.end()
    (built,) = (tmp_path / "cache" / "concwatch" / "runtimes").glob("[!.]*")
    assert built.name.startswith("toy.py-")


@pytest.mark.real
@pytest.mark.parametrize(
    ("cache", "changes", "build", "message"),
    [
        ("c", {"tool": "nosuch", "least": (2, 1)}, (), "needs nosuch 2.1 or newer: ask for it"),
        ("c", {"least": (99,)}, (), "needs python3 99 or newer, found 3."),
        ("c", {}, ("sh", "-c", "echo hello; echo an error: 7; exit 1"), "build failed: an error: 7"),
        ("toy.py", {}, (), "Not a directory); a writable folder is needed"),
    ],
)
async def test_a_failed_build_on_the_host_is_a_one_line_error(tmp_path, cache, changes, build, message):
    remote = connect_with_cache(tmp_path / cache, toy(tmp_path, *build, **changes))
    assert message in await remote.failure()
    assert not list(tmp_path.glob("c/concwatch/runtimes/[!.]*"))


@pytest.mark.real
@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_a_stopped_build_leaves_no_process_and_no_file(tmp_path, how):
    program = toy(tmp_path, "sh", "-c", "echo $$; exec sleep 600")
    remote = connect(*PIPED, "env", f"XDG_CACHE_HOME={tmp_path}", program=program)
    await remote.receive(Building)
    (part,) = await eventually(lambda: [*tmp_path.glob("concwatch/runtimes/.*/")])
    descendants = partial(psutil.Process().children, recursive=True)
    (build,) = await eventually(lambda: [each for each in descendants() if each.name() == "sleep"])
    if how == "stop":
        remote.link.send("stop")
    else:
        remote.link.kill()
    await remote.end()
    await all_ended(build.pid)
    await eventually(lambda: not part.exists())


@pytest.mark.real
async def test_an_engine_in_another_language_runs_on_a_host(tmp_path):
    engine = ENGINES["node"]
    if reason := engine.missing():
        pytest.skip(reason)
    host = Host("remote", ("env", f"XDG_CACHE_HOME={tmp_path}"), sys.executable)
    remote = Remote(open_process(engine.on(host)))
    await remote.ready()
    await remote.start_tasks(1_000)
    assert await remote.stop() == Ended("exited with status 0", status=0)


@pytest.mark.real
async def test_the_memory_budget_holds_in_a_control_group():
    folder = memory_group(128 * MIB)
    if folder is None:
        pytest.skip("no permission to create a memory control group")
    prefix = ("sh", "-c", f'echo $$ > {folder}/cgroup.procs && exec "$@"', "sh")
    lab = Lab([ENGINES["asyncio"].on(Host("small", prefix, sys.executable))], open_link=open_process)
    run = asyncio.create_task(lab.run())
    (lane,) = lab.lanes
    try:
        lab.set_target(lane, 1_000_000)
        await eventually(lambda: lane.target.limit)
        assert lane.target.limit.name == "memory budget"
        assert lane.live > 10_000
        assert lab.host_of(lane).capacity.budget.size < 128 * MIB
        (status,) = lab.snapshot().hosts
        assert status.memory_total == 128 * MIB
        assert killed_by_memory(folder) == 0
    finally:
        run.cancel()
        await lab.close()
        await all_ended(lane.worker.stats.ready.pid)
        await remove_group(folder)


# Real ssh.


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    if SSHD is None or shutil.which("ssh") is None:
        pytest.skip("sshd is not installed: apt install openssh-server")
    if os.geteuid() != 0:
        pytest.skip("sshd is started as root only")
    found = Sshd(tmp_path_factory.mktemp("sshd"))
    yield found
    found.close()


@pytest.mark.real
async def test_a_wrong_ssh_key_is_a_one_line_error_without_a_prompt(server, tmp_path):
    make_key(tmp_path / "wrong")
    prefix = [
        str(tmp_path / "wrong") if word.endswith("/user") else word
        for word in server.prefix("-o", "IdentitiesOnly=yes")
    ]
    message = await connect(*prefix).failure()
    assert message.startswith("remote cannot be reached: exited with status 255: ")
    assert "Permission denied" in message


@pytest.mark.real
async def test_a_lane_survives_a_slow_and_interrupted_ssh_until_ssh_is_killed(server):
    async with Relay(server.port, delay=0.05, loss=0.01) as relay:
        prefix = [str(relay.port) if word == str(server.port) else word for word in server.prefix()]
        lab = Lab([ENGINES["asyncio"].on(Host("far", tuple(prefix), sys.executable))], open_link=open_process)
        run = asyncio.create_task(lab.run())
        (lane,) = lab.lanes
        try:
            lab.set_target(lane, 10_000)
            await eventually(
                lambda: (
                    lane.target.reached
                    and lane.worker.connection.delay is not None
                    and lane.sample.rss_per_task
                )
            )
            assert lane.worker.connection.delay >= 0.1  # both directions
            pid, number = lane.worker.stats.ready.pid, lane.worker.stats.tick.number
            relay.open.clear()
            await asyncio.sleep(1)  # less than the limit of 4.5 s
            assert lane.state in (State.RUNNING, State.STALLED)
            relay.open.set()
            await eventually(
                lambda: lane.worker.stats.tick.number >= number + 15 and lane.state is State.RUNNING
            )
            assert lane.worker.stats.ready.pid == pid
            assert 1_000 < lane.sample.rss_per_task < 1_600
            assert lane.live == 10_000
            bridge = psutil.Process(pid).parent().pid
            (ssh,) = (each for each in psutil.Process().children() if each.name() == "ssh")
            ssh.kill()
            await eventually(lambda: lane.state is State.LOST)
            await all_ended(pid, bridge)
        finally:
            run.cancel()
            await lab.close()
