"""The watched program: the signals that it gets while it starts."""

import os
import signal
import subprocess
import sys

import pytest

from concwatch.system.child import ROOT

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not hasattr(signal, "sigtimedwait"), reason="this system does not hold back signals"),
]

STARTS = """
import os, signal, sys, time
from concwatch.commands.watching.passing import HeldSignals
from concwatch.links.program import Program
signal.pthread_sigmask(signal.SIG_BLOCK, HeldSignals.numbers)
for name in sys.argv[1:]:
    os.kill(os.getpid(), getattr(signal, name))
command = ["sh", "-c", "sleep 60"] if sys.argv[1:] else ["true"]
program = Program(command, os.environ, held=HeldSignals(in_group=True))
while program.status is None:
    time.sleep(0.01)
print(program.status, signal.sigpending())
"""


@pytest.mark.parametrize(("sent", "status"), [("SIGINT", -2), ("SIGUSR1", -signal.SIGUSR1), ("", 0)])
def test_the_program_gets_signals_that_were_sent_before_it_started(sent, status):
    command = [sys.executable, "-c", STARTS, *sent.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (f"{status} set()\n", "")


COUNTS = """
import signal, time
got = []
signal.signal(signal.SIGTERM, lambda *_: got.append(1))
print("ready", flush=True)
while not got: time.sleep(0.01)
time.sleep(0.5)
print(len(got), flush=True)
"""

SLOWLY = f"""
import os, sys, time
from concwatch.commands.watching.passing import signals_held, signals_passed_on
from concwatch.links.program import Program
with signals_held() as held:
    program = Program([sys.executable, "-c", {COUNTS!r}], os.environ, held=held)
    sys.stdin.readline()
    with signals_passed_on(program.send_signal, held):
        while program.status is None:
            time.sleep(0.01)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pending signals are read in /proc")
@pytest.mark.parametrize("to", ["the group", "the monitor"])
def test_a_signal_that_comes_before_signals_are_passed_on_reaches_the_program_once(to):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    command = [sys.executable, "-c", SLOWLY]
    with subprocess.Popen(command, text=True, cwd=ROOT, start_new_session=True, **pipes) as monitor:
        assert monitor.stdout.readline() == "ready\n"
        (os.killpg if to == "the group" else os.kill)(monitor.pid, signal.SIGTERM)
        assert monitor.communicate("go on\n", timeout=60)[0] == "1\n"
