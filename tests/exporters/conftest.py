"""A watched program to observe."""

import pytest

from concwatch.monitor.verdicts.events import EventLog
from tests.watch_driver import WatchBench


@pytest.fixture
def bench():
    """Return a program with one process, whose agent has connected; that is no event any more."""
    bench = WatchBench()
    bench.first = bench.agent(40)
    bench.watching.events = EventLog()
    return bench
