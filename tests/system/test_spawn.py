"""What ends with the process that started it."""

import asyncio
import subprocess
import sys

import pytest

from concwatch.portable.machine.spawn import Terminator
from concwatch.system.child import ROOT, start_child
from tests.host_driver import eventually
from tests.processes import PATIENCE, assert_ended

pytestmark = pytest.mark.real

STARTER = f"""
import subprocess, sys
sys.path.insert(0, {ROOT!r})
from concwatch.portable.machine.spawn import Terminator
kept = Terminator()
kept.watch(int(sys.argv[1]))
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def sleeper():
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def test_a_process_is_terminated_when_the_one_that_watches_over_it_is_killed(sleeper):
    command = [sys.executable, "-c", STARTER, str(sleeper.pid)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as starter:
        starter.stdout.readline()
        assert sleeper.poll() is None
        starter.kill()
    assert sleeper.wait(PATIENCE) == -15


def test_a_process_that_was_released_goes_on(sleeper):
    terminator = Terminator()
    terminator.watch(sleeper.pid)
    terminator.release()
    assert sleeper.poll() is None


async def test_a_start_that_is_cancelled_leaves_neither_the_program_nor_what_it_has_started(
    tmp_path, monkeypatch
):
    pids, is_cancelled = tmp_path / "pids", asyncio.Event()
    started = asyncio.create_subprocess_exec

    async def slow(*command, **options):  # as on a loaded machine
        process = await started(*command, **options)
        await is_cancelled.wait()
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", slow)
    script = f'sleep 600 & echo $$ $! > "{pids}.part"; mv "{pids}.part" "{pids}"; wait'
    starting = asyncio.create_task(start_child(["sh", "-c", script]))
    await eventually(pids.exists)
    starting.cancel()
    await asyncio.sleep(0)
    is_cancelled.set()
    await asyncio.wait([starting])
    assert starting.cancelled()
    assert_ended(map(int, pids.read_text().split()))
