"""``concwatch flame`` with real programs."""

import os
import subprocess
import sys

import pytest

from concwatch.portable.agent.sending.places import socket_paths
from concwatch.system.child import concwatch_command
from tests.agent_driver import PATIENCE, eventually

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs the clocks of threads"),
]

SPINS = """
import sys, threading
from concwatch import agent
agent.start()
threading.Thread(target=lambda: (sys.stdin.read(), ended.append(1))).start()
ended = []
def spins():
    for _ in range(1000): pass
while not ended: spins()
"""


def flame(*arguments):
    """Run the command, and return it."""
    command = concwatch_command("flame", *map(str, arguments))
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_folded_stacks_are_printed_and_a_graph_is_written(tmp_path):
    program = subprocess.Popen([sys.executable, "-c", SPINS], stdin=subprocess.PIPE)
    try:
        paths = socket_paths(program.pid, os.getuid())
        eventually(lambda: any(map(os.path.exists, paths)), "listening agent")
        folded = flame(program.pid, "--seconds", 1)
        assert folded.returncode == 0, folded.stderr
        first = max(folded.stdout.splitlines(), key=lambda line: int(line.rpartition(" ")[2]))
        assert "spins (<string>)" in first
        assert "of CPU time in" in folded.stderr
        file = tmp_path / "spins.svg"
        assert flame(program.pid, "--seconds", 1, "--out", file).stdout == ""
        assert "<title>spins" in file.read_text()
        assert program.poll() is None
    finally:
        program.stdin.close()
        assert program.wait(PATIENCE) == 0


def test_why_there_is_no_graph_is_one_line():
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as program:
        refused = flame(program.pid, "--seconds", 1)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "cat is not Python" in refused.stderr
