"""The cells of published experiments, against the published method as a bare script in the same minute.

The scripts do what the articles describe, in our own words: all tasks in a list, read halfway by a snapshot
of tracemalloc, or the list timed by CPU time.
"""

import asyncio
import subprocess
from collections.abc import Callable, Mapping
from functools import cache

from concwatch.experiments.cell import Cell
from concwatch.experiments.experiment import Entry, entries
from concwatch.experiments.loading import load
from concwatch.experiments.measure import run_once
from concwatch.lab.lab import Lab
from concwatch.measure.result import Result
from concwatch.measure.units import SCALES

from .figures import PYTHON, ROOT, Benchmark, Measured, Reach, Row, alternate, environment

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

CREATED = """
import asyncio
from time import process_time

async def nothing():
    pass

async def main():
    older = [asyncio.create_task(nothing()) for _ in range({older})]
    began = process_time()
    tasks = [asyncio.create_task(nothing()) for _ in range({size})]
    took = process_time() - began
    print({size} / took)

{run}
"""

FINISHED = """
import asyncio
from time import process_time

async def nothing():
    pass

async def main():
    began = process_time()
    tasks = [asyncio.create_task(nothing()) for _ in range({size})]
    await asyncio.gather(*tasks)
    print({size} / (process_time() - began))

{run}
"""

RUN = {
    "asyncio": "asyncio.run(main())",
    "uvloop": "import uvloop\nwith asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:\n"
    "    runner.run(main())",
    "threads": "",
}

SCRIPTS: dict[tuple[str, bool], str] = {
    ("traced_added", True): TRACED_COROUTINES,
    ("traced_added", False): TRACED_THREADS,
    ("traced_per_task", True): TRACED_COROUTINES,
    ("create_rate_cpu", True): CREATED,
    ("finish_rate_cpu", True): FINISHED,
}
"""Reading, whether on an event loop → the published method."""

ROUNDS = {"memory-per-task": 3, "creation-rate": 5}
WITHIN = {"traced_added": 0.05, "traced_per_task": 0.05, "create_rate_cpu": 0.15, "finish_rate_cpu": 0.15}
QUICK_SIZES = {"memory-per-task": 1_000, "creation-rate": 100_000}
"""Larger cells are left out of a quick look."""


def _bare(cell: Cell, reading: str) -> float:
    """Return what the script of the published method prints: bytes, or tasks a second."""
    script = SCRIPTS[reading, cell.engine != "threads"].format(
        size=cell.size, older=cell.older, read_after=cell.read_after, run=RUN[cell.engine]
    )
    done = subprocess.run(
        [PYTHON, "-c", script], env=environment(), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return float(done.stdout) / (cell.size if reading == "traced_per_task" else 1)


def _run(cell: Cell) -> Result:
    async def run() -> Result:
        return await run_once(Lab([cell.row()], settings=cell.settings), cell)

    return asyncio.run(run())


@cache
def _entries(experiment: str) -> tuple[Entry, ...]:
    """List the cells whose reading has a script, each once."""
    found = {
        (entry.cell, entry.table.reading): entry
        for entry in entries(load(experiment))
        if entry.cell is not None and entry.table.reading in WITHIN
    }
    return tuple(found.values())


def _name(entry: Entry) -> str:
    older = " beside older ones" if entry.cell is not None and entry.cell.older else ""
    return f"{entry.series.engine} {entry.size:,}{older}, {entry.table.reading}"


def _measure(experiment: str) -> Callable[[bool], Mapping[str, Measured]]:
    def measure(quick: bool) -> Mapping[str, Measured]:
        """Measure every cell that has a bare script, and what measuring it adds."""
        rows, added = {}, Measured()
        for entry in _entries(experiment):
            cell, reading = entry.cell, entry.table.reading
            assert cell is not None
            factor = SCALES[entry.table.unit][1]

            def here(cell: Cell = cell, reading: str = reading, factor: float = factor) -> float:
                run = _run(cell)
                added.values.append(run.seconds - run.own_seconds)
                figure = run.figures[reading]
                assert figure is not None, f"{reading} of {cell}"
                return figure / factor

            if quick and entry.size > QUICK_SIZES[experiment]:
                continue
            found = alternate(
                1 if quick else ROUNDS[experiment],
                bare=lambda cell=cell, reading=reading, factor=factor: _bare(cell, reading) / factor,
                here=here,
            )
            rows[_name(entry)] = Measured(found["here"], found["bare"])
        rows["added"] = added
        return rows

    return measure


def _benchmark(name: str, experiment: str) -> Benchmark:
    rows = [
        Row(
            _name(entry),
            _name(entry),
            entry.table.unit,
            "the published method, bare",
            Reach("within", WITHIN[entry.table.reading]),
        )
        for entry in _entries(experiment)
    ]
    added = Row(
        "added", f"time added to a cell of {experiment}", "s", "", Reach("at most", 1.0, of="measured")
    )
    return Benchmark(name, (*rows, added), _measure(experiment))


BENCHMARKS = (
    _benchmark("published-memory", "memory-per-task"),
    _benchmark("published-rates", "creation-rate"),
)
