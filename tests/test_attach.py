"""Attaching to what cannot take an agent: one line each, and the program goes on unharmed."""

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
from concwatch.watch.host import LocalHost, why_not_attachable
from concwatch.watch.watching import Watching
from tests.agent_driver import EVERY

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are looked at in /proc"),
]

LIMIT = 30.0

NEWER = [name for name in EVERY if tuple(map(int, name.split()[1].split("."))) >= REMOTE_EXEC]

WAITS = "import sys; print('there', flush=True); sys.stdin.read()"


@contextlib.contextmanager
def running(*command, **how):
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **how) as program:
        try:
            if command[0] == sys.executable:
                program.stdout.readline()
            yield program
        finally:
            program.kill()


@contextlib.contextmanager
def attached(pid):
    watching = Watching(LocalHost(AgentListener()))
    try:
        watching.attach(pid)
        yield watching
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


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (
            (sys.executable, "-I", "-c", WAITS),
            "cannot load an agent from outside: start it with concwatch watch",
        ),
        (("cat",), "cat is not Python"),
    ],
    ids=["isolated", "no Python"],
)
def test_what_takes_no_agent_is_seen_from_outside_with_the_reason(command, reason):
    if sys.version_info >= REMOTE_EXEC and command[0] == sys.executable:
        pytest.skip("Python 3.14 takes the agent while it runs")
    with running(*command) as program, attached(program.pid) as watching:
        (lane,) = watching.lanes
        assert lane.how == "outside"
        assert reason in lane.reason
        assert "\n" not in lane.reason
        until(lambda: lane.sample.rss, watching)
        watching.close()
        assert program.poll() is None
        program.stdin.close()
        assert program.wait(LIMIT) == 0


TASKS = """
import asyncio, sys
async def stays(): await asyncio.sleep(600)
async def main():
    tasks = [asyncio.create_task(stays()) for _ in range(5)]
    print("there", flush=True)
    reading = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    while not reading.done(): await asyncio.sleep(0.02)
asyncio.run(main())
"""


@pytest.mark.skipif(not NEWER, reason="Python 3.14 and newer take an agent while they run: none was found")
@pytest.mark.parametrize("python", NEWER)
@pytest.mark.parametrize("options", [(), ("-I",)], ids=["plain", "isolated"])
def test_a_newer_python_takes_the_agent_while_it_runs_and_goes_on_without_it(python, options):
    with running(EVERY[python], *options, "-c", TASKS) as program:
        program.stdout.readline()
        for _ in range(2):
            with attached(program.pid) as watching:
                (lane,) = watching.lanes
                until(lambda lane=lane: lane.live == 6, watching)
                assert lane.how == "agent"
        assert program.poll() is None
        program.stdin.close()
        assert program.wait(LIMIT) == 0


@pytest.mark.skipif(not NEWER, reason="Python 3.14 and newer take an agent while they run: none was found")
def test_an_idle_program_has_the_screen_say_that_it_is_waited_for():
    idle = "import time; print('there', flush=True)\nwhile True: time.sleep(600)"
    with running(EVERY[NEWER[0]], "-c", idle) as program:
        program.stdout.readline()
        until_status(program.pid, psutil.STATUS_SLEEPING)
        with attached(program.pid) as watching:
            (lane,) = watching.lanes
            until(lambda: lane.reason, watching)
            assert (lane.how, lane.reason) == ("starting", "waits for the program to wake up")


def test_a_stopped_process_stays_stopped():
    with running(sys.executable, "-c", WAITS) as program:
        program.send_signal(signal.SIGSTOP)
        until_status(program.pid, psutil.STATUS_STOPPED)
        with attached(program.pid) as watching:
            assert watching.lanes[0].reason == "it is stopped: send it SIGCONT, then attach again"
        assert psutil.Process(program.pid).status() == psutil.STATUS_STOPPED
        program.send_signal(signal.SIGCONT)
        program.stdin.close()
        assert program.wait(LIMIT) == 0


def test_a_process_that_ends_while_it_is_attached_to_is_a_lane_that_ended():
    with running("cat") as program, attached(program.pid) as watching:
        (lane,) = watching.lanes
        program.stdin.close()
        program.wait(LIMIT)
        until(lambda: not lane.alive, watching)
        assert lane.reason == "ended"


def test_itself_what_has_ended_and_what_was_never_there_are_refused_in_one_line():
    assert why_not_attachable(os.getpid()) == f"{os.getpid()} is concwatch itself: expected another process"
    with running("cat") as program:
        program.kill()
        until_status(program.pid, psutil.STATUS_ZOMBIE)
        refusal = f"there is no process {program.pid}: expected a running process"
        assert why_not_attachable(program.pid) == refusal  # it has ended, and waits for its parent
    assert why_not_attachable(program.pid) == refusal


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start another user's process")
def test_another_users_process_is_refused():
    with running("cat") as program:
        code = (
            "import os, sys; os.setgid(65534); os.setuid(65534); "
            f"from concwatch.watch.host import why_not_attachable; print(why_not_attachable({program.pid}))"
        )
        path = os.pathsep.join(sys.path)
        done = subprocess.run(
            [sys.executable, "-c", code.replace("os.setgid", "import concwatch.watch.host; os.setgid")],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert done.stdout.strip() == f"{program.pid} is another user's: expected a process of this user"
        assert program.poll() is None
