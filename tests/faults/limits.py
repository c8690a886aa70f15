"""Real limits of the system: on threads, processes and open files."""

import os
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil
import pytest

from concwatch.monitor.lanes import servers
from concwatch.monitor.metrics.state import State
from concwatch.portable.machine.limits import system_limits
from tests.apart import apart
from tests.faults.driving import RealLab, Wrap, real_lab
from tests.faults.fault import Impossible, engines, fault
from tests.faults.terminal import Terminal
from tests.low_limits import after, low_pid_max, low_user_limit

PID_MAX = Path("/proc/sys/kernel/pid_max")
CGROUP = Path("/sys/fs/cgroup/pids")
"""The folder of the ``pids`` controller (control groups v1)."""

ENTER = "open('{folder}/cgroup.procs', 'w').write(str(os.getpid()))"
"""Python code that moves the process into a control group."""

FEW = 800
"""A lowered limit, which is reached quickly."""

MANY = 1_000


def pid_max() -> int:
    return int(PID_MAX.read_text())


def own_group() -> Path:
    """Return the control group of this process."""
    me = str(os.getpid())
    folders = CGROUP.glob("concwatch-fault-*")
    return next(folder for folder in folders if me in (folder / "cgroup.procs").read_text().split())


def low(lower: Callable[[Sequence[str]], tuple[Sequence[str], int]]) -> tuple[Wrap, int]:
    """Return a wrapper that runs a command with a lowered limit, and the limit's value."""
    try:
        _, value = lower([])
    except pytest.skip.Exception as reason:
        raise Impossible(str(reason)) from None
    return lambda command: lower(command)[0], value


@contextmanager
def own_cgroup() -> Iterator[Wrap]:
    """Yield a wrapper that runs a command in a control group of its own with a low ``pids.max``."""
    folder = CGROUP / f"concwatch-fault-{os.getpid()}"
    try:
        folder.mkdir()
        (folder / "pids.max").write_text(str(FEW))
    except OSError as error:
        raise Impossible(f"cannot create a control group: {error}") from None
    try:
        yield lambda command: after(ENTER.format(folder=folder), command)
    finally:
        folder.rmdir()


