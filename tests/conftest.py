"""How the whole suite runs."""

import os
import signal
import time

import pytest
from hypothesis import settings

from concwatch.lab.lab import Lab
from concwatch.system.machine import Load
from tests.fake import FakeWorkers

# The same examples in every run: a change is judged by itself, not by the luck of the day. New ones are
# looked for with --hypothesis-profile=explore.
# None has a deadline: how long one takes says more about the machine.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile("same")

# Nor by the settings of who runs it: this is an empty file, for this process and those that it starts.
os.environ["CONCWATCH_SETTINGS"] = os.devnull

# Nor by nohup, or by a shell that runs this in the background: what is started here would ignore signals.
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Nor by the size of a terminal that xdist tells its workers: each test that has a terminal has its own.
for name in ("COLUMNS", "LINES"):
    os.environ.pop(name, None)


@pytest.fixture
def fakes(monkeypatch):
    """Have labs start fake workers on a machine with nothing else to do, and measurements take less care."""
    workers = FakeWorkers()
    monkeypatch.setitem(Lab.__init__.__kwdefaults__, "open_link", workers)
    monkeypatch.setitem(Lab.__init__.__kwdefaults__, "load", lambda: Load(time.monotonic(), 0.0, 0.0, 2))
    monkeypatch.setattr("concwatch.measure.measurement.SETTLE", 0.1)
    return workers
