"""Workloads that keep their worker from working."""

import asyncio
import time

from concwatch.lab.snapshot import State
from concwatch.lab.worker import STOP_LIMIT
from tests.faults.driving import LOOPS, FaultyStage, heartbeat, lane_fault
from tests.faults.fault import thorough
from tests.faults.workers import ALL


async def check_stops(s: FaultyStage) -> None:
    """Switch the faulty lane off. Check that this takes no longer than `STOP_LIMIT` and a second."""
    began = time.monotonic()
    await s.switch_off()
    took = time.monotonic() - began
    assert not thorough() or took < STOP_LIMIT + 1, took


@lane_fault("workload-blocks", "a workload blocks its event loop for 5 s", *LOOPS, short=True)
async def blocked(s: FaultyStage) -> None:
    """Its lane is shown as stalled, the other continues, and it restarts."""
    s.set_job("block")
    s.lab.set_target(s.faulty, 1)
    await s.wait_for_stall()
    await s.check_others()
    if thorough():  # the lane recovers by itself
        s.lab.set_workload("hold")
        await s.hold(1)
        s.set_job("block")
        await s.wait_for_stall()
    await check_stops(s)
    assert not any("killed" in event for event in s.events())  # it exits by itself
    await s.restart()


@lane_fault("workload-blocks-all", "a workload holds the GIL", "asyncio", "threads")
async def blocked_all(s: FaultyStage) -> None:
    """Its lane is shown as stalled, killed 3 s after it is switched off, and restarts."""
    s.set_job("block_all")
    s.lab.set_target(s.faulty, 5)
    await s.wait_for_stall()
    await s.check_others()
    await check_stops(s)
    await s.logs("did not stop within 3 s: killed")
    await s.check_others()
    await s.restart()


@lane_fault("workload-refuses", "tasks swallow their cancellation", *LOOPS)
async def refused(s: FaultyStage) -> None:
    """Live tasks are shown and not replaced. The worker ends within 3 s and restarts."""
    s.set_job("refuse")
    await s.hold(100)
    s.lab.set_target(s.faulty, 0)
    await s.check_others()
    assert (s.faulty.live, s.count("created"), s.faulty.state) == (100, 100, State.RUNNING)
    await check_stops(s)
    await s.restart()


async def check_responsive(s: FaultyStage, counter: str, tasks: int) -> None:
    """Wait until ``tasks`` are counted. Check that the screen responds meanwhile."""
    await s.until(lambda: s.count(counter) > tasks, f"{counter}: {tasks}")
    async with heartbeat(f"{s.faulty.engine.name}: "):
        await asyncio.sleep(2 if thorough() else 0.3)


@lane_fault("workload-raises", "every task raises, under refill", *ALL, short=True)
async def raised(s: FaultyStage) -> None:
    """One traceback is logged, failures are counted, the screen responds, and it restarts."""
    s.set_job("fail")
    s.lab.set_target(s.faulty, 1_000)
    await check_responsive(s, "failed", 5_000)
    await s.logs("a task failed: ValueError: expected")
    assert s.faulty.live <= 1_000
    await s.check_others()
    await check_stops(s)
    await s.restart()


@lane_fault("workload-completes", "every task ends at once, under refill", *ALL, short=True)
async def completed(s: FaultyStage) -> None:
    """Never more live than the target, no growth, and the screen responds. The workload can change."""
    await s.hold(10)
    idle = s.faulty.worker.stats.reading.rss
    s.lab.set_target(s.healthy, 0)
    s.lab.set_workload("nop")
    s.lab.set_target(s.faulty, 1_000)
    s.lab.set_target(s.healthy, 50)
    await check_responsive(s, "completed", 10_000)
    assert s.faulty.worker.stats.peak_live <= 1_000
    assert s.faulty.worker.stats.reading.rss - idle < 64 << 20
    assert s.lab.events.count < 30, s.events()
    s.lab.set_workload("hold")
    await s.hold(50)
    await check_stops(s)
    await s.restart()
