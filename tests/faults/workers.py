"""Workers that die, are stopped, or have no memory left."""

import os
import signal

import psutil

from concwatch.lab.lane_state import State
from tests.faults.driving import LOOPS, PATIENCE, FaultyStage, driven, engines, inject
from tests.faults.fault import Fault

ALL = ("asyncio", "threads", "pool", "uvloop")

JOBS = """
import asyncio, os, sys, time

def both(does):
    '''Make of a plain function a coroutine function of the name with an a before it, too.'''
    async def coroutine():
        does()
        await asyncio.sleep(3600)
    globals()["a" + does.__name__] = coroutine
    return does

@both
def leave():
    os._exit(7)

@both
def exit():
    sys.exit(3)

@both
def recurse():
    recurse()

@both
def crash():
    sys.setrecursionlimit(10**9)
    def deeper(item):
        return sorted([item], key=deeper)
    deeper(0)

"""
"""Workloads for threads; those for event loops have an "a" before their name."""


def job(engine: str, name: str) -> str:
    return f"jobs:{'a' if engine in LOOPS else ''}{name}"


async def ends(s: FaultyStage, reason: str) -> None:
    """See that the lane says how its worker ended, that nothing else minds, and that it goes on again."""
    await s.becomes(State.FAILED)
    assert s.faulty.reason == reason
    await s.tells(f"failed: {reason}")
    await s.sees(reason, within=s.card(s.faulty.engine.name))
    await s.others_go_on()
    await s.on_again()


async def killed() -> None:
    for engine in engines(*ALL):
        async with driven(engine) as s:
            await s.holds(100)
            assert s.faulty.tally.ready is not None
            os.kill(s.faulty.tally.ready.pid, signal.SIGKILL)
            await ends(s, "killed by SIGKILL")


async def stopped() -> None:
    for engine in engines(*ALL):
        async with driven(engine) as s:
            await s.holds(100)
            assert s.faulty.tally.ready is not None
            os.kill(s.faulty.tally.ready.pid, signal.SIGSTOP)
            await s.becomes(State.STALLED)
            await s.sees("stalled", within=s.card(engine))
            await s.others_go_on()
            os.kill(s.faulty.tally.ready.pid, signal.SIGCONT)
            await s.becomes(State.RUNNING)
            await s.holds(200)


async def stopped_for_good() -> None:
    async with driven("asyncio") as s:
        await s.holds(100)
        assert s.faulty.tally.ready is not None
        os.kill(s.faulty.tally.ready.pid, signal.SIGSTOP)
        await s.becomes(State.STALLED)
        s.lab.switch(s.faulty, False)
        await s.becomes(State.OFF)
        await s.tells("did not stop within 3 s: killed")
        await s.others_go_on()
        await s.on_again()


async def left() -> None:
    for engine in engines(*ALL):
        async with driven(engine, jobs=JOBS) as s:
            s.lab.set_workload(job(engine, "leave"))
            s.lab.set_target(s.faulty, 10)
            await ends(s, "exited with status 7")


async def exited() -> None:
    for engine in engines(*ALL):
        async with driven(engine, jobs=JOBS) as s:
            s.lab.set_workload(job(engine, "exit"))
            s.lab.set_target(s.faulty, 10)
            if engine in LOOPS:
                await ends(s, "exited with status 3")
            else:
                await fails(s, 100)
                await s.tells("a task failed: SystemExit: 3")


async def fails(s: FaultyStage, tasks: int) -> None:
    """See that so many tasks fail, under refill, and that the lane and the others go on."""
    lane = s.faulty
    await s.until(
        lambda: lane.worker.tally.tick is not None and lane.worker.tally.tick.failed >= tasks,
        lambda: f"failed: {lane.worker.tally.tick}",
        PATIENCE,
    )
    await s.others_go_on()
    s.lab.set_workload("hold")
    await s.holds(20)


