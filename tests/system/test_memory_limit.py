"""The memory limit of a process's control groups."""

import os
import time

import psutil
import pytest

from concwatch.portable.machine import memory_limit
from concwatch.portable.machine.memory_limit import READ_INTERVAL, MemoryLimit
from concwatch.portable.machine.process_reader import LINUX
from concwatch.system.process import Sampler

PID = 4711
MIB = 1 << 20


class MemoryGroups:
    """Files of control groups and of one process, as the kernel has them."""

    def __init__(self, folder, version, monkeypatch):
        self.root, self.proc, self.version = folder / "fs", folder / "proc", version
        self.now = 0.0
        (self.proc / str(PID)).mkdir(parents=True)
        line = "3:memory:/pod/app\n0::/\n" if version == 1 else "0::/pod/app\n"
        (self.proc / str(PID) / "cgroup").write_text(line)
        monkeypatch.setattr(memory_limit, "monotonic", lambda: self.now)

    def set(self, path, limit, used, cache=0):
        """Set the limit of a group, None for none, and what it uses, of which some is cache."""
        folder = self.root / ("memory" if self.version == 1 else "") / path
        folder.mkdir(parents=True, exist_ok=True)
        names = {1: ("limit_in_bytes", "usage_in_bytes", "total_inactive_file", 9223372036854771712)}
        limit_name, usage, inactive, unlimited = names.get(
            self.version, ("max", "current", "inactive_file", "max")
        )
        (folder / f"memory.{limit_name}").write_text(f"{unlimited if limit is None else limit}\n")
        (folder / f"memory.{usage}").write_text(f"{used}\n")
        (folder / "memory.stat").write_text(f"anon 1\n{inactive} {cache}\n")

    def reader(self):
        return MemoryLimit(PID, str(self.root), str(self.proc))


@pytest.fixture(params=[1, 2])
def groups(request, tmp_path, monkeypatch):
    return MemoryGroups(tmp_path, request.param, monkeypatch)


def test_the_limit_that_leaves_the_least_counts_without_cache_that_is_dropped(groups):
    groups.set("pod/app", 512 * MIB, 300 * MIB, 200 * MIB)
    groups.set("pod", 1024 * MIB, 1000 * MIB)
    assert groups.reader().fields() == {"memory_limit": 1024 * MIB, "memory_used": 1000 * MIB}


def test_without_a_limit_neither_is_known(groups):
    groups.set("pod/app", None, 300 * MIB)
    groups.set("pod", None, 300 * MIB)
    assert groups.reader().fields() == {"memory_limit": None, "memory_used": None}


def test_it_is_read_seldom(groups):
    groups.set("pod/app", 512 * MIB, 300 * MIB)
    reader = groups.reader()
    reader.fields()
    groups.set("pod/app", 512 * MIB, 500 * MIB)
    assert reader.fields()["memory_used"] == 300 * MIB
    groups.now += 60 * READ_INTERVAL  # however long the reading took
    assert reader.fields()["memory_used"] == 500 * MIB


@pytest.mark.skipif(not LINUX, reason="needs /proc")
def test_the_start_of_a_process_is_known():
    started = Sampler().read().started
    # The system tells the start of the machine in whole seconds.
    assert abs(started - psutil.Process(os.getpid()).create_time()) < 1.5
    assert started < time.time()
