"""The tests of the test suite."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from concwatch.system.child import ROOT
from tests.temporary import VARIABLE
from tests.virtual_time import VirtualLoop


def test_a_test_without_the_mark_real_cannot_start_a_process():
    with pytest.raises(AssertionError, match="expected it to be marked real"):
        subprocess.run([sys.executable, "-c", ""], check=False)


def test_virtual_time_passes_at_once_and_in_order():
    woken = []

    async def sleeper(hours):
        await asyncio.sleep(hours * 3600)
        woken.append((hours, asyncio.get_running_loop().time()))

    async def both():
        await asyncio.gather(sleeper(2), sleeper(1))

    began, loop = time.monotonic(), VirtualLoop()
    try:
        loop.run_until_complete(both())
    finally:
        loop.close()
    assert [hours for hours, _ in woken] == [1, 2]
    assert [at for _, at in woken] == pytest.approx([3600, 7200])
    assert time.monotonic() - began < 3600


SKIPPED = """
import pytest
@pytest.mark.parametrize("number", range(7))
def test_in_go(number):
    pytest.skip("needs go: apt install golang")
@pytest.mark.skipif(True, reason="needs node: apt install nodejs")
def test_in_node(): pass
def test_in_python(): pass
"""


@pytest.mark.real
@pytest.mark.parametrize("processes", ["0", "2"])
def test_a_summary_says_in_a_line_what_skipped_tests_need(processes, tmp_path):
    (tmp_path / "test_it.py").write_text(SKIPPED)
    (tmp_path / "test_all.py").write_text('import pytest; pytest.importorskip("no_such_module", reason="x")')
    options = ["-q", "-n", processes, "-p", "tests.skips", "-p", "no:cacheprovider", "-p", "no:concwatch"]
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, *options, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    at = next(at for at, line in enumerate(lines) if " skipped " in line and line.startswith("==="))
    assert lines[at + 1 : at + 4] == [
        "    7 needs go: apt install golang",
        "    1 needs node: apt install nodejs",
        "    1 x",
    ]
    assert "1 passed, 9 skipped" in lines[-1]


SESSION = """
import subprocess, sys, time
from tests.temporary import use_temporary_folder
use_temporary_folder()
child = "import os, tempfile; print(tempfile.mkdtemp(), os.environ['XDG_STATE_HOME'], flush=True)"
subprocess.run([sys.executable, "-c", child])
time.sleep(60 if sys.argv[1] == "killed" else 0)
"""


@pytest.mark.real
@pytest.mark.parametrize("how", ["ends", "killed"])
def test_the_temporary_folder_of_a_session_and_its_children_is_removed_however_it_ends(how, tmp_path):
    variables = {name: value for name, value in os.environ.items() if name != VARIABLE}
    command = [sys.executable, "-c", SESSION, how]
    env = {**variables, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True) as session:
        folders = [Path(name) for name in session.stdout.readline().split()]
        assert all(folder.is_relative_to(tmp_path) for folder in folders)
        if how == "killed":
            session.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while list(tmp_path.iterdir()):
        assert how == "killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_temporary_files_of_tests_and_their_children_are_in_the_folder_of_the_session():
    assert tempfile.gettempdir() == os.environ["TMPDIR"] == os.environ[VARIABLE]
    assert os.environ["XDG_STATE_HOME"].startswith(os.environ[VARIABLE])
