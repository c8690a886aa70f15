"""Sleeping tasks created and started per second by ``concwatch run``, against a bare asyncio script.

The reference is asyncio with Python's default collector, a list of ``create_task`` and one ``sleep(0)``; for
a frozen collector the same script with none. A second script, whose coroutine is ``async def one()`` around
the sleep, is there to compare.
"""

import json
import subprocess
from collections.abc import Mapping

from . import bare
from .figures import PYTHON, ROOT, Benchmark, Measured, Reach, Row, alternate, environment

BARE = "bare script"
UNIT = "tasks/s"


def _rate(engine: str, gc: str, tasks: int) -> float:
    """Return ``create_rate`` of one run, in tasks per second."""
    arguments = ["--tasks", str(tasks), "--workload", "sleep:600", "--seconds", "0", "--gc", gc, "--json"]
    done = subprocess.run(
        [PYTHON, "-m", "concwatch", "run", engine, *arguments],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    lane = json.loads(done.stdout)["lanes"][0]
    if lane["create_rate"] is None:
        raise RuntimeError(f"{engine}: {lane['state']}: {lane['reason']}")
    return float(lane["create_rate"])


def _measure(tasks: int, rounds: int) -> dict[str, Measured]:
    found = alternate(
        rounds,
        bare=lambda: bare.create_rate(tasks, "asyncio.sleep(600)"),
        default=lambda: _rate("asyncio", "default", tasks),
        wrapped=lambda: bare.create_rate(tasks, "one()"),
        uncollected=lambda: bare.create_rate(tasks, "asyncio.sleep(600)", collect=False),
        frozen=lambda: _rate("asyncio", "frozen", tasks),
        uvloop=lambda: _rate("uvloop", "frozen", tasks),
    )
    rows = {name: Measured(found[name], found["bare"]) for name in ("default", "uvloop")}
    rows["frozen"] = Measured(found["frozen"], found["uncollected"])
    rows["wrapped"] = Measured(found["default"], found["wrapped"])
    return rows


def measure_300k(quick: bool) -> Mapping[str, Measured]:
    """Measure with 300,000 tasks."""
    return _measure(30_000 if quick else 300_000, 1 if quick else 3)


def measure_1m(quick: bool) -> Mapping[str, Measured]:
    """Measure with 1,000,000 tasks."""
    return _measure(60_000 if quick else 1_000_000, 1 if quick else 2)


def _rows(tasks: str, uvloop: Reach | None) -> tuple[Row, ...]:
    return (
        Row("default", f"asyncio {tasks}, default collector", UNIT, BARE, Reach("at least", 0.9)),
        Row("wrapped", f"asyncio {tasks}, default collector", UNIT, "bare script, async def one()"),
        Row("frozen", f"asyncio {tasks}, --gc frozen", UNIT, "bare, no collection", Reach("at least", 0.95)),
        Row("uvloop", f"uvloop {tasks}, --gc frozen", UNIT, BARE, uvloop),
    )


BENCHMARKS = (
    Benchmark("creation-300k", _rows("300 k", None), measure_300k),
    Benchmark("creation-1m", _rows("1 M", Reach("at least", 4.0)), measure_1m),
)
