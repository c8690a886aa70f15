"""Limits of the system that are hit for real: on threads, on processes, on open files."""

import asyncio
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from concwatch.lab import pages
from concwatch.lab.lane_state import State
from concwatch.lab.settings import Settings
from concwatch.system.walls import thread_walls
from tests.faults.driving import engines
from tests.faults.fault import Fault, Impossible
from tests.faults.real_lab import PATIENCE, ROOT, RealLab, Wrap, real_lab
from tests.faults.terminal import Terminal
from tests.low_walls import after, low_pid_max, low_user_limit

PID_MAX = Path("/proc/sys/kernel/pid_max")
CGROUP = Path("/sys/fs/cgroup/pids")
"""Where version 1 of control groups, or a mount of its own, has those of ``pids``."""

ENTER = "open('{folder}/cgroup.procs', 'w').write(str(os.getpid()))"
"""What has a process enter a control group."""

FEW = 800
"""What a limit is lowered to, so that hitting it takes no time."""

MANY = 1_000


def wrapped(setup: str) -> Wrap:
    """Run a worker's command by a Python that first does something to itself."""
    return lambda command: after(setup, command)


def low(lower: Callable[[Sequence[str]], tuple[Sequence[str], int]]) -> tuple[Wrap, int]:
    """Return what runs a worker's command below a wall, and the wall's value."""
    try:
        _, value = lower([])
    except pytest.skip.Exception as reason:
        raise Impossible(str(reason)) from None
    return lambda command: lower(command)[0], value


@contextmanager
def own_cgroup() -> Iterator[Path]:
    """Make a control group whose ``pids.max`` may be lowered; it is gone at the end."""
    folder = CGROUP / f"concwatch-fault-{os.getpid()}"
    try:
        folder.mkdir()
        (folder / "pids.max").write_text(str(FEW))
    except OSError as error:
        raise Impossible(f"no control group can be made here: {error}") from None
    try:
        yield folder
    finally:
        folder.rmdir()


