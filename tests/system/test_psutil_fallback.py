"""What psutil reads on systems without ``/proc`` is what is read from ``/proc`` here."""

import os
import sys

import pytest

from concwatch.portable.machine import proc, processes
from concwatch.system import psutil_fallback

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="compares with /proc")

HERE = os.getpid()
NOBODY = 1 << 22
"""The first pid that Linux never gives to a process."""


def test_a_process_is_described_as_in_proc():
    here, there = processes.find_process(HERE), psutil_fallback.find_process(HERE)
    assert here is not None
    assert there is not None
    assert (there.pid, there.parent, there.group, there.user) == (
        here.pid,
        here.parent,
        here.group,
        here.user,
    )
    assert HERE in psutil_fallback.pids()
    assert psutil_fallback.command_of(HERE) == processes.command_of(HERE)
    assert psutil_fallback.program_of(HERE) == processes.program_of(HERE)
    for name in ("PATH", "no such variable"):
        assert psutil_fallback.variable_of(HERE, name) == processes.variable_of(HERE, name)


def test_figures_are_those_of_proc():
    here, there = proc.process_figures(HERE), psutil_fallback.process_figures(HERE)
    assert here is not None
    assert there is not None
    assert here.keys() - there.keys() == {"kernel_stack", "page_tables", "anonymous", "shared"}
    assert there.keys() <= here.keys()
    assert (here["state"], there["state"]) == ("R", "")
    assert there["rss"] == pytest.approx(here["rss"], rel=0.2)
    assert there["cpu_seconds"] == pytest.approx(here["cpu_seconds"], abs=2)
    assert psutil_fallback.machine_memory()[0] == proc.machine_memory()[0]
    assert psutil_fallback.busy_seconds() == pytest.approx(proc.busy_seconds(), rel=0.2)


def test_a_process_that_does_not_exist():
    assert psutil_fallback.find_process(NOBODY) is None
    assert psutil_fallback.process_figures(NOBODY) is None
    assert psutil_fallback.command_of(NOBODY) == []
    with pytest.raises(OSError, match="not found"):
        psutil_fallback.program_of(NOBODY)
    with pytest.raises(OSError, match="not found"):
        psutil_fallback.variable_of(NOBODY, "PATH")
