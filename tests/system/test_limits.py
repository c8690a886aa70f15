"""Memory and limits on threads as reported by the system, and the limit that was hit."""

import os
import sys
from unittest.mock import Mock

import pytest

from concwatch.monitor.lanes.forecast import limit_fits
from concwatch.monitor.metrics.fit import Fit
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.workers.catalog import find_engines
from concwatch.portable.machine import limits, machine_reader
from concwatch.portable.machine.limits import SystemLimit, cgroup_folders, limit_hit
from concwatch.portable.worker.engines.base import BaseEngine
from concwatch.system import memory
from concwatch.system.memory import memory_now

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux reports all its limits"
)
GIB = 1 << 30

V2, GROUP, MACHINE = "0::/app/worker\n", "cgroup memory", (16 * GIB, 12 * GIB, "memory")
NEVER = 9223372036854771712
"""No limit in version 1 of control groups."""


@pytest.mark.parametrize(
    ("own", "groups", "expected"),
    [
        (None, {}, MACHINE),
        (V2, {"app/worker": ("max", GIB, None)}, MACHINE),
        # The page cache that can be dropped does not count.
        (
            V2,
            {"app/worker": (2 * GIB, GIB, f"a 5\ninactive_file {GIB // 2}")},
            (2 * GIB, 3 * GIB // 2, GROUP),
        ),
        # The tightest group of the hierarchy applies.
        (V2, {"app/worker": ("max", GIB, None), "app": (3 * GIB, GIB, None)}, (3 * GIB, 2 * GIB, GROUP)),
        (
            "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n1:name=systemd:/y\n",
            {"memory/docker/abc": (4 * GIB, 2 * GIB, f"inactive_file 7\ntotal_inactive_file {GIB}")},
            (4 * GIB, 3 * GIB, GROUP),
        ),
        ("4:memory:/\n", {"memory": (NEVER, GIB, None)}, MACHINE),
        # A limit beyond the memory of the machine does not apply.
        ("0::/\n", {"": (15 * GIB, GIB, None)}, (15 * GIB, 12 * GIB, "memory")),
        # Over its limit, nothing is left.
        ("0::/\n", {"": (GIB, 2 * GIB, "broken")}, (GIB, 0, GROUP)),
        # Invalid lines and files are skipped.
        ("nonsense\n0::/app\n", {"app": ("a lot", 1, None)}, MACHINE),
    ],
)
def test_memory_is_that_of_the_machine_or_of_the_tightest_control_group(
    tmp_path, monkeypatch, own, groups, expected
):
    def folders(controller):
        return cgroup_folders(controller, str(tmp_path / "fs"), str(tmp_path / "own"))

    monkeypatch.setattr(memory, "machine_memory", lambda: (16 * GIB, 12 * GIB))
    monkeypatch.setattr(machine_reader, "cgroup_folders", folders)
    if own:
        (tmp_path / "own").write_text(own)
    for path, texts in groups.items():
        folder = tmp_path / "fs" / path
        folder.mkdir(parents=True, exist_ok=True)
        names = ("memory.max", "memory.current")
        if path.startswith("memory"):  # version 1
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
        for name, text in zip((*names, "memory.stat"), texts, strict=True):
            if text is not None:
                (folder / name).write_text(f"{text}\n")
    found = memory_now()
    assert (found.total, found.available, found.bound) == expected
    assert (found.group is None) == (found.bound == "memory")


def test_memory_and_limits_of_this_machine_are_plausible():
    memory = memory_now()
    assert 0 < memory.available <= memory.total
    found = {limit.name: limit for limit in limits.system_limits()}
    assert {"vm.max_map_count", "pid_max", "threads-max"} <= set(found)
    assert 0 < found["vm.max_map_count"].used < found["vm.max_map_count"].value
    assert 0 < found["pid_max"].used <= found["pid_max"].value
    other = {limit.name: limit for limit in limits.system_limits(str(os.getppid()))}
    assert other["vm.max_map_count"].value == found["vm.max_map_count"].value


@pytest.mark.parametrize(
    ("engine", "found", "expected"),
    [
        (
            "threads",
            [("vm.max_map_count", 65_530, 130), ("pid_max", 32_768, 768)],
            (Fit(21_800, "vm.max_map_count"),),
        ),
        ("threads", [("pid_max", 32_768, 768), ("threads-max", 190_000, 768)], (Fit(32_000, "pid_max"),)),
        ("threads", [("vm.max_map_count", 65_530, 245)], (Fit(21_700, "vm.max_map_count"),)),
        ("threads", [("cgroup pids.max", 100, 120)], (Fit(0, "cgroup pids.max"),)),
        ("asyncio", [("pid_max", 32_768, 768)], ()),
    ],
)
def test_tasks_that_are_threads_are_bounded_by_the_limit_with_the_fewest_left(engine, found, expected):
    assert (
        limit_fits(find_engines([engine])[0], Settings(), [SystemLimit(*limit) for limit in found])
        == expected
    )


MAPS = ("vm.max_map_count", 65_530, 65_500)
ROOMY = [("pid_max", 32_768, 22_400), ("threads-max", 190_000, 22_400), ("cgroup pids.max", 100_000, 5)]
MAPS_FOR_100 = ("vm.max_map_count", 65_530, 65_530 - 300)  # a thread needs three


@pytest.mark.parametrize(
    ("found", "named"),
    [
        ([MAPS, *ROOMY], "vm.max_map_count"),
        ([*ROOMY, ("ulimit -u", 22_400, 22_401)], "ulimit -u"),
        ([("cgroup pids.max", 500, 500), *ROOMY], "cgroup pids.max"),
        ([MAPS_FOR_100, ("pid_max", 32_768, 32_768 - 110)], "vm.max_map_count"),
        ([MAPS_FOR_100, ("pid_max", 32_768, 32_768 - 90)], "pid_max"),
        # A limit counts as hit with a few left, since other threads may have ended meanwhile.
        ([("pid_max", 400, 400 - 64)], "pid_max"),
        ([("pid_max", 400, 400 - 65)], "unknown"),
        ([("pid_max", 100_000, 99_000)], "pid_max"),
        ([("pid_max", 100_000, 98_999)], "unknown"),
        (ROOMY, "unknown"),
        ([], "unknown"),
    ],
)
def test_the_limit_with_the_fewest_threads_left_is_reported(monkeypatch, found, named):
    monkeypatch.setattr(limits, "system_limits", lambda pid: [SystemLimit(*limit) for limit in found])
    assert limit_hit() == (named, {name: value for name, value, _ in reversed(found)}.get(named))


def test_missing_and_unlimited_control_groups_are_skipped(monkeypatch, tmp_path):
    folders = [tmp_path / name for name in ("bounded", "unlimited", "missing")]
    for folder, text in zip(folders, ("1234\n", "max\n"), strict=False):
        folder.mkdir()
        (folder / "pids.max").write_text(text)
        (folder / "pids.current").write_text("7\n")
    monkeypatch.setattr(limits, "cgroup_folders", lambda _: [*map(str, folders)])
    (limit,) = [limit for limit in limits.system_limits() if limit.name == "cgroup pids.max"]
    assert (limit.value, limit.used) == (1234, 7)


def test_the_limit_per_user_applies_to_users_without_privileges(monkeypatch):
    def bound(user, caps="0", namespace=limits.FIRST_USER_NAMESPACE):
        monkeypatch.setattr(limits.os, "getuid", lambda: user)
        monkeypatch.setattr(limits, "_link", lambda path: namespace)
        monkeypatch.setattr(limits, "read_fields", lambda path: {"CapEff": caps})
        return limits._bound_as_user()

    assert not bound(0)
    assert bound(1000)
    assert not bound(1000, f"{1 << 24:x}")
    assert bound(1000, f"{1 << 1:x}")
    # In a user namespace the user outside of it counts, according to the map of this process.
    assert not bound(0, namespace="user:[1]")
    assert bound(1000, namespace="user:[1]")


def test_limits_on_virtual_memory_limit_threads_by_their_stacks(monkeypatch, tmp_path):
    values = {"RLIMIT_AS": 2 << 30, "RLIMIT_STACK": 8 << 20}
    monkeypatch.setattr(limits, "process_limits", lambda name: (values.get(name), None))
    monkeypatch.setattr(
        limits, "read_number", lambda path: 2 if path == "/proc/sys/vm/overcommit_memory" else None
    )
    files = {
        "/proc/meminfo": {"CommitLimit": f"{4 << 20} kB", "Committed_AS": f"{1 << 20} kB"},
        "/proc/self/status": {"VmSize": f"{1 << 20} kB"},
    }
    monkeypatch.setattr(limits, "read_fields", files.__getitem__)
    monkeypatch.setattr(limits, "_arenas_to_come", lambda threads: 0)
    found = {limit.name: limit for limit in limits.system_limits()}
    assert found["ulimit -v memory"].threads == (1 << 30) // (8 << 20)
    assert found["memory commit limit"].threads == (3 << 30) // (8 << 20)


def test_each_of_the_first_threads_needs_an_arena(monkeypatch):
    monkeypatch.setattr(limits.os, "confstr", lambda name: "glibc 2.36")
    monkeypatch.setattr(limits.os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    assert [limits._arenas_to_come(threads) for threads in (1, 3, 16, 500)] == [15, 13, 0, 0]
    monkeypatch.setenv("MALLOC_ARENA_MAX", "4")
    assert limits._arenas_to_come(1) == 3
    monkeypatch.setattr(limits.os, "confstr", Mock(side_effect=ValueError))
    assert limits._arenas_to_come(1) == 0


def test_limits_are_unknown_on_other_systems_than_linux(monkeypatch):
    monkeypatch.setattr(limits.sys, "platform", "darwin")
    assert limits.system_limits() == []
    assert limit_hit() == ("unknown", None)


@pytest.mark.parametrize(
    ("short", "named"),
    [(0, ("vm.max_map_count", 65_530)), (1, ("vm.max_map_count", 65_530)), (9, ("memory", None))],
)
def test_a_limit_is_reported_even_without_memory_to_determine_it(monkeypatch, short, named):
    """The first ``short`` attempts fail, as other threads use up the memory."""
    results = [*[MemoryError()] * short, ("vm.max_map_count", 65_530)]
    monkeypatch.setattr(limits, "limit_hit", Mock(side_effect=results))
    reports = []
    engine = BaseEngine(lambda report, **fields: reports.append((report, fields)), collector=None)
    engine.tracker.set_target(1_000, engine.counts, 0.0)
    engine.limits.hit(RuntimeError("can't start new thread"))
    ((report, fields),) = reports
    assert (report, (fields["wall"], fields["value"])) == ("limit", named)
    assert engine.reserve.held is not bool(short)


def test_memory_that_cannot_be_read_is_not_treated_as_used_up(monkeypatch):
    budget = memory.MemoryBudget(None)
    monkeypatch.setattr(machine_reader, "read_fields", lambda path: {})  # as if no file could be opened
    with pytest.raises(OSError, match="cannot be read"):
        memory_now()
    budget.update(0)
    assert not budget.nearly_gone
