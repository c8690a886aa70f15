"""Attaching to running processes: with the agent where it can be loaded, and unharmed in any case."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from concwatch.links.agent_link import AgentListener
from concwatch.links.injection import REMOTE_EXEC
from concwatch.watch import watching as watching_module
from concwatch.watch.host import LocalHost, why_not_attachable
from concwatch.watch.watching import Watching
from tests.agent_driver import EVERY, NEWEST

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found in /proc"),
]

LIMIT = 30.0

needs_remote_exec = pytest.mark.skipif(
    max(int(name.split(".")[1]) for name in EVERY) < REMOTE_EXEC[1],
    reason="Python 3.14 and newer load the agent while they run: none was found",
)

WAITS = "import sys; print('ready', flush=True); sys.stdin.read()"


@contextlib.contextmanager
def running(*command):
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        try:
            if command != ("cat",):
                program.stdout.readline()
            yield program
        finally:
            program.kill()


@contextlib.contextmanager
def attached(pid):
    watching = Watching(LocalHost(AgentListener()))
    try:
        watching.attach(pid)
        yield watching, watching.lanes[0]
    finally:
        watching.close()


def until(condition, watching):
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, [(lane.how, lane.reason) for lane in watching.lanes]
        watching.step()
        time.sleep(0.02)


def until_status(pid, status):
    deadline = time.monotonic() + LIMIT
    while psutil.Process(pid).status() != status:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def ends(program):
    """Check that a program is running, and that it ends by itself."""
    assert program.poll() is None
    program.stdin.close()
    assert program.wait(LIMIT) == 0


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (
            (sys.executable, "-I", "-c", WAITS),
            "cannot load an agent from outside: start it with concwatch watch",
        ),
        (("cat",), "cat is not Python"),
    ],
    ids=["isolated", "cat"],
)
def test_what_takes_no_agent_is_measured_from_outside_with_the_reason(command, reason):
    if sys.version_info >= REMOTE_EXEC and command[0] == sys.executable:
        pytest.skip("Python 3.14 loads the agent while it runs")
    with running(*command) as program:
        with attached(program.pid) as (watching, lane):
            assert lane.how == "outside"
            assert reason in lane.reason
            assert "\n" not in lane.reason
            until(lambda: lane.sample.rss, watching)
        ends(program)


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


@needs_remote_exec
@pytest.mark.parametrize("options", [(), ("-I",)], ids=["plain", "isolated"])
def test_a_newer_python_loads_the_agent_while_it_runs_and_goes_on_without_it(options):
    with running(NEWEST, *options, "-c", TASKS) as program:
        for _ in range(2):
            with attached(program.pid) as (watching, lane):
                until(lambda lane=lane: lane.live == 6, watching)
                assert lane.how == "agent"
        ends(program)


@needs_remote_exec
def test_an_idle_program_has_the_screen_say_that_it_is_waited_for(monkeypatch):
    monkeypatch.setattr(watching_module, "AGENT_TIMEOUT", 0.0)
    idle = "import time; print('ready', flush=True)\nwhile True: time.sleep(600)"
    with running(NEWEST, "-c", idle) as program:
        until_status(program.pid, psutil.STATUS_SLEEPING)
        with attached(program.pid) as (watching, lane):
            until(lambda: lane.reason, watching)
            assert (lane.how, lane.reason) == ("starting", "waits for the program to wake up")


def test_a_stopped_process_stays_stopped():
    with running(sys.executable, "-c", WAITS) as program:
        program.send_signal(signal.SIGSTOP)
        until_status(program.pid, psutil.STATUS_STOPPED)
        with attached(program.pid) as (_, lane):
            assert lane.reason == "it is stopped: send it SIGCONT, then attach again"
        assert psutil.Process(program.pid).status() == psutil.STATUS_STOPPED
        program.send_signal(signal.SIGCONT)
        ends(program)


def test_a_process_that_ends_is_a_lane_that_ended_and_cannot_be_attached_to():
    with running("cat") as program:
        refusal = f"there is no process {program.pid}: expected a running process"
        with attached(program.pid) as (watching, lane):
            program.stdin.close()
            until_status(program.pid, psutil.STATUS_ZOMBIE)
            assert why_not_attachable(program.pid) == refusal
            until(lambda: program.poll() is not None and not lane.alive, watching)
            assert lane.reason == "ended"
    assert why_not_attachable(program.pid) == refusal
    assert why_not_attachable(os.getpid()) == f"{os.getpid()} is concwatch itself: expected another process"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start another user's process")
def test_another_users_process_is_refused():
    with running("cat") as program:
        code = (
            "import os; from concwatch.watch.host import why_not_attachable; os.setgid(65534); "
            f"os.setuid(65534); print(why_not_attachable({program.pid}))"
        )
        text = subprocess.check_output(
            [sys.executable, "-c", code],
            text=True,
            timeout=LIMIT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert text.strip() == f"{program.pid} is another user's: expected a process of this user"
        assert program.poll() is None
