"""MiB by which the monitor's memory grows in eight hours of four lanes at 10 Hz: fake lanes, clock run fast.

``python -m tests.benchmarks.history STEPS`` steps a lab in this process and prints, as JSON, its RSS in
bytes after one minute of the lab's clock and at the end, and the microseconds of a step.
"""

import json
import random
import subprocess
import sys
import time
from collections.abc import Mapping

import psutil

from concwatch.lab.catalog import SHOWN
from concwatch.lab.lab import DEFAULT_HZ, Lab
from concwatch.lab.settings import Settings
from tests.fake import FakeWorkers

from .figures import PYTHON, ROOT, Benchmark, Measured, Reach, Row, environment, quiet

HOURS = 8
STEPS = int(HOURS * 3600 * DEFAULT_HZ)
WARM_UP = int(60 * DEFAULT_HZ)
CHANGE = int(20 * DEFAULT_HZ)
"""Steps between two changes of a target: it goes up, down, and to none at all."""

MIB = 1024 * 1024


def _live_through(steps: int) -> dict[str, float]:
    now = 0.0
    lab = Lab(SHOWN, settings=Settings(trace=True), open_link=FakeWorkers(), clock=lambda: now)
    lab.observers.append(lambda snapshot: None)  # as a screen is one
    for lane in lab.lanes:
        lab.switch(lane, True)
    process, chance = psutil.Process(), random.Random(8)
    before = process.memory_info().rss
    began = time.perf_counter()
    for step in range(steps):
        now = step / DEFAULT_HZ
        lab.step()
        if step % 2 == 0:
            lab.snapshot(now)  # as often as the screen does
        if step % CHANGE == 0:
            lab.set_target(chance.choice(lab.lanes), chance.choice((0, 1_000, 50_000, 200_000)))
        if step == min(WARM_UP, steps // 2):
            before, began, first = process.memory_info().rss, time.perf_counter(), step
    took = time.perf_counter() - began
    return {
        "before": before,
        "after": process.memory_info().rss,
        "step_us": took / (steps - first) * 1e6,
        "samples": sum(len(lane.series) for lane in lab.lanes),
        "live": sum(lane.live for lane in lab.lanes),
    }


def measure(quick: bool) -> Mapping[str, Measured]:
    """Measure the growth over eight hours, and the time of a step."""
    quiet.wait()
    done = subprocess.run(
        [PYTHON, "-m", "tests.benchmarks.history", str(STEPS // 50 if quick else STEPS)],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        check=True,
    )
    found = json.loads(done.stdout)
    before, after = found["before"] / MIB, found["after"] / MIB
    return {
        "growth": Measured(
            [after - before], detail={"before": before, "after": after, "points": found["samples"]}
        ),
        "step": Measured([found["step_us"]]),
    }


BENCHMARKS = (
    Benchmark(
        "history",
        (
            Row(
                "growth",
                f"the monitor's memory after {HOURS} h of four lanes",
                "MiB",
                "",
                Reach("at most", 20, "measured"),
            ),
            Row("step", "one step of that lab, with its snapshot", "µs"),
        ),
        measure,
    ),
)

if __name__ == "__main__":
    print(json.dumps(_live_through(int(sys.argv[1]))))
