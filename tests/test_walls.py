"""Walls: which limit refused the last thread, from faked figures; real ones: faults/walls.py."""

import os
import sys

import pytest

from concwatch.system import walls
from concwatch.system.walls import Wall, wall_hit
from concwatch.worker.engines.base import Engine

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux tells all its limits"
)


def wall_of(monkeypatch, *found):
    monkeypatch.setattr(walls, "thread_walls", lambda pid: [Wall(*wall) for wall in found])
    return wall_hit()


MAPS = ("vm.max_map_count", 65_530, 65_500)
ROOMY = [("pid_max", 32_768, 22_400), ("threads-max", 190_000, 22_400), ("cgroup pids.max", 100_000, 5)]


def test_free_is_what_is_left_and_never_less_than_nothing():
    assert Wall("pid_max", 100, 30).free == 70
    assert Wall("pid_max", 100, 130).free == 0


def test_the_wall_with_the_least_room_is_named(monkeypatch):
    assert wall_of(monkeypatch, MAPS, *ROOMY) == ("vm.max_map_count", 65_530)
    assert wall_of(monkeypatch, *ROOMY, ("ulimit -u", 22_400, 22_401)) == ("ulimit -u", 22_400)
    assert wall_of(monkeypatch, ("cgroup pids.max", 500, 500), *ROOMY) == ("cgroup pids.max", 500)


def test_a_thread_needs_three_maps_so_their_room_is_a_third(monkeypatch):
    maps = ("vm.max_map_count", 65_530, 65_530 - 300)  # 100 threads
    assert wall_of(monkeypatch, maps, ("pid_max", 32_768, 32_768 - 110)) == ("vm.max_map_count", 65_530)
    assert wall_of(monkeypatch, maps, ("pid_max", 32_768, 32_768 - 90)) == ("pid_max", 32_768)


def test_a_little_room_is_spared_since_others_may_have_ended(monkeypatch):
    assert wall_of(monkeypatch, ("pid_max", 400, 400 - 64)) == ("pid_max", 400)
    assert wall_of(monkeypatch, ("pid_max", 400, 400 - 65)) == ("unknown", None)
    assert wall_of(monkeypatch, ("pid_max", 100_000, 99_000)) == ("pid_max", 100_000)
    assert wall_of(monkeypatch, ("pid_max", 100_000, 98_999)) == ("unknown", None)


def test_with_room_everywhere_or_nothing_known_it_is_unknown(monkeypatch):
    assert wall_of(monkeypatch, *ROOMY) == ("unknown", None)
    assert wall_of(monkeypatch) == ("unknown", None)


def test_this_machine_tells_its_walls():
    found = {wall.name: wall for wall in walls.thread_walls()}
    assert {"vm.max_map_count", "pid_max", "threads-max"} <= set(found)
    assert 0 < found["vm.max_map_count"].used < found["vm.max_map_count"].value
    assert 0 < found["pid_max"].used <= found["pid_max"].value
    other = {wall.name: wall for wall in walls.thread_walls(str(os.getppid()))}
    assert other["vm.max_map_count"].value == found["vm.max_map_count"].value


def test_limits_are_read_from_files_and_missing_or_boundless_ones_left_out(monkeypatch, tmp_path):
    (tmp_path / "pids.max").write_text("max\n")
    assert walls.read_number(str(tmp_path / "pids.max")) is None
    (tmp_path / "pids.max").write_text("1234\n")
    assert walls.read_number(str(tmp_path / "pids.max")) == 1234
    assert walls.read_number(str(tmp_path / "nothing")) is None
    (tmp_path / "pids.current").write_text("7\n")
    monkeypatch.setattr(walls, "cgroup_folders", lambda _: [str(tmp_path), str(tmp_path / "nowhere")])
    (wall,) = [wall for wall in walls.thread_walls() if wall.name == "cgroup pids.max"]
    assert (wall.value, wall.used) == (1234, 7)


def test_what_binds_depends_on_who_one_is(monkeypatch):
    def bound(user, caps="0", namespace=walls.FIRST_USER_NAMESPACE):
        monkeypatch.setattr(walls.os, "getuid", lambda: user)
        monkeypatch.setattr(walls, "_link", lambda path: namespace)
        monkeypatch.setattr(walls, "read_fields", lambda path: {"CapEff": caps})
        return walls._bound_as_user()

    assert not bound(0)
    assert bound(1000)
    assert not bound(1000, f"{1 << 24:x}")
    assert bound(1000, f"{1 << 1:x}")
    # In a namespace of users it depends on who one is outside, which this process's own map tells.
    assert not bound(0, namespace="user:[1]")
    assert bound(1000, namespace="user:[1]")


def test_memory_that_is_promised_bounds_threads_by_their_stacks(monkeypatch, tmp_path):
    limits = {"RLIMIT_AS": 2 << 30, "RLIMIT_STACK": 8 << 20}
    monkeypatch.setattr(walls, "process_limits", lambda name: (limits.get(name), None))
    monkeypatch.setattr(
        walls, "read_number", lambda path: 2 if path == "/proc/sys/vm/overcommit_memory" else None
    )
    files = {
        "/proc/meminfo": {"CommitLimit": f"{4 << 20} kB", "Committed_AS": f"{1 << 20} kB"},
        "/proc/self/status": {"VmSize": f"{1 << 20} kB"},
    }
    monkeypatch.setattr(walls, "read_fields", files.__getitem__)
    monkeypatch.setattr(walls, "_arenas_to_come", lambda threads: 0)
    found = {wall.name: wall for wall in walls.thread_walls()}
    assert found["ulimit -v memory"].threads == (1 << 30) // (8 << 20)
    assert found["memory commit limit"].threads == (3 << 30) // (8 << 20)


def test_the_first_threads_take_an_arena_each(monkeypatch):
    monkeypatch.setattr(walls.os, "confstr", lambda name: "glibc 2.36")
    monkeypatch.setattr(walls.os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    assert [walls._arenas_to_come(threads) for threads in (1, 3, 16, 500)] == [15, 13, 0, 0]
    monkeypatch.setenv("MALLOC_ARENA_MAX", "4")
    assert walls._arenas_to_come(1) == 3

    def unknown(name):
        raise ValueError(name)

    monkeypatch.setattr(walls.os, "confstr", unknown)
    assert walls._arenas_to_come(1) == 0


def test_elsewhere_than_on_linux_no_wall_is_known(monkeypatch):
    monkeypatch.setattr(walls.sys, "platform", "darwin")
    assert walls.thread_walls() == []
    assert wall_hit() == ("unknown", None)


@pytest.mark.parametrize(
    ("short", "named"),
    [(0, ("vm.max_map_count", 65_530)), (1, ("vm.max_map_count", 65_530)), (9, ("memory", None))],
)
def test_a_wall_is_named_though_there_is_no_memory_to_look_for_it(monkeypatch, short, named):
    """``short`` times it is refused, as when other threads take the last of it."""
    said, refusals = [], [MemoryError()] * short

    def look():
        if refusals:
            raise refusals.pop()
        return "vm.max_map_count", 65_530

    monkeypatch.setattr(walls, "wall_hit", look)
    engine = Engine(lambda report, **fields: said.append((report, fields)), collector=None)
    engine.goal.ask(1_000, engine.counts, 0.0)
    engine.hit_wall(RuntimeError("can't start new thread"))
    ((report, fields),) = said
    assert (report, (fields["wall"], fields["value"])) == ("limit", named)
    assert engine.reserve.kept is not bool(short)
