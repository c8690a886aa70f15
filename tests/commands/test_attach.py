"""Attaching to running processes, with the agent if it can be loaded; the process is never harmed."""

import contextlib
import math
import os
import signal
import subprocess
import sys

import psutil
import pytest

from concwatch.links.agent_link import AgentListener
from concwatch.monitor.processes.watched_host import LocalHost, why_not_attachable
from concwatch.monitor.watching import watching as watching_module
from concwatch.monitor.watching.agent_options import DEFAULTS, AgentOptions
from concwatch.monitor.watching.watching import Watching
from concwatch.portable.agent.sending.places import socket_paths
from concwatch.portable.bridge.injection import REMOTE_EXEC
from tests.agent_driver import EVERY, NEWEST, eventually, with_newest

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found in /proc"),
]

LIMIT = 30.0

needs_remote_exec = pytest.mark.skipif(
    max(int(name.split(".")[1]) for name in EVERY) < REMOTE_EXEC[1],
    reason="needs Python 3.14 or newer, which loads the agent while it runs",
)

WAITS = "import sys; print('ready', flush=True); sys.stdin.read()"


@contextlib.contextmanager
def running(*command):
    """Start a program, and wait for its first line, except ``cat``."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        try:
            if command != ("cat",):
                program.stdout.readline()
            yield program
        finally:
            program.kill()


@contextlib.contextmanager
def attached(pid, agents=DEFAULTS):
    """Attach to a process; yield the watching and its lane."""
    watching = Watching(LocalHost(AgentListener()), agents=agents)
    try:
        watching.attach(pid)
        yield watching, watching.lanes[0]
    finally:
        watching.close()


def until(condition, watching):
    """Step until ``condition()`` is true."""
    eventually(lambda: watching.step() or condition(), "expected state of the lanes")


def until_status(pid, status):
    eventually(lambda: psutil.Process(pid).status() == status, status)


def assert_exits(program):
    """Check that a program is running, and exits at the end of its input."""
    assert program.poll() is None
    program.stdin.close()
    assert program.wait(LIMIT) == 0


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (
            (sys.executable, "-I", "-c", WAITS),
            "can only load the agent through gdb",
        ),
        (("cat",), "cat is not Python"),
    ],
    ids=["isolated", "cat"],
)
def test_a_process_without_agent_is_measured_from_outside_with_a_reason(command, reason):
    if sys.version_info >= REMOTE_EXEC and command[0] == sys.executable:
        pytest.skip("Python 3.14 loads the agent while it runs")
    with running(*command) as program:
        with attached(program.pid) as (watching, lane):
            assert lane.current.how == "outside"
            assert reason in lane.current.reason
            assert "\n" not in lane.current.reason
            until(lambda: lane.history.sample.rss, watching)
        assert_exits(program)


TASKS = """
import asyncio, sys
async def stays(): await asyncio.sleep(600)
async def main():
    tasks = [asyncio.create_task(stays()) for _ in range(5)]
    print("ready", flush=True)
    reading = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    while not reading.done(): await asyncio.sleep(0.02)
asyncio.run(main())
"""


def test_an_agent_that_listens_gets_the_options():
    text = TASKS.replace("create_task(stays())", "create_task(stays(), name=f'worker {_}')")
    with running(sys.executable, "-c", f"from concwatch import agent; agent.start()\n{text}") as program:
        paths = socket_paths(program.pid, os.getuid())
        eventually(lambda: any(map(os.path.exists, paths)), "listening agent")
        agents = AgentOptions(by_name=True, timing=True, blocked_after=math.inf)
        with attached(program.pid, agents) as (watching, lane):
            until(lambda: {"timing"} == {"timing", "blocks"} & set(lane.snapshot(0.0).status.flags), watching)
            until(
                lambda: "worker N" in {group.report.name for group in lane.reports.groups.values()}, watching
            )
        assert_exits(program)


@needs_remote_exec
@with_newest
@pytest.mark.parametrize("options", [(), ("-I",)], ids=["plain", "isolated"])
def test_a_running_newer_python_loads_the_agent_and_survives_its_removal(python, options):
    with running(python, *options, "-c", TASKS) as program:
        for _ in range(2):
            with attached(program.pid) as (watching, lane):
                until(lambda lane=lane: lane.reports.live == 6, watching)
                assert lane.current.how == "agent"
        assert_exits(program)


@needs_remote_exec
def test_an_idle_program_has_a_reason_for_the_missing_agent(monkeypatch):
    monkeypatch.setattr(watching_module, "AGENT_TIMEOUT", 0.0)
    idle = "import time; print('ready', flush=True)\nwhile True: time.sleep(600)"
    with running(NEWEST, "-c", idle) as program:
        until_status(program.pid, psutil.STATUS_SLEEPING)
        with attached(program.pid) as (watching, lane):
            until(lambda: lane.current.reason, watching)
            assert (lane.current.how, lane.current.reason) == (
                "starting",
                "waits for its main thread to run Python",
            )


def test_attaching_leaves_a_stopped_process_stopped():
    with running(sys.executable, "-c", WAITS) as program:
        program.send_signal(signal.SIGSTOP)
        until_status(program.pid, psutil.STATUS_STOPPED)
        with attached(program.pid) as (_, lane):
            assert lane.current.reason == "it is stopped: send it SIGCONT, then attach again"
        assert psutil.Process(program.pid).status() == psutil.STATUS_STOPPED
        program.send_signal(signal.SIGCONT)
        assert_exits(program)


def test_the_lane_of_an_ended_process_ends_and_the_process_cannot_be_attached_to():
    with running("cat") as program:
        reason = f"no process with PID {program.pid}"
        with attached(program.pid) as (watching, lane):
            program.stdin.close()
            until_status(program.pid, psutil.STATUS_ZOMBIE)
            assert why_not_attachable(program.pid) == reason
            until(lambda: program.poll() is not None and not lane.alive, watching)
            assert lane.current.reason == "ended"
    assert why_not_attachable(program.pid) == reason
    assert why_not_attachable(os.getpid()) == f"process {os.getpid()} is concwatch itself"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start another user's process")
def test_another_users_process_cannot_be_attached_to():
    with running("cat") as program:
        code = (
            "import os; from concwatch.monitor.processes.watched_host import why_not_attachable; "
            f"os.setgid(65534); os.setuid(65534); print(why_not_attachable({program.pid}))"
        )
        text = subprocess.check_output(
            [sys.executable, "-c", code],
            text=True,
            timeout=LIMIT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert text.strip() == f"process {program.pid} belongs to another user"
        assert program.poll() is None
