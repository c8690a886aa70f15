"""Workloads that do not let their worker work."""

import asyncio
import time

from concwatch.lab.snapshot import State
from concwatch.lab.worker import STOP_LIMIT
from tests.faults.driving import LOOPS, FaultyStage, lane_fault, pulse
from tests.faults.fault import thorough
from tests.faults.workers import ALL


async def stops(s: FaultyStage) -> None:
    """Switch the faulty lane off, within the time that it has for that, and on again."""
    began = time.monotonic()
    await s.switches_off()
    took = time.monotonic() - began
    assert not thorough() or took < STOP_LIMIT + 1, took


@lane_fault("workload-blocks", "a workload blocks its event loop for 5 s", *LOOPS, short=True)
async def blocked(s: FaultyStage) -> None:
    """Its lane is shown as stalled, the others go on; off and on again work."""
    s.give("block")
    s.lab.set_target(s.faulty, 1)
    await s.stalls()
    await s.others_go_on()
    if thorough():  # whether its lane goes on by itself is seen where there is time for it
        s.lab.set_workload("hold")
        await s.holds(1)
        s.give("block")
        await s.stalls()
    await stops(s)
    assert not any("killed" in event for event in s.told())  # it listens, and ends by itself
    await s.on_again()


@lane_fault("workload-blocks-all", "a workload holds the interpreter's lock", "asyncio", "threads")
async def blocked_all(s: FaultyStage) -> None:
    """Its lane is shown as stalled, and killed 3 s after it was switched off; on again works."""
    s.give("block_all")
    s.lab.set_target(s.faulty, 5)
    await s.stalls()
    await s.others_go_on()
    await stops(s)
    await s.tells("did not stop within 3 s: killed")
    await s.others_go_on()
    await s.on_again()


@lane_fault("workload-refuses", "tasks swallow their cancellation", *LOOPS)
async def refused(s: FaultyStage) -> None:
    """What stands is shown, and not replaced; off ends it within 3 s; on again works."""
    s.give("refuse")
    await s.holds(100)
    s.lab.set_target(s.faulty, 0)
    await s.others_go_on()
    assert (s.faulty.live, s.counted("created"), s.faulty.state) == (100, 100, State.RUNNING)
    await stops(s)
    await s.on_again()


async def is_seen_to(s: FaultyStage, counter: str, tasks: int) -> None:
    """See that so many tasks end, and that the screen answers meanwhile."""
    await s.until(lambda: s.counted(counter) > tasks, f"{counter}: {tasks}")
    async with pulse(f"{s.faulty.engine.name}: "):
        await asyncio.sleep(2 if thorough() else 0.3)


@lane_fault("workload-raises", "every task raises, under refill", *ALL, short=True)
async def raised(s: FaultyStage) -> None:
    """One traceback and a count; the screen answers; off and on again work."""
    s.give("fail")
    s.lab.set_target(s.faulty, 1_000)
    await is_seen_to(s, "failed", 5_000)
    await s.tells("a task failed: ValueError: as every other")
    assert s.faulty.live <= 1_000
    await s.others_go_on()
    await stops(s)
    await s.on_again()


@lane_fault("workload-completes", "every task ends at once, under refill", *ALL, short=True)
async def completed(s: FaultyStage) -> None:
    """Never more live than asked for, no growth, the screen answers; another workload is taken."""
    await s.holds(10)
    idle = s.faulty.worker.stats.reading.rss
    s.lab.set_target(s.well, 0)
    s.lab.set_workload("nop")
    s.lab.set_target(s.faulty, 1_000)
    s.lab.set_target(s.well, 50)
    await is_seen_to(s, "completed", 10_000)
    assert s.faulty.worker.stats.peak_live <= 1_000
    assert s.faulty.worker.stats.reading.rss - idle < 64 << 20
    assert s.lab.events.count < 30, s.told()
    s.lab.set_workload("hold")
    await s.holds(50)
    await stops(s)
    await s.on_again()