async def recursed() -> None:
    for engine in engines(*ALL):
        async with driven(engine, jobs=JOBS) as s:
            s.lab.set_workload(job(engine, "recurse"))
            s.lab.set_target(s.faulty, 100)
            await fails(s, 500)
            await s.tells("a task failed: RecursionError: maximum recursion depth exceeded")


async def overflowed() -> None:
    for engine in engines(*ALL):
        async with driven(engine, jobs=JOBS) as s:
            s.lab.set_workload(job(engine, "crash"))
            s.lab.set_target(s.faulty, 1)
            await ends(s, "killed by SIGSEGV")


async def without_memory() -> str:
    """Let a worker have a little more address space than it takes, and ask it for more tasks than fit."""
    lost = []
    for engine in engines(*ALL):
        async with driven(engine, workload="hold") as s:
            await s.holds(500)
            assert s.faulty.tally.ready is not None
            worker = psutil.Process(s.faulty.tally.ready.pid)
            most = worker.memory_info().vms + (8 << 20)
            worker.rlimit(psutil.RLIMIT_AS, (most, most))
            s.lab.set_target(s.faulty, 500_000)
            await s.until(
                lambda: s.faulty.limit is not None or s.faulty.state is State.FAILED,
                lambda: f"no limit, no failure: {s.faulty.state}, {s.faulty.live} live",
                PATIENCE,
            )
            if s.faulty.limit is not None:
                assert "memory" in s.faulty.limit.wall, s.faulty.limit
                await s.tells("ulimit -v memory (")
                s.lab.set_target(s.faulty, 100)
                await s.until(
                    lambda: s.faulty.live == 100 or s.faulty.state is State.FAILED, "it shrinks", PATIENCE
                )
            if s.faulty.state is State.FAILED:
                lost.append(f"the tasks of a worker on {engine}, which broke off without memory")
                assert s.faulty.reason
                s.lab.switch(s.faulty, True)
                await s.becomes(State.RUNNING)
            try:
                await s.holds(200)
            except AssertionError:
                # CPython may leave a lock taken where memory runs out just behind its being acquired: seen in
                # the semaphore of ThreadPoolExecutor, on which the pool then waits for ever.
                lost.append(f"a worker on {engine}, which grew no more and had to be switched off and on")
                s.lab.switch(s.faulty, False)
                await s.becomes(State.OFF)
                s.lab.switch(s.faulty, True)
                await s.becomes(State.RUNNING)
                await s.holds(200)
            await s.holds(20, s.well)
    return "; ".join(lost)


FAULTS = (
    Fault(
        "worker-killed",
        "a worker is killed (`kill -9`)",
        "its lane says so; the other lanes and the screen go on; on again works",
        lambda: inject(killed()),
    ),
    Fault(
        "worker-stopped",
        "a worker is stopped and continued (SIGSTOP, SIGCONT)",
        "its lane is shown as stalled, then goes on; nothing else minds",
        lambda: inject(stopped()),
    ),
    Fault(
        "worker-stopped-for-good",
        "a stopped worker is switched off (SIGSTOP)",
        "it is killed after 3 s; on again works",
        lambda: inject(stopped_for_good()),
        short=False,
    ),
    Fault(
        "worker-left",
        "a workload ends its worker (`os._exit`)",
        "its lane gives the exit status; on again works",
        lambda: inject(left()),
    ),
    Fault(
        "worker-exited",
        "a workload calls `sys.exit`",
        "on an event loop the lane gives the exit status; in a thread it is a failed task",
        lambda: inject(exited()),
    ),
    Fault(
        "worker-recursed",
        "every task of a workload recurses without end",
        "one traceback, and a count; the lane goes on",
        lambda: inject(recursed()),
    ),
    Fault(
        "worker-overflowed",
        "a workload overflows the C stack",
        "its lane says that it was killed by SIGSEGV; on again works",
        lambda: inject(overflowed()),
    ),
    Fault(
        "worker-without-memory",
        "a worker gets no more memory (RLIMIT_AS)",
        "the limit is named, the lane shrinks and grows; one that broke off says so, on again works",
        lambda: inject(without_memory()),
    ),
)
