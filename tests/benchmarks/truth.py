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

from .bare import cpu_per_thread
from .figures import PYTHON, Benchmark, Measured, Reach, Row, environment, quiet

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


def run(*arguments: str, folder: Path | None = None) -> list[dict[str, float]]:
    """Run ``concwatch run`` and return its lanes; of tasks that end it may well exit with 1."""
    done = subprocess.run(
        [PYTHON, "-m", "concwatch", "run", "--json", *arguments],
        capture_output=True, text=True, env=environment(), cwd=folder, check=False,
    )  # fmt: skip
    lanes: list[dict[str, float]] = json.loads(done.stdout)["lanes"]
    return lanes


async def burst_heights(count: int) -> list[float]:
    """Start `BURST` tasks at random moments and return the highest rate of each."""
    lab = Lab(find(["asyncio"]), settings=Settings(workload="sleep:0.3", refill=False))
    stepping = asyncio.get_running_loop().create_task(lab.run())
    lane, heights, moments = lab.lanes[0], [], random.Random(7)
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
    stepping.cancel()
    await lab.close()
    return heights


def measure_bursts(quick: bool) -> Mapping[str, Measured]:
    """Measure how far apart the heights of equal bursts are."""
    quiet.wait()
    heights = asyncio.run(burst_heights(5 if quick else 50))
    middle = statistics.median(heights)
    return {
        "burst-heights": Measured(
            [max(abs(height / middle - 1) for height in heights)], detail={"heights": heights}
        )
    }


def measure_sum(quick: bool) -> Mapping[str, Measured]:
    """Measure what the created tasks a second of a recording add up to."""
    tasks = 100_000 if quick else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "grown.cast"
        quiet.wait()
        run(
            "asyncio",
            "--tasks",
            str(tasks),
            "--workload",
            "sleep:3600",
            "--seconds",
            "1",
            "--record",
            str(file),
        )
        text = subprocess.run(
            [PYTHON, "-m", "concwatch", "export", "--csv", str(file)],
            capture_output=True, text=True, env=environment(), check=True,
        ).stdout  # fmt: skip
    total, before = 0.0, None
    for row in csv.DictReader(io.StringIO(text)):
        if before is not None and row["created_per_second"]:
            total += float(row["created_per_second"]) * (float(row["time"]) - before)
        before = float(row["time"])
    return {"rates-added-up": Measured([total], [float(tasks)])}


def measure_lengths(quick: bool) -> Mapping[str, Measured]:
    """Measure the quantiles of tasks of known length, against their own record."""
    found = {"duration-p50": Measured(), "duration-p99": Measured()}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "jobs.py").write_text(JOBS)
        quiet.wait()
        lane = run(
            "asyncio", "--workload", "jobs:job", "--tasks", "800", "--seconds", "3" if quick else "10",
            folder=Path(folder),
        )[0]  # fmt: skip
        known = sorted(map(float, (Path(folder) / "lengths").read_text().split()))
    for name, share in (("duration_p50", 0.5), ("duration_p99", 0.99)):
        row = found[name.replace("_", "-")]
        row.values.append(lane[name])
        row.reference.append(known[math.ceil(share * len(known)) - 1])
    return found


def measure_cpu(quick: bool) -> Mapping[str, Measured]:
    """Measure the CPU time of tasks that use 10 ms of it each."""
    found = {}
    for engine in ("asyncio", "threads", "go"):
        quiet.wait()
        lane = run(engine, "--workload", "spin:0.01", "--tasks", "20", "--seconds", "3" if quick else "10")[0]
        found[f"cpu-{engine}"] = Measured([lane["cpu_per_task"] * 1e3], [10.0])
    bare = cpu_per_thread(20, 20 if quick else 50) * 1e3
    found["cpu-threads-bare"] = Measured(found["cpu-threads"].values, [bare])
    return found


BUDGETED = (
    ("asyncio", "sleep:3600"), ("uvloop", "sleep:3600"), ("tokio", "sleep:3600"), ("go", "sleep:3600"),
    ("java-virtual", "sleep:3600"), ("asyncio", "payload:64KiB"),
)  # fmt: skip


def measure_budget(quick: bool) -> Mapping[str, Measured]:
    """Measure the highest RSS of workers that may take 300 MiB and are asked for more."""
    found = {}
    for engine, workload in BUDGETED[: 1 if quick else None]:
        options = ("--tasks", "2M", "--seconds", "1", "--max-memory", "300MiB", "--force")
        lane = run(engine, "--workload", workload, *options)[0]
        found[f"budget-{engine}-{workload.partition(':')[0]}"] = Measured([lane["peak_rss"] / 2**20])
    return found


BENCHMARKS = (
    Benchmark(
        "burst-heights",
        (Row("burst-heights", "the burst of 500 at 50 random moments: furthest from the median", "of 1", "",
             Reach("at most", 0.1, "measured")),),
        measure_bursts,
    ),
    Benchmark(
        "rates-added-up",
        (Row("rates-added-up", "created_per_second of a recording, added up", "tasks", "tasks created",
             Reach("within", 0.02)),),
        measure_sum,
    ),
    Benchmark(
        "durations",
        (
            Row("duration-p50", "log-normal tasks: p50", "s", "their own record", Reach("within", 0.03)),
            Row("duration-p99", "log-normal tasks: p99", "s", "their own record", Reach("within", 0.05)),
        ),
        measure_lengths,
    ),
    Benchmark(
        "cpu-per-task",
        (
            *(
                Row(f"cpu-{engine}", f"spin:0.01, {engine}: CPU a task", "ms", "known", Reach("within", 0.03))
                for engine in ("asyncio", "threads", "go")
            ),
            Row("cpu-threads-bare", "spin:0.01, threads: CPU a task", "ms", "bare script of 20 threads",
                Reach("within", 0.03)),
        ),
        measure_cpu,
    ),
    Benchmark(
        "budget",
        tuple(
            Row(f"budget-{engine}-{workload.partition(':')[0]}", f"300 MiB, {engine}, {workload}: peak RSS",
                "MiB", "", Reach("at most", 308, "measured"))
            for engine, workload in BUDGETED
        ),
        measure_budget,
    ),
)  # fmt: skip
