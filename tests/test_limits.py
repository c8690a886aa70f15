"""What this machine can hold: memory, control groups, and which wall comes first."""

from types import SimpleNamespace

import pytest

from concwatch.lab.catalog import find
from concwatch.lab.forecast import Fit, walls_of
from concwatch.lab.settings import Settings
from concwatch.system import memory, proc
from concwatch.system.memory import memory_now
from concwatch.system.walls import Wall, cgroup_folders

GIB = 1 << 30
THREADS, ASYNCIO = find(["threads", "asyncio"])


V2, NONE = "0::/app/worker\n", (16 * GIB, 12 * GIB, "memory")
NEVER = 9223372036854771712
"""What version 1 has for no limit."""


@pytest.mark.parametrize(
    ("own", "groups", "expected"),
    [
        (None, {}, NONE),
        (V2, {"app/worker": ("max", GIB, None)}, NONE),
        # The page cache that it would drop is taken off.
        (
            V2,
            {"app/worker": (2 * GIB, GIB, f"anon 5\ninactive_file {GIB // 2}")},
            (2 * GIB, 3 * GIB // 2, "cgroup memory"),
        ),
        # The tightest of those above binds.
        (
            V2,
            {"app/worker": ("max", GIB, None), "app": (3 * GIB, GIB, None)},
            (3 * GIB, 2 * GIB, "cgroup memory"),
        ),
        (
            "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n1:name=systemd:/y\n",
            {"memory/docker/abc": (4 * GIB, 2 * GIB, f"inactive_file 7\ntotal_inactive_file {GIB}")},
            (4 * GIB, 3 * GIB, "cgroup memory"),
        ),
        ("4:memory:/\n", {"memory": (NEVER, GIB, None)}, NONE),
        # More room than the machine has: it does not bind.
        ("0::/\n", {"": (15 * GIB, GIB, None)}, (15 * GIB, 12 * GIB, "memory")),
        # Over its limit: nothing is left.
        ("0::/\n", {"": (GIB, 2 * GIB, "broken")}, (GIB, 0, "cgroup memory")),
        # Lines and files that are broken are passed over.
        ("nonsense\n0::/app\n", {"app": ("a lot", 1, None)}, NONE),
    ],
)
def test_memory_is_what_the_machine_has_or_the_tightest_control_group(
    tmp_path, monkeypatch, own, groups, expected
):
    def folders(controller):
        return cgroup_folders(controller, str(tmp_path / "fs"), str(tmp_path / "own"))

    machine = SimpleNamespace(total=16 * GIB, available=12 * GIB)
    monkeypatch.setattr(memory.psutil, "virtual_memory", lambda: machine)
    monkeypatch.setattr(proc, "cgroup_folders", folders)
    if own:
        (tmp_path / "own").write_text(own)
    for path, texts in groups.items():
        folder = tmp_path / "fs" / path
        folder.mkdir(parents=True, exist_ok=True)
        first = path.startswith("memory")
        names = (
            ("memory.limit_in_bytes", "memory.usage_in_bytes") if first else ("memory.max", "memory.current")
        )
        for name, text in zip((*names, "memory.stat"), texts, strict=True):
            if text is not None:
                (folder / name).write_text(f"{text}\n")
    found = memory_now()
    assert (found.total, found.available, found.bound) == expected
    assert (found.group is None) == (found.bound == "memory")


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
