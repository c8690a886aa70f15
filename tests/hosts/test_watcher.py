"""Watching programs on remote hosts: the bridge installs the agent, and removes it at the end."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from concwatch.hosts import package
from concwatch.hosts.host import Host
from concwatch.monitor.watching.remote_host import RemoteHost
from concwatch.monitor.watching.watching import Watching
from concwatch.portable.agent.sending.places import ADDRESS
from concwatch.portable.bridge.watcher import Watcher
from concwatch.portable.machine.process_reader import proportional_memory
from concwatch.system.child import concwatch_command
from concwatch.ui.apps.watch_app import WatchApp
from tests.agent_driver import NEWEST, OLDEST
from tests.command_line import refused
from tests.host_driver import PATIENCE, SSHD, THROUGH_A_SHELL, Sshd, all_ended, eventually

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bridges need Linux"),
]

SERVICE = """
import asyncio, os, subprocess, sys
async def tick():
    while True:
        await asyncio.sleep(0.02)
async def work(): await asyncio.sleep(0.05)
async def main():
    print(os.getpid(), flush=True)
    if len(sys.argv) < 2:
        child = subprocess.Popen([sys.executable, __file__, "child"])
    await asyncio.gather(*[tick() for _ in range(20)], *[work() for _ in range(300)])
asyncio.run(main())
"""

LISTENS = f"""
import sys
sys.path.insert(0, {os.getcwd()!r})
from concwatch import agent
agent.start()
import asyncio
async def waits(): await asyncio.sleep(600)
async def main():
    tasks = [asyncio.ensure_future(waits()) for _ in range(7)]
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
asyncio.run(main())
"""


@pytest.fixture
def service(tmp_path):
    (tmp_path / "service.py").write_text(SERVICE)
    return str(tmp_path / "service.py")


@pytest.fixture(scope="module")
def sshd(tmp_path_factory):
    if SSHD is None or shutil.which("ssh") is None or os.geteuid() != 0:
        pytest.skip("no ssh server that this user may start: apt install openssh-server, as root")
    server = Sshd(tmp_path_factory.mktemp("sshd"))
    yield server
    server.close()


def start(*command):
    """Start a program with pipes for input and output."""
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


async def step_until(watching, condition):
    """Step until ``condition()`` is true."""
    await eventually(
        lambda: watching.step() or condition(),
        lambda: (
            [(lane.name, lane.current.how, lane.current.reason) for lane in watching.lanes],
            watching.host.problem,
        ),
    )


def agent_folder(pid):
    """Return the bridge's folder for the agent, from the environment of a watched process."""
    return Path(psutil.Process(pid).environ()[ADDRESS]).parent


def figures(lane):
    """Return the created and live tasks of each coroutine."""
    return {
        group.report.name: (group.report.created, group.report.live) for group in lane.reports.groups.values()
    }


@pytest.mark.parametrize(("way", "python"), [("shell", OLDEST), ("ssh", NEWEST)], ids=["shell", "ssh"])
async def test_remote_processes_are_counted_by_agents_and_nothing_remains(
    way, python, service, tmp_path, request, monkeypatch
):
    prefix = THROUGH_A_SHELL if way == "shell" else request.getfixturevalue("sshd").prefix()
    temporary = tmp_path / ("long" * 25)  # too long for the path of a socket in it
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    output = []
    host = RemoteHost(Host("remote", prefix, python), [python, service], output.append)
    watching = Watching(host, host.program)
    counts = {"work": (300, 0), "tick": (20, 20), "main": (1, 1)}
    await step_until(watching, lambda: [figures(lane) for lane in watching.lanes] == [counts] * 2)
    ticks = [
        group for lane in watching.lanes for group in lane.reports.groups.values() if group.report.live == 20
    ]

    async def places():
        before = {group.report.group: group.waits for group in ticks}
        watching.request_waits(1)
        await step_until(
            watching, lambda: all(group.waits is not before[group.report.group] for group in ticks)
        )
        return {(place.where, place.tasks) for group in ticks for place in group.waits.waits}

    for _ in range(20):  # one that is interrupted in its step does not wait
        if (found := await places()) == {(f"{service}:5", 20)}:
            break
    assert found == {(f"{service}:5", 20)}
    await step_until(watching, lambda: all(lane.current.reading for lane in watching.lanes))
    assert all(lane.current.how == "agent" and lane.current.reading.rss > 1 << 20 for lane in watching.lanes)
    known = proportional_memory(os.getpid()) is not None
    assert all((lane.history.sample.pss is not None) == known for lane in watching.lanes)
    lanes = [lane.snapshot(0.0) for lane in watching.lanes]
    assert all(abs(time.time() - lane.facts.started) < 600 for lane in lanes)
    pids = [lane.pid for lane in watching.lanes]
    folder = agent_folder(pids[0])
    assert folder.exists()
    await host.finish()
    assert (host.program.exit_status, watching.ended) == (143, "the program killed by SIGTERM")
    assert sorted(map(int, "".join(output).split())) == sorted(pids)
    await all_ended(*pids)
    assert not folder.exists()


