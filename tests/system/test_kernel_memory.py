"""Kernel memory of a process: kernel stacks, page tables, and objects from its control group or estimated."""

import glob
import os
import signal
import statistics
import subprocess
import sys
import threading

import pytest

from concwatch.portable.machine import control_group, kernel_memory
from concwatch.portable.machine.calibration import Calibration
from concwatch.portable.machine.control_group import (
    PREFIX,
    ControlGroup,
    GroupObjects,
    WorkerGroups,
    suitable_parents,
)
from concwatch.portable.machine.kernel_memory import EstimatedObjects, ObjectSizes, kernel_stack_size
from concwatch.portable.machine.process_reader import memory_figures, process_figures
from concwatch.system.child import ROOT
from tests.browser import until

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="read from Linux's /proc")

FIGURES = {"threads": 10, "kernel_stack": 10 << 14, "page_tables": 50_000}
USAGE, TCP = "memory.kmem.usage_in_bytes", "memory.kmem.tcp.usage_in_bytes"


def tree(folder, files):
    """Write files, given by their paths below ``folder``."""
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


# Figures of a process.


def test_a_kernel_stack_is_a_power_of_two_of_pages():
    pages, rest = divmod(kernel_stack_size(), os.sysconf("SC_PAGE_SIZE"))
    assert rest == 0
    assert pages in (1, 2, 4, 8, 16)


def test_kernel_stacks_and_page_tables_are_read_from_the_status_of_a_process():
    status = "Name:\tx\nVmSize:\t 8 kB\nVmHWM:\t 7 kB\nVmRSS:\t 6 kB\nVmPTE:\t 44 kB\nThreads:\t3\n"
    found = memory_figures(status)
    assert (found["page_tables"], found["kernel_stack"]) == (44 << 10, 3 * kernel_stack_size())
    own = process_figures(os.getpid())
    assert own["kernel_stack"] >= threading.active_count() * kernel_stack_size() > 0
    assert own["page_tables"] >= 4096


def test_estimated_objects_grow_with_threads_and_open_files(monkeypatch):
    files = [100]
    monkeypatch.setattr(kernel_memory, "_open_files", lambda folder: files[0])
    monkeypatch.setattr(kernel_memory, "monotonic", lambda: 0.0)
    known = []
    objects = EstimatedObjects(1, lambda: known[0] if known else None)
    assert objects.fields(FIGURES) == {"kernel_objects": None, "objects_known": "estimated"}
    known.append(ObjectSizes(7_000.0, 2_500.0))
    assert objects.at(FIGURES) == 10 * 7_000 + 100 * 2_500
    files[0] = 200
    assert objects.at({**FIGURES, "threads": 20}) == 20 * 7_000 + 100 * 2_500, "not counted at each reading"
    monkeypatch.setattr(kernel_memory, "monotonic", lambda: 100.0)
    assert objects.at(FIGURES) == 10 * 7_000 + 200 * 2_500


@pytest.mark.real
def test_calibration_measures_a_thread_and_a_socket_in_a_process_of_its_own():
    calibration = Calibration(str(ROOT))
    assert calibration.sizes() is None, "it never waits"
    until(calibration.sizes, "the sizes")
    sizes = calibration.sizes()
    assert calibration.sizes() is sizes
    # It reads the whole machine's memory, of which other tests may free much at the same time.
    others = [Calibration(str(ROOT)) for _ in range(2)]
    found = [sizes, *(until(other.sizes, "the sizes") for other in others)]
    assert 1_000 < statistics.median(each.thread for each in found) < 40_000
    assert 500 < statistics.median(each.socket for each in found) < 20_000


@pytest.mark.real
@pytest.mark.parametrize("program", ["/no/such/program", "/bin/false"])
def test_a_calibration_that_fails_leaves_the_sizes_unknown(program, monkeypatch):
    started = []
    popen = subprocess.Popen
    monkeypatch.setattr(sys, "executable", program)
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: started.append(popen(*a, **k)) or started[-1])
    calibration = Calibration(str(ROOT))
    assert calibration.sizes() is None
    for process in started:
        process.wait(60)
    assert (calibration.sizes(), calibration.sizes()) == (None, None)
    assert len(started) <= 1, "it is not tried again"


