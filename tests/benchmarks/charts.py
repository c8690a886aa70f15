"""What four charts cost: CPU time to paint four series of 600 points each at a 120x40 screen.

``python -m tests.benchmarks.charts`` prints the figures as JSON.
"""

import json
import math
import random
import subprocess
import time
from collections.abc import Callable, Mapping

from concwatch.charts.lines import Line
from concwatch.charts.picture import compose
from concwatch.charts.scales import BYTES, RATE, Kind
from concwatch.charts.strokes import rasterize
from concwatch.charts.terminal import paint

from .figures import PYTHON, ROOT, Benchmark, Measured, Reach, Row, alternate, environment

WIDTH, HEIGHT = 42, 12
"""Content cells of one chart of 44x14."""

HERTZ = 10
WINDOW = 60.0
COLORS = ("#ff6b81", "#b8e86b", "#5ad1e6", "#c99bff")
MIB = 1024 * 1024

Shape = Callable[[float, random.Random], float]


def _memory(t: float, noise: random.Random) -> float:
    return MIB * (40 + 160 * min(1, max(0, t % 50 - 20) / 8) + noise.random())


def _rate(t: float, noise: random.Random) -> float:
    return (40_000 if t % 30 < 6 else 10_000) * (0.9 + 0.2 * noise.random())


def _storm(t: float, noise: random.Random) -> float:
    return noise.random() * 40_000


def _series(shape: Shape, phase: int) -> tuple[list[float], list[float]]:
    noise = random.Random(phase)
    times = [1000 + index / HERTZ for index in range(int((WINDOW + 30) * HERTZ))]
    return times, [shape(t + 7 * phase, noise) / (phase + 1) for t in times]


def _milliseconds(charts: list[tuple[Kind, Shape]], frames: int = 40) -> dict[str, float]:
    """Return the mean CPU milliseconds of a frame of all ``charts``: composing alone, and all of it."""
    data = [(kind, [_series(shape, phase) for phase in range(4)]) for kind, shape in charts]
    composing = painting = 0.0
    rasterize.cache_clear()
    for frame in range(frames):
        now = 1000 + WINDOW + frame * 0.2
        for kind, series in data:
            lines = [Line(color, color, *pair) for color, pair in zip(COLORS, series, strict=True)]
            start = time.process_time()
            picture = compose(lines, width=WIDTH, height=HEIGHT, now=now, window=WINDOW, kind=kind)
            between = time.process_time()
            assert picture is not None
            paint(picture, "#888888", "#333333")
            composing += between - start
            painting += time.process_time() - between
    return {"compose": composing / frames * 1e3, "all": (composing + painting) / frames * 1e3}


def measure() -> dict[str, float]:
    """Return CPU milliseconds for one frame of four charts, by what the charts show."""
    usual = [(BYTES, _memory), (BYTES, _memory), (RATE, _rate), (RATE, _rate)]
    found = {f"usual data, {part}": cost for part, cost in _milliseconds(usual).items()}
    calm: list[tuple[Kind, Shape]] = [(BYTES, lambda t, noise: MIB * math.pi)] * 4
    found["constant data, all"] = _milliseconds(calm)["all"]
    found["nothing but noise, all"] = _milliseconds([(RATE, _storm)] * 4)["all"]
    return found


def measure_apart(quick: bool) -> Mapping[str, Measured]:
    """Measure in a process of its own."""
    found: list[dict[str, float]] = []

    def one() -> float:
        done = subprocess.run(
            [PYTHON, "-m", "tests.benchmarks.charts"],
            cwd=ROOT,
            env=environment(),
            stdout=subprocess.PIPE,
            check=True,
        )
        found.append(json.loads(done.stdout))
        return found[-1]["usual data, all"]

    values = alternate(1 if quick else 3, charts=one)["charts"]
    return {"charts": Measured(values, detail=dict(found[-1]))}


BENCHMARKS = (
    Benchmark(
        "charts",
        (
            Row(
                "charts", "four charts of four series painted", "ms CPU", "", Reach("at most", 30, "measured")
            ),
        ),
        measure_apart,
    ),
)

if __name__ == "__main__":
    print(json.dumps(measure()))
