"""CPU quotas of control groups: which one applies, and for how long it has throttled a process."""

import asyncio
import sys

import pytest

from concwatch.commands.basics.lab import open_process
from concwatch.hosts.host import Host
from concwatch.measure.limited import limited_by
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import Settings
from concwatch.portable.machine import cpu_quota
from concwatch.portable.machine.cpu_quota import Throttling, throttled_seconds
from concwatch.portable.machine.process_reader import LINUX
from tests.host_driver import all_ended, cpu_group, eventually
from tests.lab_driver import ENGINES

PID = 4711

VERSION1 = "nr_periods 81\nnr_throttled 36\nthrottled_time {:.0f}\nnr_bursts 0\n"
VERSION2 = (
    "usage_usec 5000000\nuser_usec 1\nsystem_usec 1\nnr_periods 81\nnr_throttled 36\nthrottled_usec {:.0f}\n"
)


class CpuGroups:
    """Files of control groups and of one process, as the kernel has them."""

    def __init__(self, folder, version, monkeypatch):
        self.root, self.proc, self.version = folder / "fs", folder / "proc", version
        self.now = 0.0
        (self.proc / str(PID)).mkdir(parents=True)
        monkeypatch.setattr(cpu_quota, "monotonic", lambda: self.now)
        self.move("/")

    def folder(self, path):
        folder = self.root / ("cpu" if self.version == 1 else "") / path
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def move(self, path):
        """Move the process into a group."""
        line = f"3:memory:/\n4:cpu,cpuacct:{path}\n0::/\n" if self.version == 1 else f"0::{path}\n"
        (self.proc / str(PID) / "cgroup").write_text(line)

    def limit(self, path, cores):
        """Set the quota of a group; None for none."""
        folder, quota = self.folder(path), None if cores is None else round(cores * 100_000)
        if self.version == 1:
            (folder / "cpu.cfs_quota_us").write_text(f"{-1 if quota is None else quota}\n")
            (folder / "cpu.cfs_period_us").write_text("100000\n")
        else:
            (folder / "cpu.max").write_text(f"{'max' if quota is None else quota} 100000\n")

    def throttle(self, path, seconds):
        """Set for how long the kernel has throttled a group."""
        text = VERSION1.format(seconds * 1e9) if self.version == 1 else VERSION2.format(seconds * 1e6)
        (self.folder(path) / "cpu.stat").write_text(text)

    def reader(self):
        return Throttling(PID, str(self.root), str(self.proc))

    def read(self, reader, passing=1.0):
        """Let time pass, and return the quota and the throttled seconds."""
        self.now += passing
        fields = reader.fields()
        return fields["cpu_quota"], fields["throttled"]


@pytest.fixture(params=[1, 2])
def groups(request, tmp_path, monkeypatch):
    return CpuGroups(tmp_path, request.param, monkeypatch)


def near(cores, seconds):
    return cores, pytest.approx(seconds, abs=1e-6)


def test_the_throttled_time_is_that_of_the_group_with_the_tightest_quota(groups):
    for path, cores, seconds in (
        ("", None, 0),
        ("pod", 0.5, 7.25),
        ("pod/app", 2.0, 100),
        ("other", 0.1, 50),
    ):
        groups.limit(path, cores)
        groups.throttle(path, seconds)
    groups.move("/pod/app")
    reader = groups.reader()
    assert groups.read(reader) == (0.5, 0.0), "what was before is not counted"
    groups.throttle("pod", 8.0)
    groups.throttle("pod/app", 200)
    assert groups.read(reader) == near(0.5, 0.75)
    groups.throttle("pod", 9.5)
    assert groups.read(reader) == near(0.5, 2.25)


def test_without_a_quota_nothing_is_throttled_and_one_that_is_set_later_is_found(groups):
    groups.limit("app", None)
    groups.throttle("app", 3.0)
    groups.move("/app")
    reader = groups.reader()
    assert groups.read(reader) == (None, 0.0)
    groups.limit("app", 1.5)
    groups.read(reader, cpu_quota.SEARCH_INTERVAL)
    groups.throttle("app", 4.0)
    assert groups.read(reader) == near(1.5, 1.0)
    groups.limit("app", 0.25)
    groups.throttle("app", 5.0)
    assert groups.read(reader, cpu_quota.SEARCH_INTERVAL) == near(0.25, 2.0)
    groups.limit("app", None)
    assert groups.read(reader, cpu_quota.SEARCH_INTERVAL) == near(None, 2.0)


def test_the_throttled_time_goes_on_in_another_group(groups):
    for path, seconds in (("a", 100.0), ("b", 1.0)):
        groups.limit(path, 1.0 if path == "a" else 0.5)
        groups.throttle(path, seconds)
    groups.move("/a")
    reader = groups.reader()
    groups.throttle("a", 101.5)
    assert groups.read(reader) == near(1.0, 1.5)
    groups.move("/b")
    assert groups.read(reader, cpu_quota.SEARCH_INTERVAL) == near(0.5, 1.5)
    groups.throttle("b", 1.25)
    assert groups.read(reader) == near(0.5, 1.75)


def test_where_no_control_group_can_be_read_it_is_unknown(groups):
    reader = groups.reader()
    groups.move("/nowhere")
    assert groups.read(reader) == (None, None)
    assert Throttling(PID + 1, str(groups.root), str(groups.proc)).fields() == {
        "cpu_quota": None,
        "throttled": None,
    }


def test_a_group_without_throttled_time_has_none():
    assert throttled_seconds("usage_usec 5\nnr_periods 3\n") is None
    assert throttled_seconds("") is None


def test_other_systems_have_no_reader(monkeypatch):
    monkeypatch.setattr(cpu_quota, "LINUX", False)
    assert cpu_quota.throttling_of(PID) is None


@pytest.mark.real
@pytest.mark.skipif(not LINUX, reason="only Linux has control groups")
async def test_a_worker_that_is_throttled_says_so():
    with cpu_group(0.1) as prefix:
        engine = ENGINES["asyncio"].on(Host("small", prefix, sys.executable))
        lab = Lab([engine], settings=Settings("sleep:0.02"), open_link=open_process)
        run = asyncio.create_task(lab.run())
        (lane,) = lab.lanes
        try:
            lab.set_target(lane, 2_000)  # far more than a tenth of a core can start again and again
            limit = "CPU quota (0.1 cores): throttled for "
            await eventually(
                lambda: (limited_by(lab.snapshot().lanes[0], lab.snapshot()) or "").startswith(limit),
                lambda: (lane.sample, lab.events.since(0)),
            )
            assert lane.worker.status.cpu_quota == 0.1
            assert lane.sample.throttled > 0.1
        finally:
            run.cancel()
            await lab.close()
            if lane.worker.stats.ready is not None:
                await all_ended(lane.worker.stats.ready.pid)
