"""The two readers of processes and machine, psutil here and ``/proc`` on hosts, say the same."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from concwatch.links.program import Program
from concwatch.monitor.workers.catalog import CATALOG
from concwatch.portable.bridge.injection import python_version
from concwatch.portable.bridge.machine_report import host_report
from concwatch.portable.machine import machine_reader, process_reader, processes
from concwatch.system import by_psutil
from concwatch.system.child import ROOT
from concwatch.system.machine import cores, load_now
from concwatch.system.memory import memory_now
from concwatch.system.process import ProcFigures, Sampler
from tests.worker_driver import running_lab, until

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="compares with /proc"),
]

NOBODY = 1 << 22
"""The first pid that Linux never gives to a process."""

BUSY = """
import subprocess, sys, threading, time
child = subprocess.Popen(["sleep", "600"])
for _ in range(6):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
held, until = b"x" * (40 << 20), time.process_time() + 0.3
while time.process_time() < until: pass
print(child.pid, flush=True)
sys.stdin.read()
"""
"""A process with threads, a child, memory and used CPU time, at rest once it has printed the child's pid."""

CALM = {"MALLOC_ARENA_MAX": "1", "its name": "the value", "empty": ""}

PROGRAM = os.path.realpath(sys.executable)

GONE = re.compile("not found|No such")

TABLES = [processes, by_psutil]


