"""Walls: which limit refused the last thread, told from faked figures and by running into real ones."""

import os
import shutil
import sys

import pytest

from concwatch.lab.catalog import find
from concwatch.worker import walls
from concwatch.worker.walls import Wall, wall_hit
from tests.worker_driver import Worker

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux tells all its limits"
)


def wall_of(monkeypatch, *found):
    monkeypatch.setattr(walls, "thread_walls", lambda: [Wall(*wall) for wall in found])
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
    assert walls._number(str(tmp_path / "pids.max")) is None
    (tmp_path / "pids.max").write_text("1234\n")
    assert walls._number(str(tmp_path / "pids.max")) == 1234
    assert walls._number(str(tmp_path / "nothing")) is None
    (tmp_path / "pids.current").write_text("7\n")
    monkeypatch.setattr(walls, "_cgroup_folders", lambda: [str(tmp_path), str(tmp_path / "nowhere")])
    (wall,) = [wall for wall in walls.thread_walls() if wall.name == "cgroup pids.max"]
    assert (wall.value, wall.used) == (1234, 7)


def after(setup, engine):
    """A worker's command, run by a Python that first lowers a limit for itself."""
    code = f"import os, resource, sys; {setup}; os.execv(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-c", code, *find([engine])[0].command()]


def low_user_limit(engine):
    """The command of a worker whose user may have 250 threads more than now."""
    limit = walls._user_threads() + 250 if os.geteuid() else 250
    command = after(f"resource.setrlimit(resource.RLIMIT_NPROC, ({limit}, {limit}))", engine)
    if os.geteuid():
        return command, limit
    if not shutil.which("setpriv"):
        pytest.skip("the superuser is bound by no ulimit -u, and there is no setpriv to become another")
    # A user that nobody is, who may still read the interpreter wherever it lies.
    reads = "-all,+dac_override,+dac_read_search"
    become = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"]
    return [*become, f"--inh-caps={reads}", f"--ambient-caps={reads}", *command], limit


def low_pid_max(engine):
    """The command of a worker in a pid namespace of its own that has room for few."""
    # Before Linux 6.14 pid_max was one for the whole machine: then it must not be touched.
    release = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    if os.geteuid() or release < (6, 14) or not shutil.which("unshare"):
        pytest.skip("a pid_max of one's own needs root, Linux 6.14 and unshare")
    command = after("open('/proc/sys/kernel/pid_max', 'w').write('800')", engine)
    return ["unshare", "-pf", "--mount-proc", "--kill-child", *command], 800


@pytest.mark.parametrize("engine", ["threads", "pool"])
@pytest.mark.parametrize(("lower", "wall"), [(low_user_limit, "ulimit -u"), (low_pid_max, "pid_max")])
def test_a_real_wall_is_named_and_the_lane_goes_on(engine, lower, wall):
    before = walls._number("/proc/sys/kernel/pid_max")
    command, value = lower(engine)
    with Worker(engine, command=command) as worker:
        assert walls._number("/proc/sys/kernel/pid_max") == before
        worker.do("rate", hz=100)
        worker.do("workload", spec="hold")
        if engine == "pool":
            worker.do("threads", count=1_000)
        worker.send("target", tasks=1_000)
        limit = worker.wait("limit")
        standing = limit["standing"]
        assert (limit["wall"], limit["value"], limit["wanted"]) == (wall, value, 1_000)
        assert "start new thread" in limit["detail"]
        assert 100 < standing < value
        for tick in worker.next_ticks(3):
            assert (tick["created"], tick["live"], tick["queued"]) == (standing, standing, 0)
        assert len(worker.all("limit")) == 1
        assert worker.target(50)["cancelled"] == standing - 50
        if engine == "threads":
            # Not all of them: once around, Linux gives the first 300 numbers to nobody.
            assert worker.target(standing // 2)["created"] == standing // 2 - 50
        else:
            worker.do("threads", count=10)  # a pool keeps its idle threads, so it stands at its wall
        worker.do("workload", spec="sleep:0.01")
        worker.tick(lambda tick: tick["completed"] > 50)
