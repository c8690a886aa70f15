"""Limits of the system that are hit for real: on threads, on processes, on open files."""

import os
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil
import pytest

from concwatch.lab import pages
from concwatch.lab.snapshot import State
from concwatch.system.walls import thread_walls
from tests.apart import apart
from tests.faults.driving import RealLab, Wrap, real_lab
from tests.faults.fault import Impossible, engines, fault
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


def pid_max() -> int:
    """Read it."""
    return int(PID_MAX.read_text())


def own_group() -> Path:
    """Find the control group that this process is in."""
    me = str(os.getpid())
    folders = CGROUP.glob("concwatch-fault-*")
    return next(folder for folder in folders if me in (folder / "cgroup.procs").read_text().split())


def low(lower: Callable[[Sequence[str]], tuple[Sequence[str], int]]) -> tuple[Wrap, int]:
    """Return what runs a worker's command below a wall, and the wall's value."""
    try:
        _, value = lower([])
    except pytest.skip.Exception as reason:
        raise Impossible(str(reason)) from None
    return lambda command: lower(command)[0], value


@contextmanager
def own_cgroup() -> Iterator[Wrap]:
    """Return what runs a command in a control group of its own, in which ``pids.max`` may be lowered."""
    folder = CGROUP / f"concwatch-fault-{os.getpid()}"
    try:
        folder.mkdir()
        (folder / "pids.max").write_text(str(FEW))
    except OSError as error:
        raise Impossible(f"no control group can be made here: {error}") from None
    try:
        yield lambda command: after(ENTER.format(folder=folder), command)
    finally:
        folder.rmdir()


