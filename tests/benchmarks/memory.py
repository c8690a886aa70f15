"""RSS in bytes that one sleeping task adds to a worker, against a bare script on the same loop.

Both are read by psutil, from outside, before the tasks and with all of them live.
"""

from collections.abc import Mapping

from . import bare, held
from .figures import Benchmark, Measured, Reach, Row, alternate

TASKS = {"asyncio": 100_000, "uvloop": 100_000, "threads": 5_000}


def measure(quick: bool) -> Mapping[str, Measured]:
    """Measure bytes a task of each engine."""
    rows = {}
    for engine, tasks in TASKS.items():
        count = tasks // 10 if quick else tasks
        found = alternate(
            1 if quick else 3,
            bare=lambda engine=engine, count=count: bare.rss_per_task(engine, count),
            worker=lambda engine=engine, count=count: held.rss_per_task(engine, count),
        )
        rows[engine] = Measured(found["worker"], found["bare"])
    return rows


BENCHMARKS = (
    Benchmark(
        "memory",
        tuple(
            Row(engine, f"RSS a task, {engine} {tasks:,}", "B", "bare script", Reach("within", 0.01))
            for engine, tasks in TASKS.items()
        ),
        measure,
    ),
)
