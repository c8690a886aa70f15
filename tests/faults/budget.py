"""Targets above the memory budget, and a machine without free memory."""

import subprocess
import sys
import time
from functools import partial

from concwatch.monitor.lanes.host_lanes import LocalMachine
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.metrics.state import State
from concwatch.system.memory import Memory
from tests.faults.driving import real_lab
from tests.faults.fault import fault

MIB = 1 << 20
GIB = 1 << 30
MOST = 1.1
"""Largest allowed memory, as a share of the budget."""
LONG = 150.0
"""Timeout in seconds for hundreds of thousands of tasks on a loaded machine."""

ATTEMPTS = 3

LONG_PAUSE = 0.2
"""Seconds between two steps of the lab (usually 0.1) above which the machine was too busy."""


async def pass_budget(budget: int, workload: str) -> None:
    """Set a target of a million tasks, which exceeds the budget, then a lower one.

    Repeat this if the machine was too busy to run the lab.
    """
    for _ in range(ATTEMPTS):
        peak, pause = await fill_budget(budget, workload)
        print(f"{peak / MIB:.1f} MiB of {budget / MIB:.0f} MiB; longest pause {pause:.2f} s", file=sys.stderr)
        if peak <= budget * MOST or pause < LONG_PAUSE:
            break
    assert peak <= budget * MOST, f"{peak / MIB:.1f} MiB of {budget / MIB:.0f} MiB"


async def fill_budget(budget: int, workload: str) -> tuple[float, float]:
    """Do this once. Return the peak memory and the longest pause of the lab."""
    async with real_lab("asyncio", workload=workload, budget=budget) as real:
        lab, lane = real.lab, real.faulty
        most, last, pause = 0, lab.clock() - time.process_time(), 0.0

        def record(snapshot: Snapshot) -> None:
            nonlocal most, last, pause
            idle = snapshot.time - time.process_time()  # without the lab's own CPU time
            most = max(most, lab.fleet.memory)
            if lane.target.limit is None:
                pause, last = max(pause, idle - last), idle

        lab.observers.append(record)
        lab.set_target(lane, 1_000_000)
        await real.until(lambda: lane.target.limit is not None, "the budget is reached", LONG)
        assert (lane.target.limit.name, lane.target.limit.value) == ("memory budget", budget)
        assert_logged(lab, "memory budget: workers use", f"of {budget // MIB} MiB", "growth stopped")
        held = lane.target.tasks
        await real.until(lambda: lane.live == held, "the live tasks are kept")
        await real.wait_for_ticks(5)
        assert (lane.on, lane.live, lane.target.tasks) == (True, held, held)
        assert 0 < held < 1_000_000
        peak = max(most, lane.worker.status.peak_rss or 0)
        await real.hold(held // 2)
        return peak, pause


def assert_logged(lab: Lab, *parts: str) -> None:
    """Check that one event contains all ``parts``."""
    texts = [event.text for event in lab.events.since(0)]
    assert any(all(part in text for part in parts) for text in texts), texts


for name, mib, workload, hold in (
    ("million", 300, "sleep:600", ""),
    ("small", 80, "sleep:600", ""),
    ("payload", 300, "payload:10KiB", ", tasks of 10 KiB"),
    ("chunks", 300, "payload:10MiB", ", tasks of 10 MiB"),
):
    title = f"a target of 1,000,000 above the budget: {mib} MiB{hold}"
    fault(f"budget-{name}", title, seconds=180.0)(partial(pass_budget, mib * MIB, workload))


@fault("memory-gone", "95 % of the available memory is used (simulated readings)")
async def lose_memory() -> None:
    """The largest lane is stopped and the figures are logged. The others continue. It can be restarted."""
    available = 10 * GIB
    names = ("asyncio", "uvloop", "pool")
    async with real_lab(*names, machine=LocalMachine(lambda: Memory(16 * GIB, available, "memory"))) as real:
        lab, (small, large, other) = real.lab, real.lab.lanes
        for lane, tasks in ((small, 100), (large, 20_000), (other, 100)):
            await real.hold(tasks, lane)
        available = 400 * MIB
        await real.wait_for_state(State.FAILED, lane=large)
        available = 9 * GIB
        await real.until(lambda: large.idle, "the worker has ended")
        await real.wait_for_ticks(15)  # memory is read at least once more
        assert (small.on, other.on, small.live, other.live) == (True, True, 100, 100)
        assert_logged(lab, "400 MiB left of the 10 GiB available at the start")
        assert_logged(lab, "failed: stopped at", "MiB")
        await real.hold(50, large)


@fault("run-refused", "`concwatch run` with a target above the budget")
def refuse_run() -> None:
    """Refused with one line before a worker starts. With `--force`, growth stops at the budget."""
    command = [sys.executable, "-m", "concwatch", "run", "asyncio", "--tasks", "1M", "--max-memory", "60MiB"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, ""), done
    assert len(done.stderr.splitlines()) == 1
    for figure in ("1,000,000 tasks", "needs about 1.43 GiB", "the memory budget is 60 MiB", "--force"):
        assert figure in done.stderr, done.stderr
    forced = [*command, "--force", "--seconds", "0.1"]
    done = subprocess.run(forced, capture_output=True, text=True, timeout=80, check=False)
    assert done.returncode == 1, done  # fewer tasks than requested
    assert "memory budget (60 MiB) reached at" in done.stderr, done