# Control groups: which group they are made in.


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        # Version 1: below the own one, limited or not.
        ("4:memory:/app\n", {f"memory/app/{USAGE}": "5\n"}, ["memory/app"]),
        # Version 2: beside the own one, if that has no limits.
        (
            "0::/user/app\n",
            {"user/cgroup.subtree_control": "memory pids\n", "user/app/memory.max": "max\n"},
            ["user"],
        ),
        ("0::/user/app\n", {"user/cgroup.subtree_control": "memory\n", "user/app/memory.max": "1000\n"}, []),
        (
            "0::/user/app\n",
            {"user/cgroup.subtree_control": "memory\n", "user/app/cpu.max": "50000 100000\n"},
            [],
        ),
        ("0::/user/app\n", {"user/cgroup.subtree_control": "pids\n", "user/app/memory.max": "max\n"}, []),
        ("nonsense\n", {}, []),
    ],
)
def test_a_group_is_made_where_no_limit_is_escaped(tmp_path, own, files, expected):
    tree(tmp_path / "fs", files)
    (tmp_path / "own").write_text(own)
    found = suitable_parents(str(tmp_path / "fs"), str(tmp_path / "own"))
    assert found == [str(tmp_path / "fs" / folder) for folder in expected]


def test_without_a_suitable_parent_there_is_no_group(tmp_path):
    assert WorkerGroups([]).add(1) is None
    assert WorkerGroups([str(tmp_path / "gone")]).add(1) is None


# What a group counts.


@pytest.fixture
def fake_group(tmp_path, monkeypatch):
    """Return a function that creates a control group with these files, as the kernel would."""
    mkdir = os.mkdir

    def create(files):
        def populate(folder):
            mkdir(folder)
            for name, text in files.items():
                (tmp_path / "group" / name).write_text(text)

        monkeypatch.setattr(control_group.os, "mkdir", populate)
        return ControlGroup(str(tmp_path / "group"), 4242)

    return create


def set_kernel(tmp_path, name, text):
    (tmp_path / "group" / name).write_text(text)


def test_version_1_adds_kernel_memory_and_socket_buffers(fake_group, tmp_path):
    group = fake_group({USAGE: "70000\n", TCP: "5000\n", "cgroup.procs": ""})
    assert (group.kernel, group.cheap) == (75_000, True)
    assert (tmp_path / "group" / "cgroup.procs").read_text() == "4242"


def test_version_2_adds_the_kernel_fields_of_its_statistics(fake_group):
    text = "anon 99\nkernel_stack 100\npagetables 20\nslab 3000\nsock 400\nfile 7\n"
    group = fake_group({"memory.stat": text, "cgroup.procs": ""})
    assert (group.kernel, group.cheap) == (3_520, False)


def test_objects_are_what_a_group_counts_beside_stacks_and_page_tables(fake_group, tmp_path):
    group = fake_group({USAGE: "300000\n", "cgroup.procs": ""})
    objects = GroupObjects(group, FIGURES)
    assert objects.at(FIGURES) == 0, "what it had before it joined is not counted"
    more = {"threads": 110, "kernel_stack": 110 << 14, "page_tables": 450_000}
    set_kernel(tmp_path, USAGE, f"{300_000 + (100 << 14) + 400_000 + 700_000}\n")
    assert objects.fields(more) == {"kernel_objects": 700_000, "objects_known": "control group"}
    set_kernel(tmp_path, USAGE, "0\n")
    assert objects.at(more) == 0, "never negative"


def test_a_group_without_figures_is_removed_and_reported(fake_group, tmp_path):
    with pytest.raises(OSError, match="No such file"):
        fake_group({})
    assert not (tmp_path / "group").exists()


# Real groups.

needs_groups = pytest.mark.skipif(
    os.name != "posix"
    or not suitable_parents()
    or not os.access(suitable_parents()[0], os.W_OK)
    or not hasattr(os, "geteuid")
    or os.geteuid() != 0,
    reason="no control group can be made here",
)

OWNER = """
import subprocess, sys, time
from concwatch.portable.machine.control_group import WorkerGroups
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
group = WorkerGroups().add(child.pid)
print(open(f"/proc/{child.pid}/cgroup").read().count("concwatch-"), group.kernel, flush=True)
time.sleep(600)
"""


@pytest.mark.real
@needs_groups
def test_the_folder_is_removed_with_the_last_group_and_made_again():
    groups = WorkerGroups()
    folders = []
    for _ in range(2):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        group = groups.add(child.pid)
        (folder,) = glob.glob(f"{suitable_parents()[0]}/{PREFIX}{os.getpid()}-*")
        folders.append(folder)
        child.communicate(b"\n")
        group.remove()
        until(lambda folder=folder: not os.path.exists(folder), "the folder to be removed")
    assert folders[0] != folders[1]


@pytest.mark.real
@needs_groups
def test_the_groups_of_a_process_that_is_killed_are_removed():
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        moved, kernel = owner.stdout.readline().split()
        assert (moved, kernel.isdigit()) == ("1", True)
        (folder,) = glob.glob(f"{suitable_parents()[0]}/{PREFIX}{owner.pid}-*")
        assert os.path.isdir(folder)
    finally:
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        owner.stdout.close()
    until(lambda: not os.path.exists(folder), "the folder to be removed")
