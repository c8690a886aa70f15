"""The cost of charts, pictures and films."""

import asyncio
import random
import time
from collections.abc import Callable, Mapping

from concwatch.charts.decimation import Memo
from concwatch.charts.painters.picture import compose
from concwatch.charts.painters.terminal import Painter
from concwatch.charts.plot import Line, Plot
from concwatch.demos.screen_strips import screen_strips
from concwatch.monitor.metrics.unit import BYTES, RATE, Unit
from concwatch.pictures.film import Frame, make_film, read_scenes
from concwatch.pictures.png import to_png
from concwatch.ui.apps.screen_vectors import screen_svg, vector_charts
from tests.apart import apart
from tests.benchmarks.figures import MIB, Quantity, RowValues, benchmark, quiet

WIDTH, HEIGHT = 42, 12
"""Content cells of one chart of 44x14."""

CHART_HERTZ = 10
WINDOW = 60.0
COLORS = ("#ff6b81", "#b8e86b", "#5ad1e6", "#c99bff")

FILM_SECONDS, FILM_HERTZ = 20, 5
LANES = ("threads", "pool", "asyncio", "uvloop")
TARGETS = (1_000, 5_000, 10_000, 50_000)

Shape = Callable[[float, random.Random], float]


def _memory(t: float, noise: random.Random) -> float:
    return MIB * (40 + 160 * min(1, max(0, t % 50 - 20) / 8) + noise.random())


def _rate(t: float, noise: random.Random) -> float:
    return (40_000 if t % 30 < 6 else 10_000) * (0.9 + 0.2 * noise.random())


def _series(shape: Shape, phase: int) -> tuple[list[float], list[float]]:
    noise = random.Random(phase)
    times = [1000 + index / CHART_HERTZ for index in range(int((WINDOW + 30) * CHART_HERTZ))]
    return times, [shape(t + 7 * phase, noise) / (phase + 1) for t in times]


def _milliseconds(charts: list[tuple[Unit, Shape]], frames: int = 40) -> float:
    """Return the mean CPU milliseconds of a frame of all ``charts``."""
    data = [
        (unit, [(_series(shape, phase), Memo()) for phase in range(4)], Painter()) for unit, shape in charts
    ]
    took = 0.0
    for frame in range(frames):
        now = 1000 + WINDOW + frame * 0.2
        for unit, series, painter in data:
            lines = [
                Line(f"lane {number}", color, *pair, number=number, memo=memo)
                for number, (color, (pair, memo)) in enumerate(zip(COLORS, series, strict=True), 1)
            ]
            plot = Plot("", unit, lines, now, WINDOW)
            start = time.process_time()
            picture = compose(plot, WIDTH, HEIGHT)
            assert picture is not None
            painter.paint(picture, "#888888", "#333333")
            took += time.process_time() - start
    return took / frames * 1e3


def paint_charts() -> dict[str, float]:
    """Return CPU milliseconds for one frame of four charts, by what the charts show."""
    return {"charts": _milliseconds([(BYTES, _memory), (BYTES, _memory), (RATE, _rate), (RATE, _rate)])}


async def take_frames() -> tuple[list[Frame], str]:
    """Film four lanes of fake workers whose targets keep changing, on a virtual clock."""
    from tests.screen import stage

    chance = random.Random(1)
    frames = []
    async with stage((120, 40)) as screen:
        screen.lab.settings.set_workload("ticks:10x0.1")
        screen.lab.settings.set_trace(True)
        await screen.press("left_square_bracket", "left_square_bracket")  # 15 s: the charts move the most
        await screen.switch_on(*LANES)
        for number in range(FILM_SECONDS * FILM_HERTZ):
            if number % FILM_HERTZ == 0:
                screen.lab.set_target(screen.lane(chance.choice(LANES)), chance.choice(TARGETS))
            await screen.run(1 / FILM_HERTZ)
            with vector_charts(screen.app) as charts:
                rows = list(map(list, screen_strips(screen.app) or ()))
            frames.append(Frame(number / FILM_HERTZ, rows, charts))
        return frames, screen_svg(screen.app, "concwatch")


def make_pictures() -> dict[str, float]:
    """Return seconds for one PNG and for one GIF, and the GIF's size in MB."""
    frames, svg = asyncio.run(take_frames())
    began = time.perf_counter()
    to_png(svg)
    between = time.perf_counter()
    film = make_film(frames)
    return {
        "png-120x40": between - began,
        "gif-20s": time.perf_counter() - between,
        "gif-20s-size": len(film) / 1e6,
        "frames that differ": len(read_scenes(frames)),
    }


def rounds(function: Callable[[], dict[str, float]], *names: str, quick: bool) -> Mapping[str, RowValues]:
    """Call ``function`` repeatedly, each time in a new process; values without a row become details."""
    found = []
    for _ in range(1 if quick else 3):
        quiet.wait()
        found.append(apart(function))
    detail = {name: value for name, value in found[-1].items() if name not in names}
    return {name: RowValues([one[name] for one in found], detail=dict(detail)) for name in names}


@benchmark("charts", Quantity("charts", "four charts of four series painted", "ms CPU", "≤ 3 ms CPU"))
def measure_charts(quick: bool) -> Mapping[str, RowValues]:
    """Measure the CPU time to paint four series of 600 points each on a screen of 120x40."""
    return rounds(paint_charts, "charts", quick=quick)


@benchmark(
    "pictures",
    Quantity("png-120x40", "PNG of 120x40", "s", "≤ 1 s"),
    Quantity("gif-20s", "GIF of 20 s, 5 frames/s, 120x40, made", "s", "≤ 30 s"),
    Quantity("gif-20s-size", "its size", "MB", "≤ 3 MB"),
)
def measure_pictures(quick: bool) -> Mapping[str, RowValues]:
    """Measure a picture of the screen, and a film of it with live charts."""
    return rounds(make_pictures, "png-120x40", "gif-20s", "gif-20s-size", quick=quick)
