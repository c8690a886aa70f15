"""Each engine beside the smallest program of its language whose tasks can each be cancelled.

Both hold as many sleeping tasks, and replace each that ends; their memory and CPU time are read from outside.
The programs are in ``bare_runtimes``; an engine whose tools are missing has no rows.
"""

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any

import psutil
from msgspec import Struct

from concwatch.commands.basics.lab import open_process
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import ON_SCREEN, Settings
from concwatch.monitor.metrics.state import State
from concwatch.monitor.workers.catalog import catalog_row
from tests.apart import apart
from tests.benchmarks.figures import Quantity, RowValues, alternate, benchmark, running
from tests.benchmarks.runtimes import BARE, PATIENCE, Bare, find_pair
from tests.benchmarks.workers import SETTLE
from tests.worker_driver import Worker

HOUR = (3600.0, 3600.0)
SECOND = (0.5, 1.5)
"""The least and the most seconds that a task sleeps."""

WARM_UP, SPAN = 3.0, 10.0
"""Seconds of a load before it is measured, and meanwhile."""


def cpu_seconds(process: psutil.Process) -> float:
    """Return the CPU seconds of a process so far."""
    times = process.cpu_times()
    return float(times.user + times.system)


class HeldSample(Struct):
    """What a program holding tasks is asked."""

    process: psutil.Process
    start: Callable[[int], None]
    """Starts so many tasks, and returns when all are live."""
    figures: Callable[[], tuple[int, float, float]]
    """Returns the tasks that have ended, the seconds of collection, and the longest since the last call."""
    durations: Callable[[], Sequence[float]]


@contextmanager
def bare(command: Sequence[str], row: Bare, tasks: int, sleep: tuple[float, float]) -> Iterator[HeldSample]:
    """Start a bare program."""
    arguments = [*command, str(tasks), *map(str, sleep), *row.more]
    program = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask() -> list[str]:
        program.stdin.write("\n")
        program.stdin.flush()
        return program.stdout.readline().split()

    def figures() -> tuple[int, float, float]:
        _, ended, *collector = ask()
        return int(ended), *(map(float, collector) if collector else (0.0, 0.0))

    with program:
        try:
            assert program.stdout.readline() == "idle\n"
            yield HeldSample(psutil.Process(program.pid), lambda _: ask() and None, figures, tuple)
        finally:
            program.kill()


@contextmanager
def lane(command: Sequence[str], row: Bare, tasks: int, sleep: tuple[float, float]) -> Iterator[HeldSample]:
    """Start a worker."""
    least, most = sleep
    with Worker("", command=command, patience=PATIENCE) as worker:
        worker.do("workload", spec=f"sleep:{least:g}" + (f"..{most:g}" if most > least else ""))
        for threads in row.more if "threads" in worker.ready["can"] else ():
            worker.do("threads", count=int(threads))

        def ticks() -> list[dict[str, Any]]:
            """Return those of the last `SPAN` seconds."""
            found = [report for report in worker.reports if report["type"] == "tick"]
            return [tick for tick in found if tick["time"] >= found[-1]["time"] - SPAN]

        def figures() -> tuple[int, float, float]:
            last = worker.tick()
            spent = [tick.get("gc", 0.0) for tick in ticks()]
            return last["completed"], spent[-1], max((b - a for a, b in pairwise(spent)), default=0.0)

        def durations() -> list[float]:
            return [seconds for tick in ticks() for seconds in tick.get("durations", ())]

        yield HeldSample(psutil.Process(worker.ready["pid"]), worker.target, figures, durations)


def held(start: Callable[..., Any], row: Bare, command: Sequence[str], tasks: int) -> list[float]:
    """Return bytes, CPU microseconds to create a task, and per cent of a core without tasks."""
    with start(command, row, tasks, HOUR) as program:
        time.sleep(SETTLE)
        rss, used = program.process.memory_info().rss, cpu_seconds(program.process)
        time.sleep(2.0)
        idle = (cpu_seconds(program.process) - used) / 2.0 * 100
        used = cpu_seconds(program.process)
        program.start(tasks)
        used = cpu_seconds(program.process) - used
        time.sleep(SETTLE)
        return [(program.process.memory_info().rss - rss) / tasks, used / tasks * 1e6, idle]


