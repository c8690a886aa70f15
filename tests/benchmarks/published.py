"""The cells of published experiments, compared with the published method as a bare script.

The scripts do what the articles describe: create all tasks in a list, and take a snapshot of tracemalloc
halfway, or measure the CPU time.
"""

import asyncio
from collections.abc import Mapping
from functools import partial

from concwatch.commands.basics.lab import open_process
from concwatch.measure.experiments.cell import ExperimentCell, run_once
from concwatch.measure.experiments.experiment import Entry, entries
from concwatch.measure.experiments.loading import load
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.unit import SCALES
from tests.apart import python
from tests.benchmarks.figures import Quantity, RowValues, against, benchmark
from tests.benchmarks.workers import RUN

TRACED_COROUTINES = """
import asyncio, tracemalloc

async def steps():
    for _ in range(10):
        await asyncio.sleep(0.1)

async def main():
    tracemalloc.start()
    tasks = [asyncio.create_task(steps()) for _ in range({size})]
    await asyncio.sleep({read_after})
    snapshot = tracemalloc.take_snapshot()
    await asyncio.wait(tasks)
    print(sum(line.size for line in snapshot.statistics("lineno")))

{run}
"""

TRACED_THREADS = """
import threading, time, tracemalloc

def steps():
    for _ in range(10):
        time.sleep(0.1)

tracemalloc.start()
threads = [threading.Thread(target=steps) for _ in range({size})]
for thread in threads:
    thread.start()
time.sleep({read_after})
snapshot = tracemalloc.take_snapshot()
for thread in threads:
    thread.join()
print(sum(line.size for line in snapshot.statistics("lineno")))
"""

TIMED = """
import asyncio
from time import process_time

async def nothing():
    pass

async def main():
    older = [asyncio.create_task(nothing()) for _ in range({older})]
    began = process_time()
    tasks = [asyncio.create_task(nothing()) for _ in range({size})]
    {then}
    print({size} / (process_time() - began))

{run}
"""

CREATED, FINISHED = "", "await asyncio.gather(*tasks)"
"""What is timed together with the creation of the list."""

METHODS = {
    "traced_added": (TRACED_COROUTINES, 0.05),
    "traced_per_task": (TRACED_COROUTINES, 0.05),
    "create_rate_cpu": (TIMED, 0.15),
    "finish_rate_cpu": (TIMED, 0.15),
}
"""Reading → the published method on an event loop, and the tolerance."""


def bare(cell: ExperimentCell, reading: str, factor: float) -> float:
    """Return what the published method's script prints: bytes, or tasks per second."""
    script = TRACED_THREADS if cell.engine == "threads" else METHODS[reading][0]
    then = FINISHED if reading == "finish_rate_cpu" else CREATED
    fields = {"size": cell.size, "older": cell.older, "read_after": cell.read_after}
    out = python("-c", script.format(**fields, then=then, run=RUN[cell.engine]))
    return float(out) / (cell.size if reading == "traced_per_task" else 1) / factor


def here(cell: ExperimentCell, reading: str, factor: float, added: RowValues) -> float:
    """Return the reading of a run by concwatch; append the seconds that it adds to the cell to ``added``."""

    async def run() -> float:
        found = await run_once(Lab([cell.worker()], open_link=open_process, settings=cell.settings), cell)
        added.values.append(found.seconds - found.own_seconds)
        return found.metrics[reading] / factor

    return asyncio.run(run())


def row_of(entry: Entry) -> Quantity:
    """Return the row of one cell."""
    reading = entry.table.reading
    older = " beside older ones" if entry.cell.older else ""
    name = f"{entry.series.engine} {entry.size:,}{older}, {reading}"
    reach = f"1 ± {METHODS[reading][1]:g} ×"
    return Quantity(name, name, entry.table.unit, reach, "the published method, bare")


def measure(cells: Mapping[str, Entry], rounds: int, quick_size: int, quick: bool) -> Mapping[str, RowValues]:
    """Measure every cell that has a bare script, and the time that measuring adds."""
    rows, added = {}, RowValues()
    for name, entry in cells.items():
        if not quick or entry.size <= quick_size:
            asked = (entry.cell, entry.table.reading, SCALES[entry.table.unit][1])
            rows[name] = against(1 if quick else rounds, partial(here, *asked, added), partial(bare, *asked))
    return {**rows, "added": added}


for name, experiment, rounds, quick_size in (
    ("published-memory", "memory-per-task", 3, 1_000),
    ("published-rates", "creation-rate", 5, 100_000),
):
    # Each cell whose reading has a script, without duplicates.
    distinct = {
        (entry.cell, entry.table.reading): entry
        for entry in entries(load(experiment))
        if entry.cell is not None and entry.table.reading in METHODS
    }
    rows = {row_of(entry): entry for entry in distinct.values()}
    benchmark(name, *rows, Quantity("added", f"time added to a cell of {experiment}", "s", "≤ 1 s"))(
        partial(measure, {row.name: entry for row, entry in rows.items()}, rounds, quick_size)
    )
