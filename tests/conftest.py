"""How the whole suite runs."""

import asyncio
import gc
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import settings

from concwatch.system.machine import Load
from tests import virtual_time
from tests.fake import FakeWorkers
from tests.lab_driver import use_lab

# The same examples in every run: a change is judged by itself, not by the luck of the day. New ones are
# looked for with --hypothesis-profile=explore.
# None has a deadline: how long one takes says more about the machine.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile("same")

# Nor by the settings of who runs it: this is an empty file, for this process and those that it starts.
os.environ["CONCWATCH_SETTINGS"] = os.devnull

os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="concwatch-state-")

# Nor does a shell that forbids to keep compiled modules have hundreds of processes compile the same again.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).resolve().parents[1] / ".pytest_cache" / "compiled")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

# Nor by nohup, or by a shell that runs this in the background: what is started here would ignore signals.
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Nor by the size of a terminal that xdist tells its workers: each test that has a terminal has its own.
for name in ("COLUMNS", "LINES"):
    os.environ.pop(name, None)


STARTS = frozenset(("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn"))
"""Audit events of a process that is started."""

_unmarked = ""  # the test that runs, where it must start none


def _audit(event: str, _: object) -> None:
    if event in STARTS and _unmarked:
        raise AssertionError(f"{_unmarked} starts a process: expected it to be marked real")


sys.addaudithook(_audit)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Let only tests that are marked so start processes."""
    global _unmarked
    _unmarked = "" if item.get_closest_marker("real") else item.nodeid
    yield
    _unmarked = ""


def pytest_collection_finish(session):
    """Have the collector pass over modules and tests: it took a fifth of the time of tests on fakes."""
    gc.collect()
    gc.freeze()


def pytest_asyncio_loop_factories(item):
    """Have a test wait on virtual time, unless it starts processes or is marked to wait by the clock."""
    real = any(item.get_closest_marker(name) for name in ("real", "real_time"))
    return {"real": asyncio.new_event_loop} if real else {"virtual": virtual_time.VirtualLoop}


@pytest.fixture
def fakes(monkeypatch):
    """Have commands start fake workers on an idle machine, on a clock that does not wait."""
    workers = FakeWorkers()
    monkeypatch.setattr("asyncio.events.new_event_loop", virtual_time.VirtualLoop)
    use_lab(
        monkeypatch,
        open_link=workers,
        clock=virtual_time.now,
        load=lambda: Load(time.monotonic(), 0.0, 0.0, 2),
    )
    return workers
