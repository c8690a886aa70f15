"""What ends with the process that started it."""

import subprocess
import sys

import pytest

from concwatch.portable.machine.spawn import Terminator
from concwatch.system.child import ROOT
from tests.processes import PATIENCE

pytestmark = pytest.mark.real

STARTER = f"""
import subprocess, sys
sys.path.insert(0, {ROOT!r})
from concwatch.portable.machine.spawn import Terminator
kept = Terminator(int(sys.argv[1]))
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
    Terminator(sleeper.pid).release()
    assert sleeper.poll() is None
