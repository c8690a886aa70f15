"""One lane of a real lab in a process of its own, looked at by psutil: what its worker weighs.

``python -m tests.benchmarks.held ENGINE TASKS`` prints, as JSON, the worker's RSS in bytes idle, and with
TASKS sleeping tasks live.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable

import psutil

from concwatch.lab.catalog import find
from concwatch.lab.lab import Lab
from concwatch.lab.lane_state import State
from concwatch.lab.settings import Settings

from .bare import SETTLE
from .figures import PYTHON, ROOT, environment


async def _until(done: Callable[[], bool]) -> None:
    while not done():  # noqa: ASYNC110  # a lab has no events to wait for, it is stepped and looked at
        await asyncio.sleep(0.05)
    await asyncio.sleep(SETTLE)


async def _hold(engine: str, tasks: int) -> dict[str, int]:
    lab = Lab(find([engine]), settings=Settings(workload="sleep:600"))
    lane = lab.lanes[0]
    stepping = asyncio.create_task(lab.run())
    try:
        lab.switch(lane, True)
        await _until(lambda: lane.state is State.RUNNING)
        assert lane.worker.tally.ready is not None
        worker = psutil.Process(lane.worker.tally.ready.pid)
        idle = full = worker.memory_info().rss
        if tasks:
            lab.set_target(lane, tasks)
            await _until(lambda: lane.worker.reached is not None)
            full = worker.memory_info().rss
        return {"idle": idle, "full": full}
    finally:
        stepping.cancel()
        await lab.close()


def _look(engine: str, tasks: int) -> dict[str, int]:
    done = subprocess.run(
        [PYTHON, "-m", "tests.benchmarks.held", engine, str(tasks)],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, int] = json.loads(done.stdout)
    return found


def idle_rss(engine: str) -> float:
    """Return the RSS in bytes of a worker that holds nothing."""
    return float(_look(engine, 0)["idle"])


def rss_per_task(engine: str, tasks: int) -> float:
    """Return the bytes of RSS that each of ``tasks`` sleeping tasks adds to a worker."""
    found = _look(engine, tasks)
    return (found["full"] - found["idle"]) / tasks


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_hold(sys.argv[1], int(sys.argv[2])))))
