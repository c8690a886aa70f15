"""Workers compared with bare scripts: tasks created per second, and memory.

Both run in a process of their own, whose RSS is read from outside, by psutil.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import psutil

from concwatch.commands.basics.lab import open_process
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.state import State
from concwatch.monitor.workers.catalog import find_engines
from tests.apart import ROOT, apart, environment, python
from tests.benchmarks.figures import MIB, Quantity, RowValues, against, alternate, benchmark, running

SETTLE = 0.5
"""Seconds between a change and the reading of a process's memory."""

CREATE = """
import asyncio, os, time

async def main():
    began = time.perf_counter()
    tasks = [asyncio.create_task(asyncio.sleep(600)) for _ in range({tasks})]
    await asyncio.sleep(0)
    print({tasks} / (time.perf_counter() - began), flush=True)
    os._exit(0)

asyncio.run(main())
"""

RUN = {
    "asyncio": "asyncio.run(main())",
    "uvloop": "import uvloop\nwith asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:\n"
    "    runner.run(main())",
    "threads": "",
}
"""Engine → the code that runs a script's coroutine ``main``."""

IDLE_LOOP = "import asyncio\nasync def main():\n    print(flush=True)\n    await asyncio.sleep(600)\n"
IDLE = {
    "threads": "import threading, time; print(flush=True); time.sleep(600)",
    "pool": "import time; from concurrent.futures import ThreadPoolExecutor; pool = ThreadPoolExecutor(); "
    "print(flush=True); time.sleep(600)",
    "asyncio": IDLE_LOOP + RUN["asyncio"],
    "uvloop": IDLE_LOOP + RUN["uvloop"],
}
"""Engine → a script that imports it, runs its loop, prints a line, and is idle."""

# Tasks created.


def bare_rate(tasks: int, collect: bool = True) -> float:
    """Return the asyncio tasks that a bare script creates and starts per second."""
    script = CREATE.format(tasks=tasks)
    return float(python("-c", script if collect else f"import gc\ngc.disable()\n{script}"))


def rate(engine: str, gc: str, tasks: int) -> float:
    """Return ``create_rate`` of one run, in tasks per second."""
    arguments = ["--tasks", tasks, "--workload", "sleep:600", "--seconds", "0", "--gc", gc, "--json"]
    out = python("-m", "concwatch", "run", engine, *arguments, stderr=subprocess.DEVNULL)
    lane = json.loads(out)["lanes"][0]
    if lane["create_rate"] is None:
        raise RuntimeError(f"{engine}: {lane['state']}: {lane['reason']}")
    return float(lane["create_rate"])


def measure_creation(tasks: int, rounds: int, quick_tasks: int, quick: bool) -> Mapping[str, RowValues]:
    """Measure how fast tasks are created; a frozen collector is compared with a script without collection."""
    tasks = quick_tasks if quick else tasks
    found = alternate(
        1 if quick else rounds,
        bare=lambda: bare_rate(tasks),
        default=lambda: rate("asyncio", "default", tasks),
        uncollected=lambda: bare_rate(tasks, collect=False),
        frozen=lambda: rate("asyncio", "frozen", tasks),
        uvloop=lambda: rate("uvloop", "frozen", tasks),
    )
    references = {"default": "bare", "frozen": "uncollected", "uvloop": "bare"}
    return {name: RowValues(found[name], found[reference]) for name, reference in references.items()}


for name, what, uvloop, sizes in (
    ("300k", "300 k", "", (300_000, 3, 30_000)),
    ("1m", "1 M", "≥ 4 ×", (1_000_000, 2, 60_000)),
):
    benchmark(
        f"creation-{name}",
        Quantity("default", f"asyncio {what}, default collector", "tasks/s", "≥ 0.9 ×", "bare script"),
        Quantity("frozen", f"asyncio {what}, --gc frozen", "tasks/s", "≥ 0.95 ×", "bare, no collection"),
        Quantity("uvloop", f"uvloop {what}, --gc frozen", "tasks/s", uvloop, "bare script"),
    )(partial(measure_creation, *sizes))

# Memory.


@contextmanager
def started(script: str) -> Iterator[tuple["subprocess.Popen[str]", psutil.Process]]:
    """Start a script, and wait for its first line."""
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        env=environment(),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            process.stdout.readline()
            time.sleep(SETTLE)
            yield process, psutil.Process(process.pid)
        finally:
            process.kill()


def bare_idle(engine: str) -> float:
    """Return the RSS, in MiB, of an interpreter with the idle ``engine``."""
    with started(IDLE[engine]) as (_, process):
        return process.memory_info().rss / MIB


async def hold(engine: str, tasks: int) -> tuple[int, int]:
    """Return the RSS of a lab's worker, in bytes: idle, and with ``tasks`` sleeping tasks."""
    async with running(
        Lab(find_engines([engine]), open_link=open_process, settings=Settings(workload="sleep:600"))
    ) as lab:
        lane = lab.lanes[0]

        async def until(done: Callable[[], bool]) -> int:
            while not done():  # noqa: ASYNC110  # a lab has no event to wait for
                await asyncio.sleep(0.05)
            await asyncio.sleep(SETTLE)
            return int(psutil.Process(lane.worker.stats.ready.pid).memory_info().rss)

        lab.switch(lane, True)
        idle = await until(lambda: lane.state is State.RUNNING)
        lab.set_target(lane, tasks)
        return idle, await until(lambda: not tasks or lane.target.reached is not None)


@benchmark(
    "idle",
    *(Quantity(engine, f"idle worker, {engine}", "MiB", "≤ 1.1 ×", "bare interpreter") for engine in IDLE),
)
def measure_idle(quick: bool) -> Mapping[str, RowValues]:
    """Measure the RSS of each engine's idle worker."""
    return {
        engine: against(
            1 if quick else 5,
            lambda engine=engine: apart(hold, engine, 0)[0] / MIB,
            partial(bare_idle, engine),
        )
        for engine in IDLE
    }