async def thread_wall(engine: str, wrap: Wrap, wall: str, value: int, many: int = MANY) -> None:
    """Have a lane hit a wall, hold what stands, shrink, and grow again; another must not mind."""
    async with real_lab(engine, "asyncio", wrap=wrap, threads=min(many, 100_000)) as real:
        lane, well = real.faulty, real.well
        await real.holds(100, well)
        standing = await real.hits(many, wall, value)
        assert standing > 100
        assert (lane.live, lane.target) == (standing, standing), lane.worker.stats.tick
        await real.holds(200, well)
        await real.holds(50)
        # Not all of them: once around, Linux gives the first 300 numbers to nobody.
        await real.holds(standing // 2)
        assert await real.hits(many, wall, value) >= standing // 2
        assert (lane.state, well.live) == (State.RUNNING, 200)


FILL_MAPS = """
import ctypes
mmap = ctypes.CDLL(None).mmap
mmap.restype = ctypes.c_void_p
mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
for turn in range({count}):
    mmap(None, 4096, turn % 2, 0x22, -1, 0)  # neighbours that differ are not joined
"""


async def map_limit(free: int | None) -> None:
    """Have the worker hit ``vm.max_map_count``; with all but so many maps taken before, or None for none."""
    value = {wall.name: wall.value for wall in thread_walls()}.get("vm.max_map_count", 0)
    if not 0 < value <= 300_000:
        raise Impossible(f"vm.max_map_count is {value:,} (0 where there is none): another limit comes first")
    fill = FILL_MAPS.format(count=value - free) if free else ""

    def wrap(command: Sequence[str]) -> Sequence[str]:
        return [*command[:-1], f"{fill}\n{command[-1]}"]

    for engine in ("threads",) if free else ("threads", "pool"):
        await thread_wall(engine, wrap, "vm.max_map_count", value, MANY if free else 100_000)


whole = "threads and a pool up to the machine's own wall (`vm.max_map_count`)"
fault("wall-maps", whole, times=2, seconds=1_200)(partial(map_limit, None))
most = "threads up to `vm.max_map_count`, most maps being taken"
fault("wall-few-maps", most)(partial(map_limit, 2_000))


async def lowered(lower: Callable[[Sequence[str]], tuple[Sequence[str], int]], wall: str) -> None:
    """Have threads and a pool hit a wall that is lowered for their workers alone."""
    before = pid_max()
    for engine in engines("threads", "pool"):
        wrap, value = low(lower)
        await thread_wall(engine, wrap, wall, value)
    assert pid_max() == before


fault("wall-pids", "threads and a pool up to `pid_max` of a pid namespace", short=True)(
    partial(lowered, low_pid_max, "pid_max")
)
fault("wall-user", "threads and a pool up to `ulimit -u`")(partial(lowered, low_user_limit, "ulimit -u"))


@fault("wall-cgroup", "threads up to `pids.max` of a control group", short=True)
async def cgroup_limit() -> None:
    with own_cgroup() as wrap:
        await thread_wall("threads", wrap, "cgroup pids.max", FEW)


@fault("wall-files", "a workload opens more connections than `ulimit -n` allows", seconds=300, short=True)
async def file_limits() -> None:
    """The limit is named with its value; the lane holds what stands, shrinks, and grows again; others go on.

    Tasks that were refused a file are counted as failed, and not replaced.
    """
    if problem := pages.missing():
        raise Impossible(problem)
    for engine in engines("asyncio", "threads", "uvloop", "gevent"):
        # A thread that fetches can only end when its page has come.
        workload = "http:10" if engine == "threads" else "http:100"
        wrap = partial(after, "resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))")
        async with real_lab(engine, wrap=wrap, workload=workload) as real:
            standing = await real.hits(400, "ulimit -n", 200)
            assert 100 < standing < 200, standing
            tick = real.faulty.worker.stats.tick
            assert (tick.live, tick.failed) == (standing, tick.created - standing), tick
            assert tick.failed <= 400 - standing, tick
            await real.holds(20)
            await real.holds(100)
            assert await real.hits(400, "ulimit -n", 200) > 100
            await real.holds(10)
            real.lab.set_workload("http:0.1")
            await real.until(lambda: real.counted("completed") > 30, "tasks come and go")


# The monitor itself at a limit.


async def step_by_step(real: RealLab, why: str, allow: Callable[[int], None]) -> None:
    """Have ever more room for the second worker, until it stands; before, it fails for the same reason."""
    lane = real.well
    for more in range(40):
        allow(more)
        real.lab.switch(lane, True)
        await real.becomes(State.FAILED, State.RUNNING, lane=lane)
        if lane.state is State.RUNNING:
            break
        assert why in lane.worker.reason, (more, lane.worker.reason)
        await real.until(lambda: lane.idle, "nothing is left of it")
    assert more > 0
    await real.holds(100, lane)


async def fork_refused_here() -> None:
    """Have no process number left for another worker, in a pid namespace that has few."""
    few = pid_max()
    async with real_lab("threads", "asyncio") as real:
        other = real.well
        standing = await real.hits(MANY, "pid_max", few)
        real.lab.switch(other, True)
        await real.becomes(State.FAILED, lane=other)
        assert f"pid_max ({few})" in other.worker.reason, other.worker.reason
        assert f"failed: {other.worker.reason}" == real.told(other)[-1]
        assert other.missing is None
        await real.until(lambda: other.idle, "nothing is left of it")
        assert (real.faulty.state, real.faulty.live) == (State.RUNNING, standing), (
            real.faulty.worker.stats.tick
        )
        await real.holds(50)
        await real.holds(100, other)
        await real.holds(100)


@fault("fork-refused", "no process number is left for another worker (`pid_max`)", short=True)
def fork_refused() -> None:
    """Its lane says so and names the limit; what stands goes on; on again works once there is room."""
    before = pid_max()
    apart(fork_refused_here, wrap=low(low_pid_max)[0])
    assert pid_max() == before


async def no_room_here() -> None:
    """Have room in this control group for so many processes and threads more, from none on."""
    group = own_group()

    def allow(more: int) -> None:
        now = int((group / "pids.current").read_text())
        (group / "pids.max").write_text(str(now + more))

    async with real_lab("threads", "asyncio") as real:
        await real.holds(100)
        await step_by_step(real, "cgroup pids.max (", allow)
        allow(100_000)
        assert real.faulty.live == 100
        await real.holds(200)


@fault(
    "no-room-for-a-worker",
    "room for 0, 1, 2, … processes and threads more (`pids.max` of a control group)",
)
def no_room() -> None:
    """Each time the lane says so and names the limit, until its worker stands."""
    with own_cgroup() as wrap:
        apart(no_room_here, wrap=wrap)


@fault("no-files-for-a-worker", "room for 0, 1, 2, … open files more in concwatch itself")
async def no_file() -> None:
    """Each time the lane says so and names the limit, until its worker stands; the others go on."""
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)

    def allow(more: int) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)
        lowest = os.open(os.devnull, os.O_RDONLY)  # the first number that is free
        os.close(lowest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + more, usual[1]))

    async with real_lab("threads", "asyncio", "sequential") as real:
        await real.holds(100)
        allow(0)
        await real.ticks(15)  # a second and more, in which all is looked at
        await real.holds(200)
        await step_by_step(real, "Too many open files: ulimit -n (", allow)
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)
        await real.holds(10, real.lab.lanes[2])
        assert real.faulty.live == 200


@fault("screen-without-files", "a running screen can open no file any more", short=True)
def screen_without_files() -> None:
    """Lanes that stand go on and obey; another's says why it cannot be started; on again works."""
    if not sys.platform.startswith("linux"):
        raise Impossible("only Linux lets one process set another's limits")
    with Terminal("-m", "concwatch", "--engines", "asyncio,pool") as terminal:
        terminal.is_shown()
        terminal.type("1 ")
        terminal.says("on: CPython")
        usual = terminal.monitor.rlimit(psutil.RLIMIT_NOFILE)
        terminal.monitor.rlimit(psutil.RLIMIT_NOFILE, (3, usual[1]))  # what is open stays open
        terminal.type("2 ")
        terminal.says("could not be started: Too many open files: ulimit -n (")
        terminal.type("1+")
        terminal.says("10,000 tasks started in")
        terminal.monitor.rlimit(psutil.RLIMIT_NOFILE, usual)
        terminal.type("2 ")
        terminal.says("on: CPython", 2)
        terminal.quits()
