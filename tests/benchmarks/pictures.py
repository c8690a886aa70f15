"""What pictures and films cost: a PNG of a 120x40 screen, and a GIF of 20 s at 5 frames/s with live charts.

``python -m tests.benchmarks.pictures`` prints the figures as JSON.
"""

import asyncio
import json
import random
import subprocess
import time
from collections.abc import Mapping

from concwatch.pictures.film import Frame, make_gif, read_scenes
from concwatch.pictures.png import to_png
from concwatch.ui.screen_strips import screen_strips

from .figures import PYTHON, ROOT, Benchmark, Measured, Reach, Row, alternate, environment

SIZE = (120, 40)
SECONDS, HERTZ = 20, 5
LANES = ("threads", "pool", "asyncio", "uvloop")
TARGETS = (1_000, 5_000, 10_000, 50_000)


async def take_frames() -> tuple[list[Frame], str]:
    """Film four lanes of fake workers whose targets change all the time, on a clock driven by hand."""
    from tests.screen import stage

    chance = random.Random(1)
    frames = []
    async with stage(SIZE) as screen:
        screen.lab.set_workload("ticks:10x0.1")
        screen.lab.set_trace(True)
        await screen.press("left_square_bracket", "left_square_bracket")  # 15 s: the charts move the most
        await screen.switch_on(*LANES)
        for number in range(SECONDS * HERTZ):
            if number % HERTZ == 0:
                screen.lab.set_target(screen.lane(chance.choice(LANES)), chance.choice(TARGETS))
            await screen.run(1 / HERTZ)
            rows = list(map(list, screen_strips(screen.app) or ()))
            frames.append(Frame(number / HERTZ, rows))
        return frames, screen.app.export_screenshot(title="concwatch")


def measure() -> dict[str, float]:
    """Return seconds for one PNG and for one GIF, and the GIF's size in MB."""
    frames, svg = asyncio.run(take_frames())
    began = time.perf_counter()
    to_png(svg)
    between = time.perf_counter()
    film = make_gif(frames)
    return {
        "png-120x40": between - began,
        "gif-20s": time.perf_counter() - between,
        "gif-20s-size": len(film) / 1e6,
        "frames that differ": len(read_scenes(frames)),
    }


def measure_apart(quick: bool) -> Mapping[str, Measured]:
    """Measure in a process of its own."""
    found: list[dict[str, float]] = []

    def one() -> float:
        command = [PYTHON, "-m", "tests.benchmarks.pictures"]
        done = subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, check=True)
        found.append(json.loads(done.stdout))
        return found[-1]["gif-20s"]

    alternate(1 if quick else 3, pictures=one)
    detail = {"frames that differ": found[-1]["frames that differ"]}
    return {
        row.name: Measured([round_[row.name] for round_ in found], detail=dict(detail))
        for row in BENCHMARKS[0].rows
    }


BENCHMARKS = (
    Benchmark(
        "pictures",
        (
            Row("png-120x40", "PNG of 120x40", "s", "", Reach("at most", 1, "measured")),
            Row(
                "gif-20s", "GIF of 20 s, 5 frames/s, 120x40, made", "s", "", Reach("at most", 30, "measured")
            ),
            Row("gif-20s-size", "its size", "MB", "", Reach("at most", 3, "measured")),
        ),
        measure_apart,
    ),
)

if __name__ == "__main__":
    print(json.dumps(measure()))
