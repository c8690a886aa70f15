"""The watched program: the signals that it gets while it starts."""

import signal
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not hasattr(signal, "sigtimedwait"), reason="this system does not hold back signals"),
]

STARTS = """
import os, signal, sys, time
from concwatch.links.program import Program
held = {signal.SIGINT, signal.SIGUSR1}
signal.pthread_sigmask(signal.SIG_BLOCK, held)
for name in sys.argv[1:]:
    os.kill(os.getpid(), getattr(signal, name))
program = Program(["sh", "-c", "sleep 60"] if sys.argv[1:] else ["true"], os.environ, unblock=held)
while program.status is None:
    time.sleep(0.01)
print(program.status, signal.sigpending())
"""


@pytest.mark.parametrize(("sent", "status"), [("SIGINT", -2), ("SIGUSR1", -signal.SIGUSR1), ("", 0)])
def test_the_program_gets_signals_that_were_sent_before_it_started(sent, status):
    command = [sys.executable, "-c", STARTS, *sent.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (f"{status} set()\n", "")
