"""More is asked for than the memory budget, or the machine, has."""

import asyncio
import subprocess
import sys
import time

from concwatch.lab.lab import Lab
from concwatch.lab.lane_state import State
from concwatch.lab.settings import Settings
from concwatch.lab.snapshot import Snapshot
from concwatch.system.memory import Memory
from tests.faults.fault import Fault
from tests.faults.real_lab import real_lab

MIB = 1 << 20
GIB = 1 << 30
OVER = 1.1
"""How much of the budget may be taken at most."""
LONG = 150.0
"""Seconds that hundreds of thousands of tasks may take on a loaded machine."""

ATTEMPTS = 3

UNSEEN = 0.2
"""Seconds between two looks of the lab, usually 0.1, beyond which it is not let run as it should be."""


async def pass_budget(budget: int, workload: str) -> str:
    """Ask for a million tasks, which the budget cannot hold; then for fewer.

    Where a busy machine did not let the lab run for a while, that says nothing about the lab: once more.
    """
    for _ in range(ATTEMPTS):
        peak, unseen = await fill_budget(budget, workload)
        print(f"{peak / MIB:.1f} MiB of {budget / MIB:.0f} MiB; unseen for {unseen:.2f} s", file=sys.stderr)
        if peak <= budget * OVER or unseen < UNSEEN:
            break
    assert peak <= budget * OVER, f"{peak / MIB:.1f} MiB of {budget / MIB:.0f} MiB"
    return ""


async def fill_budget(budget: int, workload: str) -> tuple[float, float]:
    """Do so once; give the bytes that were taken at most, and for how long the lab was not let run."""
    async with real_lab("asyncio", settings=Settings(workload), budget=budget) as real:
        lab, lane = real.lab, real.lane("asyncio")
        most, last, unseen = 0, lab.clock() - time.process_time(), 0.0

        def look(snapshot: Snapshot) -> None:
            nonlocal most, last, unseen
            idle = snapshot.time - time.process_time()  # what the lab itself works is its own fault
            most = max(most, lab.total_rss)
            if lane.worker.limit is None:
                unseen, last = max(unseen, idle - last), idle

        lab.observers.append(look)
        lab.set_target(lane, 1_000_000)
        await real.until(lambda: lane.worker.limit is not None, "the budget is hit", LONG)
        assert lane.worker.limit is not None
        assert (lane.worker.limit.wall, lane.worker.limit.value) == ("memory budget", budget)
        told(lab, "memory budget: workers take", f"of {budget // MIB} MiB", "growth stopped")
        standing = lane.target
        await real.until(lambda: lane.live == standing, "what stands is held")
        await real.ticks(lane, 5)
        assert (lane.on, lane.live, lane.target) == (True, standing, standing)
        assert 0 < standing < 1_000_000
        peak = max(most, lane.status.peak_rss or 0)
        await real.holds(lane, standing // 2)
        return peak, unseen


async def lose_memory() -> str:
    """Have the machine run out of memory, by made-up readings: the largest lane goes, the others stay."""
    available = 10 * GIB
    names = ("asyncio", "uvloop", "pool")
    async with real_lab(*names, memory=lambda: Memory(16 * GIB, available, "memory")) as real:
        lab, (small, large, other) = real.lab, real.lab.lanes
        for lane, tasks in ((small, 100), (large, 20_000), (other, 100)):
            await real.holds(lane, tasks)
        available = 400 * MIB
        await real.settles(large, State.FAILED)
        available = 9 * GIB
        await real.until(lambda: large.idle, "its process has ended")
        await real.ticks(small, 15)  # one more look at the memory at least
        assert (small.on, other.on, small.live, other.live) == (True, True, 100, 100)
        told(lab, "400 MiB left of the 10 GiB available at the start")
        told(lab, "failed: stopped at", "MiB")
        await real.holds(large, 50)
    return ""


def told(lab: Lab, *parts: str) -> None:
    """See that one event has all of ``parts``."""
    texts = [event.text for event in lab.events.since(0)]
    assert any(all(part in text for part in parts) for text in texts), texts


def refuse_run() -> str:
    """Have ``concwatch run`` asked for what does not fit, then forced."""
    command = [sys.executable, "-m", "concwatch", "run", "asyncio", "--tasks", "1M", "--max-memory", "60MiB"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, ""), done
    assert len(done.stderr.splitlines()) == 1
    for figure in ("1,000,000 tasks", "needs about 1.43 GiB", "the memory budget is 60 MiB", "--force"):
        assert figure in done.stderr, done.stderr
    forced = [*command, "--force", "--seconds", "0.1"]
    done = subprocess.run(forced, capture_output=True, text=True, timeout=80, check=False)
    assert done.returncode == 1, done  # fewer stand than were asked for
    assert "memory budget (60 MiB) reached at" in done.stderr, done
    return ""


HOLDS = "growth stops within 10 % over, the figures are in the event log, nothing is killed"

FAULTS = (
    Fault(
        "budget-million",
        "budget of 300 MiB, target 1,000,000",
        HOLDS,
        lambda: asyncio.run(pass_budget(300 * MIB, "sleep:600")),
        short=False,
        seconds=180.0,
    ),
    Fault(
        "budget-small",
        "budget of 80 MiB, target 1,000,000",
        HOLDS,
        lambda: asyncio.run(pass_budget(80 * MIB, "sleep:600")),
    ),
    Fault(
        "budget-payload",
        "budget of 300 MiB, target 1,000,000 that hold 10 KiB each",
        HOLDS,
        lambda: asyncio.run(pass_budget(300 * MIB, "payload:10KiB")),
    ),
    Fault(
        "budget-chunks",
        "budget of 300 MiB, target 1,000,000 that hold 10 MiB each",
        HOLDS,
        lambda: asyncio.run(pass_budget(300 * MIB, "payload:10MiB")),
    ),
    Fault(
        "memory-gone",
        "95 % of the memory that was available is taken (made-up readings)",
        "the largest lane is stopped, with the figures; the others go on; on again works",
        lambda: asyncio.run(lose_memory()),
    ),
    Fault(
        "run-refused",
        "`concwatch run` asked for more than the budget",
        "refused in one line before anything starts; with `--force` growth stops at the budget",
        refuse_run,
    ),
)