def lives(start: Callable[..., Any], row: Bare, command: Sequence[str], tasks: int) -> list[float]:
    """Return CPU microseconds a life, per cent and longest milliseconds of collection, median seconds."""
    with start(command, row, tasks, SECOND) as program:
        program.start(tasks)
        time.sleep(WARM_UP)
        ended, collecting, _ = program.figures()
        used, began = cpu_seconds(program.process), time.monotonic()
        time.sleep(SPAN)
        later, collected, longest = program.figures()
        used, seconds = cpu_seconds(program.process) - used, time.monotonic() - began
        median = statistics.median(program.durations() or [0.0])
        return [
            used / max(1, later - ended) * 1e6,
            (collected - collecting) / seconds * 100,
            longest * 1e3,
            median,
        ]


IN_PYTHON = ("gc", "pause")
"""RowValues of Python's collector, which a bare program in another language does not report."""

FIGURES = {
    "held": (
        ("bytes", "B", "≤ 1.03 ×"),
        ("create", "µs to create", ""),
        ("idle", "% of a core, idle", ""),
    ),
    "lives": (
        ("life", "µs a life", "≤ 1.1 ×"),
        ("gc", "% of the time in the collector", ""),
        ("pause", "ms, longest collection", ""),
        ("duration", "s, median of 0.5 to 1.5", ""),
    ),
}


def measure(quick: bool) -> Mapping[str, RowValues]:
    """Measure every engine; one that fails does not stop the others."""
    rows: dict[str, RowValues] = {}
    for engine, row in BARE.items():
        pair = find_pair(engine)
        if pair is None:
            continue
        sizes = [("held", size) for size in row.sizes] + [("lives", row.lives)]
        for what, size in sizes:
            tasks = size // 10 if quick else size
            run = held if what == "held" else lives
            try:
                found = alternate(
                    1 if quick or size >= 1_000_000 else 3,
                    bare=partial(run, bare, row, pair.bare, tasks),
                    lane=partial(run, lane, row, pair.worker, tasks),
                )
            except (AssertionError, OSError, ValueError, psutil.Error, subprocess.SubprocessError) as error:
                print(f"  {engine}, {size:,}: {error}", file=sys.stderr)
                continue
            names = FIGURES[what]
            for at, (name, _, _) in enumerate(names):
                if name in IN_PYTHON and row.folder != "python":
                    continue
                sides = (found[side][at :: len(names)] for side in ("lane", "bare"))
                rows[f"{engine}.{name}.{size}"] = RowValues(*sides)
    return rows


benchmark(
    "beside",
    *(
        Quantity(f"{engine}.{name}.{size}", f"{engine}, {size:,}", unit, reach, "bare program")
        for engine, row in BARE.items()
        for what, sizes in (("held", row.sizes), ("lives", (row.lives,)))
        for size in sizes
        for name, unit, reach in FIGURES[what]
    ),
)(measure)


DEFAULT = {
    "asyncio": ((10_000, 2), (100_000, 10), (1_000_000, 60)),
    "uvloop": ((10_000, 2), (100_000, 10), (1_000_000, 60)),
    "threads": ((10_000, 10), (20_000, 25)),
    "pool": ((10_000, 2), (100_000, 10)),
    "gevent": ((10_000, 2),),
}
"""Engine → targets, and the seconds in which each is to be reached in the screen's default state."""


async def reach(engine: str, tasks: int) -> float:
    """Return the seconds until a lab in the screen's default state holds ``tasks``."""
    settings = Settings(workload=ON_SCREEN, trace=True)
    async with running(Lab([catalog_row(engine)], open_link=open_process, settings=settings)) as lab:
        (one,) = lab.lanes
        lab.switch(one, True)
        while one.state is not State.RUNNING:  # noqa: ASYNC110  # a lab has no event to wait for
            await asyncio.sleep(0.01)
        began = time.monotonic()
        lab.set_target(one, tasks)
        while one.target.reached is None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return time.monotonic() - began


@benchmark(
    "beside-default",
    *(
        Quantity(f"{engine}.{tasks}", f"{engine}, traced, to {tasks:,} live", "s", f"≤ {limit} s")
        for engine, targets in DEFAULT.items()
        for tasks, limit in targets
    ),
)
def measure_default(quick: bool) -> Mapping[str, RowValues]:
    """Measure the seconds until a target is reached in the state in which the program starts."""
    return {
        f"{engine}.{tasks}": RowValues([apart(reach, engine, tasks)])
        for engine, targets in DEFAULT.items()
        for tasks, _ in (targets[:1] if quick else targets)
    }
