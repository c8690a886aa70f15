"""The screen of ``concwatch watch`` beside a large program: its own CPU time."""

import statistics
import sys
import time
from collections.abc import Mapping

from tests.benchmarks.figures import MIB, Quantity, RowValues, benchmark, quiet
from tests.benchmarks.terminal import DrawnTerminal

PROCESSES, GROUPS, TASKS = 20, 200, 4
"""Processes, coroutine functions of each, and live tasks of each function on average."""

LARGE_PROGRAM = """
import asyncio, multiprocessing, random, sys

processes, groups, tasks = map(int, sys.argv[1:])
for number in range(groups):
    exec(f"async def handle_{number}(seconds): await asyncio.sleep(seconds)")

async def replaced(function):
    while True:
        count = random.randrange(2 * tasks + 1)
        await asyncio.gather(*[function(random.uniform(1, 8)) for _ in range(count)])
        await asyncio.sleep(random.uniform(0.1, 0.5))

async def main():
    await asyncio.gather(*[replaced(globals()[f"handle_{number}"]) for number in range(groups)])

if __name__ == "__main__":
    fork = multiprocessing.get_context("fork")
    for _ in range(processes - 1):
        fork.Process(target=lambda: asyncio.run(main()), daemon=True).start()
    asyncio.run(main())
"""
"""Each function has tasks that live for 1 to 8 seconds, so that all of its figures change."""

STEP = 1.0
"""Seconds of one reading of the CPU time."""


@benchmark(
    "watched-screen",
    Quantity("cpu", f"concwatch's own CPU, {PROCESSES} watched processes of {GROUPS} groups", "%", "≤ 15 %"),
)
def measure_watched_screen(quick: bool) -> Mapping[str, RowValues]:
    """Measure per cent of a core of a screen of 120x40, from outside."""
    program = ("-c", LARGE_PROGRAM, *map(str, (PROCESSES, GROUPS, TASKS)))
    quiet.wait()
    with DrawnTerminal("-m", "concwatch", "watch", "--", sys.executable, *program) as screen:
        screen.patience = 120.0
        screen.shows(f"total of {PROCESSES}")
        screen.run(5.0 if quick else 45.0)  # growth is computed from half a minute on
        readings = []
        for _ in range(5 if quick else 30):
            before, began = sum(screen.monitor.cpu_times()[:2]), time.monotonic()
            screen.run(STEP)
            used = sum(screen.monitor.cpu_times()[:2]) - before
            readings.append(used / (time.monotonic() - began) * 100)
        rss = screen.monitor.memory_info().rss / MIB
    detail = {"highest, %": max(readings), "RSS, MiB": round(rss, 1)}
    return {"cpu": RowValues([statistics.fmean(readings)], detail=detail)}