async def thread_wall(engine: str, wrap: Wrap, wall: str, value: int, many: int = MANY) -> None:
    """Have a lane hit a wall, hold what stands, shrink, and grow again; another must not mind."""
    settings = Settings(workload="hold", trace=False, threads=min(many, 100_000))
    async with real_lab(engine, "asyncio", wraps={engine: wrap}, settings=settings) as real:
        lane, well = real.lab.lanes
        await real.holds(well, 100)
        standing = await real.hits(lane, many, wall, value)
        assert standing > 100
        assert (lane.live, lane.target) == (standing, standing), lane.worker.tally.tick
        await real.holds(well, 200)
        await real.holds(lane, 50)
        # Not all of them: once around, Linux gives the first 300 numbers to nobody.
        await real.holds(lane, standing // 2)
        assert await real.hits(lane, many, wall, value) >= standing // 2
        assert (lane.state, well.live) == (State.RUNNING, 200)


def user_limit() -> None:
    """Have the worker be another user's who may have few threads."""
    for engine in ("threads", "pool"):
        wrap, value = low(low_user_limit)
        asyncio.run(thread_wall(engine, wrap, "ulimit -u", value))


def pid_limit() -> None:
    """Have the worker be in a pid namespace that has room for few."""
    before = PID_MAX.read_text()
    for engine in engines("threads", "pool"):
        wrap, value = low(low_pid_max)
        asyncio.run(thread_wall(engine, wrap, "pid_max", value))
    assert PID_MAX.read_text() == before


def cgroup_limit() -> None:
    """Have the worker be in a control group that has room for few."""
    with own_cgroup() as folder:
        enter = wrapped(ENTER.format(folder=folder))
        asyncio.run(thread_wall("threads", enter, "cgroup pids.max", FEW))


FILL_MAPS = """
import ctypes
mmap = ctypes.CDLL(None).mmap
mmap.restype = ctypes.c_void_p
mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
for turn in range({count}):
    mmap(None, 4096, turn % 2, 0x22, -1, 0)  # neighbours that differ are not joined
"""


def map_limit(free: int | None) -> None:
    """Have the worker hit ``vm.max_map_count``; with most maps taken before, or None for none."""
    walls = {wall.name: wall.value for wall in thread_walls()}
    if "vm.max_map_count" not in walls:
        raise Impossible("only Linux has vm.max_map_count")
    value = walls["vm.max_map_count"]
    if value > 300_000:
        raise Impossible(f"vm.max_map_count is {value:,}: another limit comes first")
    many = MANY if free else 100_000
    fill = FILL_MAPS.format(count=value - free) if free else ""

    def wrap(command: Sequence[str]) -> Sequence[str]:
        return [*command[:-1], f"{fill}\n{command[-1]}"]

    for engine in ("threads",) if free else ("threads", "pool"):
        asyncio.run(thread_wall(engine, wrap, "vm.max_map_count", value, many))


async def file_limit(engine: str) -> None:
    """Have a worker's tasks open more connections than it may have files."""
    lower = wrapped("resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))")
    # A thread that fetches can only end when its page has come.
    settings = Settings(workload="http:10" if engine == "threads" else "http:100", trace=False)
    async with real_lab(engine, wraps={engine: lower}, settings=settings) as real:
        (lane,) = real.lab.lanes
        standing = await real.hits(lane, 400, "ulimit -n", 200)
        assert 100 < standing < 200, standing
        tick = lane.worker.tally.tick
        assert tick is not None
        assert (tick.live, tick.failed) == (standing, tick.created - standing), tick
        assert tick.failed <= 400 - standing, tick
        await real.holds(lane, 20)
        await real.holds(lane, 100)
        assert await real.hits(lane, 400, "ulimit -n", 200) > 100
        await real.holds(lane, 10)
        real.lab.set_workload("http:0.1")
        await real.until(
            lambda: lane.worker.tally.tick is not None and lane.worker.tally.tick.completed > 30,
            "tasks come and go",
        )


def file_limits() -> None:
    """Try it with every engine whose tasks fetch at the same time."""
    problem = pages.missing()
    if problem:
        raise Impossible(problem)
    for engine in engines("asyncio", "threads", "uvloop", "gevent"):
        asyncio.run(file_limit(engine))


# The monitor itself at a limit: scenes, each in a process of its own.


async def fork_refused_scene() -> None:
    """Have no process number left for another worker."""
    pid_max = value_of(PID_MAX)
    async with real_lab("threads", "asyncio") as real:
        lane, other = real.lab.lanes
        standing = await real.hits(lane, MANY, "pid_max", pid_max)
        await cannot_start(real, "asyncio", f"pid_max ({pid_max})")
        assert (lane.state, lane.live) == (State.RUNNING, standing), lane.worker.tally.tick
        await real.holds(lane, 50)
        await real.holds(other, 100)
        await real.holds(lane, 100)


def value_of(path: Path) -> int:
    """Read a limit."""
    return int(path.read_text())


async def cannot_start(real: RealLab, name: str, why: str) -> None:
    """See that a lane that is switched on fails, and why."""
    lane = real.lane(name)
    real.lab.switch(lane, True)
    await real.settles(lane, State.FAILED)
    assert why in lane.worker.reason, lane.worker.reason
    assert f"failed: {lane.worker.reason}" == real.told(lane)[-1]
    assert lane.missing is None
    await real.until(lambda: lane.idle, "nothing is left of it")


async def step_by_step(real: RealLab, name: str, why: str, allow: Callable[[int], None]) -> None:
    """Have ever more room for a worker, until it stands; each time before it fails for the same reason."""
    lane = real.lane(name)
    for more in range(40):
        allow(more)
        real.lab.switch(lane, True)
        await real.settles(lane, State.FAILED, State.RUNNING)
        if lane.state is State.RUNNING:
            break
        assert why in lane.worker.reason, (more, lane.worker.reason)
        await real.until(lambda: lane.idle, "nothing is left of it")
    assert more > 0
    await real.holds(lane, 100)


async def no_room_scene() -> None:
    """Have room in the control group for so many processes and threads more, from none on."""
    group = own_group()
    async with real_lab("threads", "asyncio") as real:
        lane = real.lane("threads")
        await real.holds(lane, 100)
        await step_by_step(real, "asyncio", "cgroup pids.max (", group.allow)
        group.allow(100_000)
        assert lane.live == 100
        await real.holds(lane, 200)


class Group:
    """The control group that this process is in."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def allow(self, more: int) -> None:
        """Have room for so many processes and threads more than there are."""
        now = int((self._folder / "pids.current").read_text())
        (self._folder / "pids.max").write_text(str(now + more))


def own_group() -> Group:
    """Find it."""
    me = str(os.getpid())
    folders = CGROUP.glob("concwatch-fault-*")
    return Group(next(folder for folder in folders if me in (folder / "cgroup.procs").read_text().split()))


async def no_file_scene() -> None:
    """Have room for so many open files more, from none on."""
    async with real_lab("threads", "asyncio", "sequential") as real:
        lane = real.lane("threads")
        await real.holds(lane, 100)
        usual = resource.getrlimit(resource.RLIMIT_NOFILE)

        def allow(more: int) -> None:
            resource.setrlimit(resource.RLIMIT_NOFILE, usual)
            lowest = os.open(os.devnull, os.O_RDONLY)  # the first number that is free
            os.close(lowest)
            resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + more, usual[1]))

        allow(0)
        await real.ticks(lane, 15)  # a second and more, in which all is looked at
        await real.holds(lane, 200)
        await step_by_step(real, "asyncio", "Too many open files: ulimit -n (", allow)
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)
        await real.holds(real.lane("sequential"), 10)
        assert lane.live == 200


SCENES: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
    "fork-refused": fork_refused_scene,
    "no-room": no_room_scene,
    "no-file": no_file_scene,
}


def run_apart(scene: str, wrap: Wrap) -> None:
    """Run a scene in a process of its own; see that it ends well."""
    done = subprocess.run(
        wrap([sys.executable, "-m", "tests.faults.walls", scene]),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE * 3,
    )
    assert done.returncode == 0, (
        f"{scene}: exit status {done.returncode}\n{done.stdout}\n{done.stderr[-5000:]}"
    )


def fork_refused() -> None:
    """Have the whole program in a pid namespace that is full."""
    before = PID_MAX.read_text()
    wrap, _ = low(low_pid_max)
    run_apart("fork-refused", wrap)
    assert PID_MAX.read_text() == before


def no_room() -> None:
    """Have the whole program in a control group that is full."""
    with own_cgroup() as folder:
        run_apart("no-room", wrapped(ENTER.format(folder=folder)))


def screen_without_files() -> None:
    """Take from a running screen what it could open, and give it back."""
    if not sys.platform.startswith("linux"):
        raise Impossible("only Linux lets one process set another's limits")
    with Terminal("-m", "concwatch", "--engines", "asyncio,pool") as terminal:
        terminal.until(lambda: "drag the slider" in terminal.text(), "the screen is shown")
        terminal.type("1 ")
        terminal.until(lambda: "on: CPython" in terminal.text(), "the first lane is on")
        usual = terminal.monitor.rlimit(psutil.RLIMIT_NOFILE)
        terminal.monitor.rlimit(psutil.RLIMIT_NOFILE, (3, usual[1]))  # what is open stays open
        terminal.type("2 ")
        terminal.until(
            lambda: "could not be started: Too many open files: ulimit -n (" in terminal.text(), "why"
        )
        terminal.type("1+")
        terminal.until(lambda: "10,000 tasks started in" in terminal.text(), "the other lane goes on")
        terminal.monitor.rlimit(psutil.RLIMIT_NOFILE, usual)
        terminal.type("2 ")
        terminal.until(lambda: terminal.text().count("on: CPython") > 1, "on again works")
        terminal.type("q")
        assert terminal.ended() == 0
        terminal.assert_sane()
        assert "Traceback" not in terminal.text()


def lossless(act: Callable[[], None]) -> Callable[[], str]:
    """Return an injection by which nothing was lost if it ends."""

    def inject() -> str:
        act()
        return ""

    return inject


HOLDS = (
    "the limit is named with its value; the lane holds what stands, shrinks, and grows again; others go on"
)

FAULTS: tuple[Fault, ...] = (
    Fault(
        "wall-maps",
        "threads and a pool up to the machine's own wall (`vm.max_map_count`)",
        HOLDS,
        lossless(lambda: map_limit(None)),
        times=2,
        short=False,
        seconds=1_200,
    ),
    Fault(
        "wall-few-maps",
        "threads up to `vm.max_map_count`, most maps being taken",
        HOLDS,
        lossless(lambda: map_limit(2_000)),
    ),
    Fault("wall-pids", "threads and a pool up to `pid_max` of a pid namespace", HOLDS, lossless(pid_limit)),
    Fault("wall-user", "threads and a pool up to `ulimit -u`", HOLDS, lossless(user_limit)),
    Fault("wall-cgroup", "threads up to `pids.max` of a control group", HOLDS, lossless(cgroup_limit)),
    Fault(
        "wall-files",
        "a workload opens more connections than `ulimit -n` allows",
        HOLDS + "; tasks that were refused a file are counted as failed, and not replaced",
        lossless(file_limits),
        seconds=300,
    ),
    Fault(
        "fork-refused",
        "no process number is left for another worker (`pid_max`)",
        "its lane says so and names the limit; what stands goes on; on again works once there is room",
        lossless(fork_refused),
    ),
    Fault(
        "no-room-for-a-worker",
        "room for 0, 1, 2, … processes and threads more (`pids.max` of a control group)",
        "each time the lane says so and names the limit, until its worker stands",
        lossless(no_room),
        short=False,
    ),
    Fault(
        "no-files-for-a-worker",
        "room for 0, 1, 2, … open files more in concwatch itself",
        "each time the lane says so and names the limit, until its worker stands; the others go on",
        lossless(lambda: run_apart("no-file", lambda command: command)),
        short=False,
    ),
    Fault(
        "screen-without-files",
        "a running screen can open no file any more",
        "lanes that stand go on and obey; another's lane says why it cannot be started; on again works",
        lossless(screen_without_files),
    ),
)

if __name__ == "__main__":
    asyncio.run(SCENES[sys.argv[1]]())
