"""Whether the figures are true: each against what is known from elsewhere."""

import asyncio
import csv
import io
import json
import math
import random
import statistics
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from concwatch.lab.catalog import find
from concwatch.lab.lab import Lab
from concwatch.lab.settings import Settings
from tests.apart import ROOT, python
from tests.benchmarks.figures import MIB, Measured, Row, benchmark, quiet, running

BURST = 500

JOBS = """
import asyncio, atexit, os, random, time

chosen, lengths = random.Random(7), []

async def job():
    began = time.perf_counter()
    await asyncio.sleep(chosen.lognormvariate(-1.6, 0.5))
    lengths.append(time.perf_counter() - began)
    if len(lengths) % 1000 == 0:
        with open("lengths", "w") as file:
            file.write("\\n".join(map(str, lengths)))
"""
"""Tasks of known length, which they write down."""

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
"""Prints the seconds of CPU of a thread that spins for 10 ms: ``live`` at a time, ``tasks`` in turn."""


def run(engine: str, *arguments: str, folder: Path = ROOT) -> dict[str, float]:
    """Run ``concwatch run`` and return its lane; of tasks that end it may well exit with 1."""
    command = ("-m", "concwatch", "run", "--json", engine, *arguments)
    out = python(*command, cwd=folder, check=False, stderr=subprocess.DEVNULL)
    return dict(json.loads(out)["lanes"][0])


@benchmark(
    "burst-heights",
    Row(
        "burst-heights",
        "the burst of 500 at 50 random moments: furthest from the median",
        "of 1",
        "≤ 0.1 of 1",
    ),
)
def measure_bursts(quick: bool) -> Mapping[str, Measured]:
    """Measure how far apart the highest rates of equal bursts of tasks are."""
    quiet.wait()
    heights = asyncio.run(burst_heights(5 if quick else 50))
    middle = statistics.median(heights)
    furthest = max(abs(height / middle - 1) for height in heights)
    return {"burst-heights": Measured([furthest], detail={"heights": heights})}


async def burst_heights(count: int) -> list[float]:
    """Start `BURST` tasks at random moments and return the highest rate of each."""
    heights, moments = [], random.Random(7)
    async with running(Lab(find(["asyncio"]), settings=Settings(workload="sleep:0.3", refill=False))) as lab:
        lane = lab.lanes[0]
        lab.switch(lane, True)
        await asyncio.sleep(1.5)
        for _ in range(count):
            await asyncio.sleep(0.6 + moments.random() / 5)
            began = lab.clock()
            lab.set_target(lane, BURST)
            await asyncio.sleep(0.45)
            _, rates = lane.series.since("created_per_second", began)
            heights.append(max(rate for rate in rates if not math.isnan(rate)))
            lab.set_target(lane, 0)
    return heights


@benchmark(
    "rates-added-up",
    Row(
        "rates-added-up",
        "created_per_second of a recording, added up",
        "tasks",
        "1 ± 0.02 ×",
        "tasks created",
    ),
)
def measure_sum(quick: bool) -> Mapping[str, Measured]:
    """Measure what the created tasks a second of a recording add up to."""
    tasks = 100_000 if quick else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/grown.cast"
        quiet.wait()
        options = ("--workload", "sleep:3600", "--seconds", "1", "--record", file)
        run("asyncio", "--tasks", str(tasks), *options)
        text = python("-m", "concwatch", "export", "--csv", file, stderr=subprocess.DEVNULL)
    total, before = 0.0, None
    for row in csv.DictReader(io.StringIO(text)):
        if before is not None and row["created_per_second"]:
            total += float(row["created_per_second"]) * (float(row["time"]) - before)
        before = float(row["time"])
    return {"rates-added-up": Measured([total], [float(tasks)])}


@benchmark(
    "durations",
    Row("duration-p50", "log-normal tasks: p50", "s", "1 ± 0.03 ×", "their own record"),
    Row("duration-p99", "log-normal tasks: p99", "s", "1 ± 0.05 ×", "their own record"),
)
def measure_lengths(quick: bool) -> Mapping[str, Measured]:
    """Measure the quantiles of tasks of known length, against their own record."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "jobs.py").write_text(JOBS)
        quiet.wait()
        options = ("--workload", "jobs:job", "--tasks", "800", "--seconds", "3" if quick else "10")
        lane = run("asyncio", *options, folder=folder)
        known = sorted(map(float, (folder / "lengths").read_text().split()))
    return {
        f"duration-{name}": Measured([lane[f"duration_{name}"]], [known[math.ceil(share * len(known)) - 1]])
        for name, share in (("p50", 0.5), ("p99", 0.99))
    }


SPINNING = ("asyncio", "threads", "go")


@benchmark(
    "cpu-per-task",
    *(
        Row(f"cpu-{engine}", f"spin:0.01, {engine}: CPU a task", "ms", "1 ± 0.03 ×", "known")
        for engine in SPINNING
    ),
    Row(
        "cpu-threads-bare", "spin:0.01, threads: CPU a task", "ms", "1 ± 0.03 ×", "bare script of 20 threads"
    ),
)
def measure_cpu(quick: bool) -> Mapping[str, Measured]:
    """Measure the CPU time of tasks that use 10 ms of it each."""
    found = {}
    for engine in SPINNING:
        quiet.wait()
        lane = run(engine, "--workload", "spin:0.01", "--tasks", "20", "--seconds", "3" if quick else "10")
        found[f"cpu-{engine}"] = Measured([lane["cpu_per_task"] * 1e3], [10.0])
    bare = float(python("-c", SPINNING_THREADS.format(live=20, tasks=20 if quick else 50)))
    found["cpu-threads-bare"] = Measured(found["cpu-threads"].values, [bare * 1e3])
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
        Row(name, f"300 MiB, {engine}, {workload}: peak RSS", "MiB", "≤ 308 MiB")
        for name, (engine, workload) in BUDGETED.items()
    ),
)
def measure_budget(quick: bool) -> Mapping[str, Measured]:
    """Measure the highest RSS of workers that may take 300 MiB and are asked for more."""
    found = {}
    for name, (engine, workload) in list(BUDGETED.items())[: 1 if quick else None]:
        options = ("--tasks", "2M", "--seconds", "1", "--max-memory", "300MiB", "--force")
        found[name] = Measured([run(engine, "--workload", workload, *options)["peak_rss"] / MIB])
    return found
