"""Accuracy of CPU time and memory, each compared with a known value."""

import json
import subprocess
from collections.abc import Mapping

from tests.apart import python
from tests.benchmarks.figures import MIB, Quantity, RowValues, benchmark, quiet

SPINNING_THREADS = """
import os, threading, time

def spin():
    end = time.thread_time() + 0.01
    while time.thread_time() < end:
        pass

def starter():
    for _ in range({tasks}):
        thread = threading.Thread(target=spin)
        thread.start()
        thread.join()

starters = [threading.Thread(target=starter) for _ in range({live})]
before = time.process_time()
for thread in starters:
    thread.start()
for thread in starters:
    thread.join()
print((time.process_time() - before) / ({live} * {tasks}))
"""
"""Prints the CPU seconds of a thread that spins for 10 ms: ``live`` at a time, ``tasks`` in turn."""


def run(engine: str, *arguments: str) -> dict[str, float]:
    """Run ``concwatch run`` and return its lane; it may exit with status 1 because tasks end."""
    command = ("-m", "concwatch", "run", "--json", engine, *arguments)
    return dict(json.loads(python(*command, check=False, stderr=subprocess.DEVNULL))["lanes"][0])


SPINNING = ("asyncio", "threads", "go")


@benchmark(
    "cpu-per-task",
    *(
        Quantity(f"cpu-{engine}", f"spin:0.01, {engine}: CPU a task", "ms", "1 ± 0.03 ×", "known")
        for engine in SPINNING
    ),
    Quantity(
        "cpu-threads-bare", "spin:0.01, threads: CPU a task", "ms", "1 ± 0.03 ×", "bare script of 20 threads"
    ),
)
def measure_cpu(quick: bool) -> Mapping[str, RowValues]:
    """Measure the CPU time of tasks that use 10 ms of it each."""
    found = {}
    for engine in SPINNING:
        quiet.wait()
        lane = run(engine, "--workload", "spin:0.01", "--tasks", "20", "--seconds", "3" if quick else "10")
        found[f"cpu-{engine}"] = RowValues([lane["cpu_per_task"] * 1e3], [10.0])
    bare = float(python("-c", SPINNING_THREADS.format(live=20, tasks=20 if quick else 50)))
    found["cpu-threads-bare"] = RowValues(found["cpu-threads"].values, [bare * 1e3])
    return found


BUDGETED = {
    f"budget-{engine}-{workload.partition(':')[0]}": (engine, workload)
    for engine, workload in (
        *((engine, "sleep:3600") for engine in ("asyncio", "uvloop", "tokio", "go", "java-virtual")),
        ("asyncio", "payload:64KiB"),
    )
}


@benchmark(
    "budget",
    *(
        Quantity(name, f"300 MiB, {engine}, {workload}: peak RSS", "MiB", "≤ 308 MiB")
        for name, (engine, workload) in BUDGETED.items()
    ),
)
def measure_budget(quick: bool) -> Mapping[str, RowValues]:
    """Measure the peak RSS of workers whose target needs more than their budget of 300 MiB."""
    found = {}
    for name, (engine, workload) in list(BUDGETED.items())[: 1 if quick else None]:
        options = ("--tasks", "2M", "--seconds", "1", "--max-memory", "300MiB", "--force")
        found[name] = RowValues([run(engine, "--workload", workload, *options)["peak_rss"] / MIB])
    return found
