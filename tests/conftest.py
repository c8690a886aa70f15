"""Configuration and fixtures of the whole suite."""

import asyncio
import gc
import os
import signal
import sys
import time

import pytest
from hypothesis import settings

from concwatch.monitor.lanes.host_lanes import LocalMachine
from concwatch.system.machine import Load
from tests import virtual_time
from tests.fake_link import FakeWorkers
from tests.lab_driver import use_lab
from tests.skips import pytest_terminal_summary  # noqa: F401  a hook
from tests.temporary import use_temporary_folder

# Every run uses the same examples, so that a failure is due to a change; --hypothesis-profile=explore uses
# new ones. There is no deadline, which would test the speed of the machine.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile("same")

# Ignore the settings of the user who runs the tests, in this process and its children.
os.environ["CONCWATCH_SETTINGS"] = os.devnull

use_temporary_folder()

# With PYTHONDONTWRITEBYTECODE, hundreds of processes would compile the same modules again.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    sys.dont_write_bytecode = False

# Under nohup, or in a shell's background, child processes would ignore these signals.
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What a signal ends writes no core: on a busy disk that takes a minute.
if sys.platform != "win32":
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))

# xdist sets these for its workers; each test with a terminal has its own size.
for name in ("COLUMNS", "LINES"):
    os.environ.pop(name, None)


STARTS = frozenset(("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn"))
"""Audit events that start a process."""

_unmarked = ""  # the id of the running test if it must not start a process


def _audit(event: str, _: object) -> None:
    if event in STARTS and _unmarked:
        raise AssertionError(f"{_unmarked} starts a process: expected it to be marked real")


sys.addaudithook(_audit)


def pytest_xdist_auto_num_workers():
    """Run six tests at a time, whatever the number of cores: most of them wait for real workers."""
    return 6


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Only tests marked ``real`` may start processes."""
    global _unmarked
    _unmarked = "" if item.get_closest_marker("real") else item.nodeid
    yield
    _unmarked = ""


def pytest_collection_finish(session):
    """Freeze modules and tests for the garbage collector, which took 20 % of the time of tests on fakes."""
    gc.collect()
    gc.freeze()


def pytest_asyncio_loop_factories(item):
    """Run tests on virtual time unless they are marked ``real`` or ``real_time``."""
    real = any(item.get_closest_marker(name) for name in ("real", "real_time"))
    return {"real": asyncio.new_event_loop} if real else {"virtual": virtual_time.VirtualLoop}


@pytest.fixture
def fakes(monkeypatch):
    """Make commands use fake workers, an idle machine and virtual time."""
    workers = FakeWorkers()
    monkeypatch.setattr("asyncio.events.new_event_loop", virtual_time.VirtualLoop)
    use_lab(
        monkeypatch,
        open_link=workers,
        clock=virtual_time.now,
        machine=LocalMachine(load=lambda: Load(time.monotonic(), 0.0, 0.0, 2)),
    )
    return workers
