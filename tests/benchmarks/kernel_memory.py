"""Memory per task, RSS and kernel together, beside what the worker's control group is charged."""

import asyncio
import statistics
from collections.abc import Mapping

from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.workers.catalog import CATALOG
from tests.benchmarks.figures import MIB, Quantity, RowValues, benchmark, quiet
from tests.worker_driver import row_of, running_lab, start_command, until

SIZES = {"1k": 1_000, "10k": 10_000}

SETTLED, INTERVAL = 3.0, 0.1
"""Seconds for which tasks are held, and between two readings of the charge."""

ENGINES = tuple(engine.name for engine in CATALOG if not engine.queues and engine.name != "sequential")

CASES = {
    **{(engine, "hold", size): f"{engine}-{size}" for engine in (*ENGINES, "pool") for size in SIZES},
    **{
        (engine, "connect", size): f"{engine}-connect-{size}"
        for engine in ("asyncio", "threads", "go")
        for size in SIZES
    },
}


def charge(pid: int) -> int:
    """Return the bytes that the control group of a worker is charged, page cache excepted."""
    with open(f"/proc/{pid}/cgroup", encoding="ascii") as file:
        groups = [line.strip().split(":", 2) for line in file]
    path = next((path for _, controllers, path in groups if "memory" in controllers.split(",")), None)
    if path is not None:
        folder, kernel = f"/sys/fs/cgroup/memory{path}", 0
        for name in ("memory.kmem.usage_in_bytes", "memory.kmem.tcp.usage_in_bytes"):
            with open(f"{folder}/{name}", encoding="ascii") as file:
                kernel += int(file.read())
        names = ("total_rss",)
    else:
        folder, kernel, names = f"/sys/fs/cgroup{groups[0][2]}", 0, ("anon", "kernel", "sock")
    with open(f"{folder}/memory.stat", encoding="ascii") as file:
        rows = dict(line.split() for line in file)
    return kernel + sum(int(rows[name]) for name in names)


async def grown(engine: str, workload: str, tasks: int) -> tuple[float, float]:
    """Return memory per task times live tasks, and by how much the charge has grown, in bytes."""
    row = row_of(engine)
    async with running_lab([row], settings=Settings(workload)) as lab:
        (lane,) = lab.lanes
        lab.switch(lane, True)
        await until(lambda: lane.worker.stats.meter.idle is not None, "an idle worker")
        pid = lane.worker.stats.ready.pid
        before = charge(pid)  # of the same moment as the lane's baseline: some runtimes shrink when idle
        lab.set_target(lane, tasks)
        await until(lambda: lane.live >= tasks, f"{tasks} tasks live")
        charges = []
        for _ in range(round(SETTLED / INTERVAL)):
            await asyncio.sleep(INTERVAL)
            charges.append(charge(pid))
        return cost(lab), statistics.median(charges) - before  # the cost is a median of samples too


def cost(lab: Lab) -> float:
    """Return the memory that all tasks of a lab's only lane take."""
    (lane,) = lab.snapshot(0.0).lanes
    sample = lane.sample
    assert sample.rss_per_task is not None, "no cost"
    assert sample.kernel_per_task is not None, "no kernel memory"
    return (sample.rss_per_task + sample.kernel_per_task) * lane.live


@benchmark(
    "kernel-memory",
    *(
        Quantity(
            name, f"{size} {engine}, {workload}: memory", "MiB", "1 ± 0.05 ×", "charge of the control group"
        )
        for (engine, workload, size), name in CASES.items()
    ),
)
def measure_kernel_memory(quick: bool) -> Mapping[str, RowValues]:
    """Measure each engine that runs here; nothing where workers have no control group of their own."""
    found: dict[str, RowValues] = {}
    runs = {engine.name for engine in CATALOG if engine.missing() is None}
    for (engine, workload, size), name in CASES.items():
        if engine not in runs or (quick and engine != "threads"):
            continue
        quiet.wait()
        start_command(row_of(engine))  # built, if it is not yet
        whole, charged = asyncio.run(grown(engine, workload, SIZES[size]))
        found[name] = RowValues([whole / MIB], [charged / MIB])
    return found
