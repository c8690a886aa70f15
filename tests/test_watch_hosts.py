"""Programs on other hosts under watch: the agent is sent there, and nothing is left behind."""

import asyncio
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time

import psutil
import pytest

from concwatch.hosts.host import Host
from concwatch.system.child import concwatch_command
from concwatch.ui.watch_app import WatchApp
from concwatch.watch.remote_host import RemoteHost
from concwatch.watch.watching import Watching
from tests.host_driver import PATIENCE, SSHD, THROUGH_A_SHELL, Sshd
from tests.test_other_pythons import PYTHONS

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bridges need Linux"),
]

OTHERS = [name for name in PYTHONS if name.startswith("CPython")]


def minor(name):
    return int(name.split(".")[1])


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
    print("there", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
asyncio.run(main())
"""


def lives(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def until_gone(pids):
    deadline = time.monotonic() + PATIENCE
    while left := [pid for pid in pids if lives(pid)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.02)


@pytest.fixture
def service(tmp_path):
    (tmp_path / "service.py").write_text(SERVICE)
    return str(tmp_path / "service.py")


def watch(host, *arguments, folder=None):
    environment = {**os.environ, **({"TMPDIR": str(folder)} if folder else {})}
    return subprocess.run(
        concwatch_command("watch", "--host", host, "--json", *arguments),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env=environment,
    )


@pytest.fixture(scope="module")
def sshd(tmp_path_factory):
    if SSHD is None or shutil.which("ssh") is None or os.geteuid() != 0:
        pytest.skip("no ssh server that this user may start: apt install openssh-server, as root")
    found = Sshd(tmp_path_factory.mktemp("sshd"))
    yield found
    found.close()


def figures(report):
    return [
        {group["name"]: (group["created"], group["live"]) for group in process["groups"]}
        for process in report["processes"]
        if process["how"] == "agent"
    ]


@pytest.mark.parametrize("way", ["directly", "shell", "ssh"])
def test_every_process_there_is_counted_by_its_agent_and_nothing_is_left(way, service, tmp_path, request):
    prefix = {"directly": ("env",), "shell": THROUGH_A_SHELL}.get(way)
    prefix = prefix or request.getfixturevalue("sshd").prefix()
    folder = tmp_path / "tmp"
    folder.mkdir()
    host, out = shlex.join(prefix), str(tmp_path / "o")
    done = watch(host, out, "--seconds", "6", "--", sys.executable, service, folder=folder)
    assert (done.returncode, done.stderr) == (143, "")
    report = json.loads((tmp_path / "o").read_text())
    assert report["exit"] == 143
    assert figures(report) == [{"work": (300, 0), "tick": (20, 20), "main": (1, 1)}] * 2
    first = report["processes"][0]["groups"]
    (tick,) = (group for group in first if group["name"] == "tick")
    assert tick["waits"] == [{"where": f"{service}:5", "tasks": 20}]
    assert report["processes"][0]["rss_peak"] > 1 << 20
    pids = [int(word) for word in done.stdout.split()]
    assert sorted(pids) == sorted(process["pid"] for process in report["processes"])
    until_gone(pids)
    assert not list(folder.iterdir())


@pytest.mark.parametrize("python", [min(OTHERS, key=minor), max(OTHERS, key=minor)] if OTHERS else [])
def test_on_the_oldest_and_the_newest_python_there(python, service, tmp_path, monkeypatch):
    (tmp_path / "settings.toml").write_text(f'[hosts.there]\ncommand = "env"\npython = "{PYTHONS[python]}"\n')
    monkeypatch.setenv("CONCWATCH_SETTINGS", str(tmp_path / "settings.toml"))
    done = watch("there", "-", "--seconds", "5", "--", PYTHONS[python], service)
    assert figures(json.loads(done.stdout)) == [{"work": (300, 0), "tick": (20, 20), "main": (1, 1)}] * 2


def test_its_exit_status_and_what_it_wrote_are_passed_on(tmp_path):
    done = watch("env A=1", str(tmp_path / "o"), "--", "sh", "-c", "echo said; exit 3")
    assert (done.returncode, done.stdout, done.stderr) == (3, "said\n", "")


@pytest.mark.parametrize(
    ("host", "command", "said"),
    [
        ("env A=1", "no-such-program", 'A=1: "no-such-program": no such program there'),
        ("false", "true", "false: false cannot be reached: exited with status 1"),
        ("no-such-command x", "true", 'unknown host "no-such-command x"'),
    ],
)
def test_what_cannot_be_started_there_is_one_line(host, command, said):
    done = watch(host, "-", "--", command)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr


def test_a_monitor_that_is_killed_leaves_nothing_there(service, tmp_path):
    command = concwatch_command("watch", "--host", "env A=1", "--json", str(tmp_path / "o"), "--")
    with subprocess.Popen([*command, sys.executable, service], stdout=subprocess.PIPE, text=True) as monitor:
        pids = [int(monitor.stdout.readline()) for _ in range(2)]
        monitor.send_signal(signal.SIGKILL)
    until_gone(pids)


def start(*command):
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


async def follow(watching, condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        lanes = [(lane.name, lane.how, lane.reason) for lane in watching.lanes]
        assert time.monotonic() < deadline, (lanes, watching.host.problem)
        watching.step()
        await asyncio.sleep(0.02)


async def test_a_process_there_is_attached_to_and_goes_on_without_its_hooks(tmp_path):
    with start(sys.executable, "-c", LISTENS) as program:
        program.stdout.readline()
        for _ in range(2):  # again and again
            watching = Watching(RemoteHost(Host("there", ("env",))))
            watching.attach(program.pid)
            await follow(watching, lambda: watching.lanes and watching.lanes[0].how == "agent")  # noqa: B023
            await follow(watching, lambda: watching.lanes[0].tick and watching.lanes[0].tick.live == 8)  # noqa: B023
            await watching.host.finish()
            watching.close()
        assert program.poll() is None
        program.stdin.close()
        assert program.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    ("pid", "said"), [(999_999_999, "there: there is no process 999999999: expected one that runs")]
)
async def test_what_cannot_be_attached_to_there_is_one_line(pid, said):
    watching = Watching(RemoteHost(Host("there", ("env",))))
    watching.attach(pid)
    await follow(watching, lambda: watching.host.problem)
    assert watching.ended == said
    await watching.host.finish()


async def test_the_screen_shows_it_and_says_when_the_host_is_lost(service, tmp_path):
    place = RemoteHost(Host("web1", ("env",)), [sys.executable, service])
    watching = Watching(place, place.program)
    app = WatchApp(watching, None, tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await follow(watching, lambda: len([lane for lane in watching.alive if lane.how == "agent"]) == 2)
        pids = [lane.pid for lane in watching.lanes]
        (bridge,) = (
            child
            for child in psutil.Process().children()
            if pids[0] in [each.pid for each in child.children()]
        )
        bridge.kill()
        await follow(watching, lambda: watching.ended)
        assert watching.ended == "web1: the connection killed by SIGKILL"
        await follow(watching, lambda: not watching.alive)
        await pilot.pause()
    for pid in pids:
        if lives(pid):
            os.kill(pid, signal.SIGKILL)
