"""What this machine can hold: memory, control groups, and which wall comes first."""

from types import SimpleNamespace

import pytest

from concwatch.lab.catalog import find
from concwatch.lab.forecast import Fit, walls_of
from concwatch.lab.settings import Settings
from concwatch.system import memory
from concwatch.system.memory import memory_now
from concwatch.system.walls import Wall, cgroup_folders

GIB = 1 << 30
THREADS, ASYNCIO = find(["threads", "asyncio"])


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine of 16 GiB, 12 of them available, whose control groups are folders below ``tmp_path``."""
    own = tmp_path / "cgroup"
    monkeypatch.setattr(
        memory.psutil, "virtual_memory", lambda: SimpleNamespace(total=16 * GIB, available=12 * GIB)
    )
    monkeypatch.setattr(
        memory,
        "cgroup_folders",
        lambda controller: cgroup_folders(controller, str(tmp_path / "fs"), str(own)),
    )

    def group(path, **files):
        folder = tmp_path / "fs" / path
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name.replace("__", ".")).write_text(f"{text}\n")

    return SimpleNamespace(own=own, group=group)


def test_without_control_groups_the_machine_itself_binds(machine):
    memory = memory_now()
    assert (memory.total, memory.available, memory.bound) == (16 * GIB, 12 * GIB, "memory")


def test_a_version_2_group_binds_with_the_page_cache_it_would_drop_taken_off(machine):
    machine.own.write_text("0::/app/worker\n")
    machine.group(
        "app/worker",
        memory__max=2 * GIB,
        memory__current=GIB,
        memory__stat=f"anon 5\ninactive_file {GIB // 2}",
    )
    memory = memory_now()
    assert (memory.total, memory.available, memory.bound) == (2 * GIB, 3 * GIB // 2, "cgroup memory")


def test_the_tightest_group_above_binds(machine):
    machine.own.write_text("0::/app/worker\n")
    machine.group("app/worker", memory__max="max", memory__current=GIB)
    machine.group("app", memory__max=3 * GIB, memory__current=GIB)
    memory = memory_now()
    assert (memory.total, memory.available, memory.bound) == (3 * GIB, 2 * GIB, "cgroup memory")
    assert memory.group.endswith("/fs/app")


def test_a_version_1_group_binds_by_its_memory_controller(machine):
    machine.own.write_text("5:cpu,cpuacct:/x\n4:memory:/docker/abc\n1:name=systemd:/y\n")
    machine.group(
        "memory/docker/abc",
        memory__limit_in_bytes=4 * GIB,
        memory__usage_in_bytes=2 * GIB,
        memory__stat=f"inactive_file 7\ntotal_inactive_file {GIB}",
    )
    memory = memory_now()
    assert (memory.total, memory.available, memory.bound) == (4 * GIB, 3 * GIB, "cgroup memory")


def test_a_version_1_group_without_a_limit_does_not_bind(machine):
    machine.own.write_text("4:memory:/\n")
    machine.group("memory", memory__limit_in_bytes=9223372036854771712, memory__usage_in_bytes=GIB)
    assert memory_now().bound == "memory"


def test_a_group_with_more_room_than_the_machine_does_not_bind(machine):
    machine.own.write_text("0::/\n")
    machine.group("", memory__max=15 * GIB, memory__current=GIB)
    memory = memory_now()
    assert (memory.total, memory.available, memory.bound) == (15 * GIB, 12 * GIB, "memory")


def test_a_group_over_its_limit_leaves_nothing(machine):
    machine.own.write_text("0::/\n")
    machine.group("", memory__max=GIB, memory__current=2 * GIB, memory__stat="broken")
    assert memory_now().available == 0


def test_lines_and_files_that_are_broken_are_passed_over(machine):
    machine.own.write_text("nonsense\n0::/app\n")
    machine.group("app", memory__max="a lot", memory__current=1)
    assert memory_now().bound == "memory"


def test_this_machine_has_memory():
    memory = memory_now()
    assert 0 < memory.available <= memory.total


def test_the_first_wall_is_the_one_with_the_fewest_threads_left():
    walls = [
        Wall("vm.max_map_count", 65_530, 130),
        Wall("pid_max", 32_768, 768),
        Wall("threads-max", 190_000, 768),
    ]
    assert walls_of(THREADS, Settings(), walls) == (Fit(21_800, "vm.max_map_count"),)
    assert walls_of(THREADS, Settings(), walls[1:]) == (Fit(32_000, "pid_max"),)
    assert walls_of(ASYNCIO, Settings(), walls) == ()


def test_a_wall_that_is_passed_already_leaves_none():
    walls = [Wall("cgroup pids.max", 100, 120)]
    assert walls_of(THREADS, Settings(), walls) == (Fit(0, "cgroup pids.max"),)