def test_watch_on_a_host_reports_the_program_and_passes_on_its_output_and_exit_status(tmp_path):
    settings, report = tmp_path / "settings.toml", tmp_path / "report.json"
    settings.write_text(f'[hosts.remote]\ncommand = "env"\npython = "{sys.executable}"\n')
    code = "import asyncio, sys; print('output'); asyncio.run(asyncio.sleep(0)); sys.exit(3)"
    done = subprocess.run(
        concwatch_command(
            "watch", "--host", "remote", "--json", str(report), "--", sys.executable, "-c", code
        ),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, "CONCWATCH_SETTINGS": str(settings)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "output\n", "")
    (process,) = json.loads(report.read_text())["processes"]
    assert (process["how"], process["live_at_end"]) == ("agent", 0)
    assert {group["name"]: group["created"] for group in process["groups"]}["sleep"] == 1


class SlowStream:
    """Stands in for the stream of a bridge's reports, whose connection is slow."""

    def __init__(self):
        self.sent = []

    def send(self, type_, **fields):
        time.sleep(0.15 if type_ == "output" else 0.0)
        self.sent.append((type_, fields))

    def write(self, line):
        self.sent.append(("line", {}))

    def all(self, type_):
        return [fields for sent, fields in self.sent if sent == type_]


async def test_an_exit_is_reported_after_all_output_of_the_program(tmp_path):
    archive, out = tmp_path / "concwatch.zip", SlowStream()
    archive.write_bytes(package.archive())
    watcher = Watcher(str(archive), out)
    try:
        watcher.start({"command": [sys.executable, "-c", "print('x' * 40_000)"]})
        await eventually(lambda: out.all("exited"), lambda: out.sent)
        assert len("".join(fields["text"] for fields in out.all("output"))) == 40_001
    finally:
        watcher.end()


def test_watch_on_a_host_rejects_a_missing_program_and_a_host_without_connection(tmp_path):
    for host, program, problem in (
        ("env A=1", "no-such-program", 'A=1: "no-such-program": no such program on the host'),
        ("false", "true", "false: false cannot be reached: exited with status 1"),
        ("no-such-command x", "true", 'unknown host "no-such-command x"'),
    ):
        assert problem in refused("watch", "--host", host, "--json", tmp_path / "report", "--", program)


async def test_killing_the_monitor_ends_remote_processes(service, tmp_path):
    command = concwatch_command("watch", "--host", "env A=1", "--json", str(tmp_path / "o"), "--")
    with start(*command, sys.executable, service) as monitor:
        pids = [int(monitor.stdout.readline()) for _ in range(2)]
        monitor.send_signal(signal.SIGKILL)
    await all_ended(*pids)


async def test_a_remote_process_can_be_attached_to_twice_and_survives():
    with start(sys.executable, "-c", LISTENS) as program:
        program.stdout.readline()
        for _ in range(2):
            watching = Watching(RemoteHost(Host("remote", ("env",))))
            watching.attach(program.pid)
            await step_until(watching, lambda: watching.lanes and watching.lanes[0].reports.live == 8)  # noqa: B023
            assert watching.lanes[0].current.how == "agent"
            await watching.host.finish()
            watching.close()
        assert program.poll() is None
        program.stdin.close()
        assert program.wait(PATIENCE) == 0


async def test_attaching_to_a_missing_remote_process_is_a_one_line_error():
    watching = Watching(RemoteHost(Host("remote", ("env",))))
    watching.attach(999_999_999)
    await step_until(watching, lambda: watching.host.problem)
    assert watching.ended == "remote: no process with PID 999999999"
    await watching.host.finish()


async def test_the_screen_ends_with_a_reason_when_the_host_is_lost(service, tmp_path):
    host = RemoteHost(Host("web1", ("env",)), [sys.executable, service])
    watching = Watching(host, host.program)
    app = WatchApp(watching, None, tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await step_until(watching, lambda: [lane.current.how for lane in watching.alive] == ["agent"] * 2)
        pids = [lane.pid for lane in watching.lanes]
        (bridge,) = (
            child
            for child in psutil.Process().children()
            if host.program.pid in [each.pid for each in child.children()]
        )
        bridge.kill()
        await step_until(watching, lambda: watching.ended)
        assert watching.ended == "web1: the connection killed by SIGKILL"
        await step_until(watching, lambda: not watching.alive)
        await pilot.pause()
        app.exit()
    for pid in pids:
        if psutil.pid_exists(pid):
            os.kill(pid, signal.SIGKILL)
