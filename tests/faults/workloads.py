"""Workloads that do not let their worker work."""

import asyncio
import time

from concwatch.lab.lane_state import State
from concwatch.lab.worker import STOP_LIMIT
from tests.faults.driving import LOOPS, PATIENCE, FaultyStage, driven, engines, inject, thorough
from tests.faults.fault import Fault

JOBS = """
import asyncio, time

async def blocks():
    time.sleep(5)

async def blocks_all():
    "Hold the interpreter's own lock as well: no thread of the worker runs meanwhile."
    sum(range(10**11))

def blocks_threads():
    sum(range(10**11))

async def refuses():
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass

async def raises():
    raise ValueError("as every other")

def raises_in_thread():
    raise ValueError("as every other")
"""


async def stops(s: FaultyStage) -> float:
    """Switch the faulty lane off, and give the seconds until it is."""
    began = time.monotonic()
    s.lab.switch(s.faulty, False)
    await s.becomes(State.OFF)
    took = time.monotonic() - began
    if thorough():
        assert took < STOP_LIMIT + 1, took
    return took


async def blocked() -> None:
    """Block the loop for 5 s; whether its lane goes on by itself is seen where there is time for it."""
    for engine in engines(*LOOPS):
        async with driven(engine, jobs=JOBS) as s:
            s.lab.set_workload("jobs:blocks")
            s.lab.set_target(s.faulty, 1)
            await s.becomes(State.STALLED)
            await s.sees("stalled", within=s.card(engine))
            await s.others_go_on()
            if thorough():
                s.lab.set_workload("hold")
                await s.holds(1)
                s.lab.set_workload("jobs:blocks")
                await s.becomes(State.STALLED)
            await stops(s)
            assert not any("killed" in event for event in s.told())  # it listens, and ends by itself
            await s.on_again()


async def blocked_all() -> None:
    """Block the whole interpreter, so that the worker hears nothing and sends nothing."""
    for engine in engines("asyncio", "threads"):
        async with driven(engine, jobs=JOBS) as s:
            s.lab.set_workload("jobs:blocks_all" if engine in LOOPS else "jobs:blocks_threads")
            s.lab.set_target(s.faulty, 5)
            await s.becomes(State.STALLED)
            await s.others_go_on()
            await stops(s)
            await s.tells("did not stop within 3 s: killed")
            await s.others_go_on()
            await s.on_again()


async def refused() -> None:
    for engine in engines(*LOOPS):
        async with driven(engine, jobs=JOBS) as s:
            s.lab.set_workload("jobs:refuses")
            await s.holds(100)
            s.lab.set_target(s.faulty, 0)
            await s.others_go_on()
            assert s.faulty.live == 100
            assert s.faulty.tally.tick is not None
            assert s.faulty.tally.tick.created == 100
            assert s.faulty.state is State.RUNNING
            await stops(s)
            await s.on_again()


async def raised() -> None:
    for engine in engines("asyncio", "threads", "pool", "uvloop"):
        async with driven(engine, jobs=JOBS) as s:
            s.lab.set_workload("jobs:raises" if engine in LOOPS else "jobs:raises_in_thread")
            s.lab.set_target(s.faulty, 1_000)
            await s.until(
                lambda: s.faulty.tally.tick is not None and s.faulty.tally.tick.failed > 5_000,
                "they fail",
                PATIENCE,
            )
            async with s.pulse(f"{engine}: ") as pulse:
                await asyncio.sleep(2 if thorough() else 0.3)
            pulse.assert_well()
            await s.tells("a task failed: ValueError: as every other")
            assert s.faulty.live <= 1_000
            await s.others_go_on()
            await stops(s)
            await s.on_again()


async def completed() -> None:
    for engine in engines("asyncio", "threads", "pool", "uvloop"):
        async with driven(engine) as s:
            await s.holds(10)
            assert s.faulty.tally.reading is not None
            idle = s.faulty.tally.reading.rss
            s.lab.set_target(s.well, 0)
            s.lab.set_workload("nop")
            s.lab.set_target(s.faulty, 1_000)
            s.lab.set_target(s.well, 50)
            await s.until(
                lambda: s.faulty.tally.tick is not None and s.faulty.tally.tick.completed > 10_000,
                "they complete",
                PATIENCE,
            )
            async with s.pulse(f"{engine}: ") as pulse:
                await asyncio.sleep(2 if thorough() else 0.3)
            pulse.assert_well()
            assert s.faulty.tally.peak_live <= 1_000
            assert s.faulty.tally.reading is not None
            assert s.faulty.tally.reading.rss - idle < 64 << 20
            assert s.lab.events.count < 30, s.told()
            s.lab.set_workload("hold")
            await s.holds(50)
            await stops(s)
            await s.on_again()


FAULTS = (
    Fault(
        "workload-blocks",
        "a workload blocks its event loop for 5 s",
        "its lane is shown as stalled, the others go on; off and on again work",
        lambda: inject(blocked()),
    ),
    Fault(
        "workload-blocks-all",
        "a workload holds the interpreter's lock",
        "its lane is shown as stalled, and killed 3 s after it was switched off; on again works",
        lambda: inject(blocked_all()),
        short=False,
    ),
    Fault(
        "workload-refuses",
        "tasks swallow their cancellation",
        "what stands is shown, and not replaced; off ends it within 3 s; on again works",
        lambda: inject(refused()),
    ),
    Fault(
        "workload-raises",
        "every task raises, under refill",
        "one traceback and a count; the screen answers; off and on again work",
        lambda: inject(raised()),
    ),
    Fault(
        "workload-completes",
        "every task ends at once, under refill",
        "never more live than asked for, no growth, the screen answers; another workload is taken",
        lambda: inject(completed()),
    ),
)