async def thread_limit(engine: str, wrap: Wrap, name: str, value: int, many: int = MANY) -> None:
    """A lane reaches a limit, keeps its live tasks, shrinks and grows again. The other is not affected."""
    async with real_lab(engine, "asyncio", wrap=wrap, threads=min(many, 100_000)) as real:
        lane, healthy = real.faulty, real.healthy
        await real.hold(100, healthy)
        held = await real.hit_limit(many, name, value)
        assert held > 100
        assert (lane.live, lane.target.tasks) == (held, held), lane.worker.stats.tick
        await real.hold(200, healthy)
        await real.hold(50)
        # Only half of them: after a wraparound, Linux does not use the first 300 numbers.
        await real.hold(held // 2)
        assert await real.hit_limit(many, name, value) >= held // 2
        assert (lane.state, healthy.live) == (State.RUNNING, 200)


FILL_MAPS = """
import ctypes
mmap = ctypes.CDLL(None).mmap
mmap.restype = ctypes.c_void_p
mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
for turn in range({count}):
    mmap(None, 4096, turn % 2, 0x22, -1, 0)  # adjacent maps of the same kind would be merged
"""


async def map_limit(free: int | None) -> None:
    """Reach ``vm.max_map_count``, with all but ``free`` maps used up before, unless it is None."""
    value = {limit.name: limit.value for limit in system_limits()}.get("vm.max_map_count", 0)
    if not 0 < value <= 300_000:
        raise Impossible(f"vm.max_map_count is {value:,} (0: none): another limit is lower")
    fill = FILL_MAPS.format(count=value - free) if free else ""

    def wrap(command: Sequence[str]) -> Sequence[str]:
        return [*command[:-1], f"{fill}\n{command[-1]}"]

    for engine in ("threads",) if free else ("threads", "pool"):
        await thread_limit(engine, wrap, "vm.max_map_count", value, MANY if free else 100_000)


title = "threads and a pool up to the machine's `vm.max_map_count`"
fault("limit-maps", title, times=2, seconds=1_200)(partial(map_limit, None))
title = "threads up to `vm.max_map_count`, most maps in use"
fault("limit-few-maps", title)(partial(map_limit, 2_000))


async def lowered(lower: Callable[[Sequence[str]], tuple[Sequence[str], int]], name: str) -> None:
    """Threads and a pool reach a limit that is lowered only for their workers."""
    before = pid_max()
    for engine in engines("threads", "pool"):
        wrap, value = low(lower)
        await thread_limit(engine, wrap, name, value)
    assert pid_max() == before


fault("limit-pids", "threads and a pool up to `pid_max` of a pid namespace")(
    partial(lowered, low_pid_max, "pid_max")
)
fault("limit-user", "threads and a pool up to `ulimit -u`")(partial(lowered, low_user_limit, "ulimit -u"))


@fault("limit-cgroup", "threads up to `pids.max` of a control group")
async def cgroup_limit() -> None:
    with own_cgroup() as wrap:
        await thread_limit("threads", wrap, "cgroup pids.max", FEW)


@fault("limit-files", "a workload opens more connections than `ulimit -n` allows", seconds=300)
async def file_limits() -> None:
    """The limit is named with its value. The lane keeps its live tasks, shrinks and grows again.

    Tasks that could not open a file are counted as failed and not replaced.
    """
    if problem := servers.missing("http"):
        raise Impossible(problem)
    # A thread can only end when its page has arrived.
    held_pages = (
        (engine, "http:10" if engine == "threads" else "http:100")
        for engine in engines("asyncio", "threads", "uvloop", "gevent")
    )
    held_connections = ((engine, "connect") for engine in engines("asyncio", "threads", "uvloop", "gevent"))
    for engine, workload in (*held_pages, *held_connections):
        wrap = partial(after, "resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))")
        async with real_lab(engine, wrap=wrap, workload=workload) as real:
            held = await real.hit_limit(400, "ulimit -n", 200)
            assert 100 < held < 200, held
            tick = real.faulty.worker.stats.tick
            assert (tick.live, tick.failed) == (held, tick.created - held), tick
            assert tick.failed <= 400 - held, tick
            await real.hold(20)
            await real.hold(100)
            assert await real.hit_limit(400, "ulimit -n", 200) > 100
            await real.hold(10)
            real.lab.settings.set_workload("http:0.1")
            await real.until(lambda: real.count("completed") > 30, "tasks complete")


# The monitor at a limit.


async def add_room_until_it_starts(real: RealLab, why: str, allow: Callable[[int], None]) -> None:
    """Allow one more at a time until the second worker starts. Before, it fails with the same reason."""
    lane = real.healthy
    for more in range(40):
        allow(more)
        real.lab.switch(lane, True)
        await real.wait_for_state(State.FAILED, State.RUNNING, lane=lane)
        if lane.state is State.RUNNING:
            break
        assert why in lane.worker.life.reason, (more, lane.worker.life.reason)
        await real.until(lambda: lane.idle, "the worker has ended")
    assert more > 0
    await real.hold(100, lane)


async def fork_refused_in_namespace() -> None:
    """Start a worker when no process number is left, in a pid namespace with few."""
    few = pid_max()
    async with real_lab("threads", "asyncio") as real:
        other = real.healthy
        held = await real.hit_limit(MANY, "pid_max", few)
        real.lab.switch(other, True)
        await real.wait_for_state(State.FAILED, lane=other)
        assert f"pid_max ({few})" in other.worker.life.reason, other.worker.life.reason
        assert f"failed: {other.worker.life.reason}" == real.events(other)[-1]
        assert other.worker.missing is None
        await real.until(lambda: other.idle, "the worker has ended")
        assert (real.faulty.state, real.faulty.live) == (State.RUNNING, held), real.faulty.worker.stats.tick
        await real.hold(50)
        await real.hold(100, other)
        await real.hold(100)


@fault("fork-refused", "no free process number for another worker (`pid_max`)")
def fork_refused() -> None:
    """Its lane names the limit, the other lane continues, and it starts once numbers are free."""
    before = pid_max()
    apart(fork_refused_in_namespace, wrap=low(low_pid_max)[0])
    assert pid_max() == before


async def no_room_in_group() -> None:
    """Start a worker in a control group that allows 0, 1, 2, … more processes and threads."""
    group = own_group()

    def allow(more: int) -> None:
        now = int((group / "pids.current").read_text())
        (group / "pids.max").write_text(str(now + more))

    async with real_lab("threads", "asyncio") as real:
        await real.hold(100)
        await add_room_until_it_starts(real, "cgroup pids.max (", allow)
        allow(100_000)
        assert real.faulty.live == 100
        await real.hold(200)


@fault("no-room-for-a-worker", "0, 1, 2, … free processes and threads (`pids.max` of a control group)")
def no_room() -> None:
    """The lane names the limit each time until its worker starts."""
    with own_cgroup() as wrap:
        apart(no_room_in_group, wrap=wrap)


@fault("no-files-for-a-worker", "0, 1, 2, … free open files in concwatch")
async def no_file() -> None:
    """The lane names the limit each time until its worker starts. The other lanes continue."""
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)

    def allow(more: int) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)
        lowest = os.open(os.devnull, os.O_RDONLY)  # the lowest free number
        os.close(lowest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + more, usual[1]))

    async with real_lab("threads", "asyncio", "sequential") as real:
        await real.hold(100)
        allow(0)
        await real.wait_for_ticks(15)  # over a second: everything is sampled
        await real.hold(200)
        await add_room_until_it_starts(real, "Too many open files: ulimit -n (", allow)
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)
        await real.hold(10, real.lab.lanes[2])
        assert real.faulty.live == 200


@fault("screen-without-files", "a running screen cannot open more files")
def screen_without_files() -> None:
    """Running lanes continue. Another shows why it cannot start, and starts once files are free."""
    if not sys.platform.startswith("linux"):
        raise Impossible("only Linux can set the limits of another process")
    with Terminal("-m", "concwatch", "--engines", "asyncio,pool") as terminal:
        terminal.wait_for_screen()
        terminal.type("1 ")
        terminal.wait_for_text("on: CPython")
        usual = terminal.monitor.rlimit(psutil.RLIMIT_NOFILE)
        terminal.monitor.rlimit(psutil.RLIMIT_NOFILE, (3, usual[1]))  # open files stay open
        terminal.type("2 ")
        terminal.wait_for_text("could not be started: Too many open files: ulimit -n (")
        terminal.type("1+")
        terminal.wait_for_text("10,000 tasks live after")
        terminal.monitor.rlimit(psutil.RLIMIT_NOFILE, usual)
        terminal.type("2 ")
        terminal.wait_for_text("on: CPython", 2)
        terminal.quit()