@pytest.fixture
def program():
    """A process at rest, with an argument that has spaces; and its child."""
    with subprocess.Popen(
        [sys.executable, "-c", BUSY, "two words", ""],
        env={**os.environ, **CALM},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as started:
        child = int(started.stdout.readline())
        yield started.pid, child
        started.stdin.close()
        os.kill(child, signal.SIGKILL)


async def rests(pid):
    await until(lambda: processes.find_process(pid).state == "S", "the process waits for its input")


async def test_both_read_the_same_figures_of_a_process(program):
    pid, _ = program
    await rests(pid)
    here, there = by_psutil.PsutilFigures(pid), ProcFigures(pid)
    ours, theirs = here.read(time.monotonic()), there.read(time.monotonic())
    # The kernel counts pages for each thread or CPU apart, and adds them up now and then.
    assert ours["rss"] == pytest.approx(theirs["rss"], abs=1 << 20)
    assert ours["rss"] > 40 << 20
    assert ours["virtual"] == theirs["virtual"]
    assert ours["threads"] == theirs["threads"] == 7
    # One adds user and system time as numbers of seconds, the other as clock ticks.
    assert ours["cpu_seconds"] == pytest.approx(theirs["cpu_seconds"])
    assert ours["cpu_seconds"] > 0.25
    assert here.started() == pytest.approx(there.started(), abs=0.02)
    assert process_reader.process_figures(pid) == theirs
    only_in_proc = {"kernel_stack", "page_tables", "anonymous", "shared"}
    assert theirs.keys() - ours.keys() == only_in_proc
    assert ours.keys() <= theirs.keys()
    readings = [Sampler(pid, figures=reader).read() for reader in (here, there)]
    assert readings[0].cpu == readings[1].cpu == 0
    assert [each.kernel_stack is None for each in readings] == [True, False]


async def test_both_find_the_same_processes(program):
    pid, child = program
    await rests(pid)
    for table in TABLES:
        found = table.find_process(pid)
        assert (found.pid, found.parent, found.group) == (pid, os.getpid(), os.getpgrp())
        assert (found.user, found.state) == (os.geteuid(), "S")
        assert {pid, child} <= set(table.pids())
        assert table.children_of([pid]) == {child}
        assert {pid, child} <= table.children_of([os.getpid()])
        assert table.command_of(pid) == [sys.executable, "-c", BUSY, "two words", ""]
        assert table.program_of(pid) == PROGRAM
        assert table.variable_of(pid, "its name") == "the value"
        assert table.variable_of(pid, "empty") == ""
        assert table.variable_of(pid, "no such variable") is None
        assert python_version(pid, table) == sys.version_info[:2]


@pytest.fixture
def sleeps():
    with subprocess.Popen(["sleep", "600"]) as started:
        yield started
        started.kill()


async def test_both_tell_a_stopped_and_an_ended_process(sleeps):
    known = by_psutil.running(sleeps.pid)
    sleeps.send_signal(signal.SIGSTOP)
    for table in TABLES:
        await until(lambda table=table: table.find_process(sleeps.pid).state == "T", "stopped")
    assert by_psutil.PsutilFigures(sleeps.pid).read(0.0)["state"] == "T"
    assert by_psutil.is_running(known)
    sleeps.kill()
    for table in TABLES:  # it waits to be reaped
        await until(lambda table=table: table.find_process(sleeps.pid) is None, "ended")
    assert not by_psutil.is_running(known)
    assert by_psutil.running(sleeps.pid) is None


def test_both_know_nothing_of_a_process_that_does_not_exist():
    for table in TABLES:
        assert table.find_process(NOBODY) is None
        assert table.find_process(-1) is None
        assert table.command_of(NOBODY) == []
        assert table.children_of([NOBODY]) == set()
        assert table.mapped_files(NOBODY) == []
        with pytest.raises(OSError, match=GONE):
            table.program_of(NOBODY)
        with pytest.raises(OSError, match=GONE):
            table.variable_of(NOBODY, "PATH")
    for reader in (by_psutil.PsutilFigures, ProcFigures):
        with pytest.raises(OSError, match=GONE):
            reader(NOBODY)


def test_both_read_the_same_machine():
    (total, available), (their_total, their_available) = (
        by_psutil.machine_memory(),
        machine_reader.machine_memory(),
    )
    assert total == their_total
    assert available == pytest.approx(their_available, rel=0.2)
    before = machine_reader.busy_seconds() - 0.001  # psutil adds up seconds, not clock ticks
    assert before < by_psutil.busy_seconds() < machine_reader.busy_seconds() + 0.001
    assert load_now().busy > before
    assert cores() == host_report()["cores"]


WITHOUT_PROC = """
import asyncio, sys
import concwatch.links.process
from tests.system import test_by_psutil
for name, module in list(sys.modules.items()):
    if name.startswith("concwatch.") and hasattr(module, "LINUX"):
        module.LINUX = False
asyncio.run(test_by_psutil.{function}())
"""
"""Lets this side read everything by psutil, as on macOS, in a process that has read nothing yet."""


@pytest.mark.parametrize("function", ["run_lab", "find_processes"])
def test_psutil_alone_is_enough(function):
    code = WITHOUT_PROC.format(function=function)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


async def run_lab():
    """Run a lab, and check its figures."""
    async with running_lab([engine for engine in CATALOG if engine.name == "threads"]) as lab:
        (lane,) = lab.lanes
        lab.set_target(lane, 50)
        await until(lambda: lane.live == 50, "tasks")
        await until(lambda: lane.worker.stats.reading, "figures of the worker")
        await until(lambda: lab.fleet.local.meter.own, "figures of concwatch")
        reading = lane.worker.stats.reading
        assert reading.threads >= 51
        assert reading.rss > 5 << 20
        assert reading.kernel is None
        assert lab.fleet.local.meter.own.rss > 20 << 20
        assert lab.snapshot().machine.total == memory_now().total > 0


async def find_processes():
    """Start a program, and find its processes."""
    program = Program(["sh", "-c", "sleep 600 & wait"], os.environ, background=True)
    try:
        await until(lambda: len(program.family()) == 2, "the shell and its child")
        assert program.pid in program.family()
        program.terminate()
        await until(lambda: program.status is not None, "the shell ends")
        (orphan,) = program.orphans()
        assert set(program.family()) == {orphan}
    finally:
        program.kill()
    await until(lambda: not program.family(), "all have ended")
