"""More is asked for than the memory budget, or the machine, has."""

import subprocess
import sys
import time
from functools import partial

from concwatch.lab.lab import Lab
from concwatch.lab.snapshot import Snapshot, State
from concwatch.system.memory import Memory
from tests.faults.driving import real_lab
from tests.faults.fault import fault

MIB = 1 << 20
GIB = 1 << 30
OVER = 1.1
"""How much of the budget may be taken at most."""
LONG = 150.0
"""Seconds that hundreds of thousands of tasks may take on a loaded machine."""

ATTEMPTS = 3

UNSEEN = 0.2
"""Seconds between two looks of the lab, usually 0.1, beyond which it is not let run as it should be."""


async def pass_budget(budget: int, workload: str) -> None:
    """Ask for a million tasks, which the budget cannot hold; then for fewer.

    Where a busy machine did not let the lab run for a while, that says nothing about the lab: once more.
    """
    for _ in range(ATTEMPTS):
        peak, unseen = await fill_budget(budget, workload)
        print(f"{peak / MIB:.1f} MiB of {budget / MIB:.0f} MiB; unseen for {unseen:.2f} s", file=sys.stderr)
        if peak <= budget * OVER or unseen < UNSEEN:
            break
    assert peak <= budget * OVER, f"{peak / MIB:.1f} MiB of {budget / MIB:.0f} MiB"


async def fill_budget(budget: int, workload: str) -> tuple[float, float]:
    """Do so once; return the bytes that were taken at most, and for how long the lab was not let run."""
    async with real_lab("asyncio", workload=workload, budget=budget) as real:
        lab, lane = real.lab, real.faulty
        most, last, unseen = 0, lab.clock() - time.process_time(), 0.0

        def look(snapshot: Snapshot) -> None:
            nonlocal most, last, unseen
            idle = snapshot.time - time.process_time()  # what the lab itself works is its own fault
            most = max(most, lab.total_rss)
            if lane.worker.goal.limit is None:
                unseen, last = max(unseen, idle - last), idle

        lab.observers.append(look)
        lab.set_target(lane, 1_000_000)
        await real.until(lambda: lane.worker.goal.limit is not None, "the budget is hit", LONG)
        assert (lane.worker.goal.limit.wall, lane.worker.goal.limit.value) == ("memory budget", budget)
        told(lab, "memory budget: workers use", f"of {budget // MIB} MiB", "growth stopped")
        standing = lane.target
        await real.until(lambda: lane.live == standing, "what stands is held")
        await real.ticks(5)
        assert (lane.on, lane.live, lane.target) == (True, standing, standing)
        assert 0 < standing < 1_000_000
        peak = max(most, lane.status.peak_rss or 0)
        await real.holds(standing // 2)
        return peak, unseen


def told(lab: Lab, *parts: str) -> None:
    """See that one event has all of ``parts``."""
    texts = [event.text for event in lab.events.since(0)]
    assert any(all(part in text for part in parts) for text in texts), texts


for name, mib, workload, hold in (
    ("million", 300, "sleep:600", ""),
    ("small", 80, "sleep:600", ""),
    ("payload", 300, "payload:10KiB", " that hold 10 KiB each"),
    ("chunks", 300, "payload:10MiB", " that hold 10 MiB each"),
):
    fault(
        f"budget-{name}",
        f"budget of {mib} MiB, target 1,000,000{hold}",
        short=name in ("small", "chunks"),
        seconds=180.0,
    )(partial(pass_budget, mib * MIB, workload))


@fault("memory-gone", "95 % of the memory that was available is taken (made-up readings)", short=True)
async def lose_memory() -> None:
    """The largest lane is stopped, with the figures; the others go on; on again works."""
    available = 10 * GIB
    names = ("asyncio", "uvloop", "pool")
    async with real_lab(*names, memory=lambda: Memory(16 * GIB, available, "memory")) as real:
        lab, (small, large, other) = real.lab, real.lab.lanes
        for lane, tasks in ((small, 100), (large, 20_000), (other, 100)):
            await real.holds(tasks, lane)
        available = 400 * MIB
        await real.becomes(State.FAILED, lane=large)
        available = 9 * GIB
        await real.until(lambda: large.idle, "its process has ended")
        await real.ticks(15)  # one more look at the memory at least
        assert (small.on, other.on, small.live, other.live) == (True, True, 100, 100)
        told(lab, "400 MiB left of the 10 GiB available at the start")
        told(lab, "failed: stopped at", "MiB")
        await real.holds(50, large)


@fault("run-refused", "`concwatch run` asked for more than the budget", short=True)
def refuse_run() -> None:
    """Refused in one line before anything starts; with `--force` growth stops at the budget."""
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
