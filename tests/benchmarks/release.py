"""Seconds from letting go of asyncio's slider at 10,000 to "10,000 live" on screen; the lane is on already.

By mouse, in the real program at 120x40: press on the knob, move, release.
"""

import time
from collections.abc import Mapping

from concwatch.ui.scale import StopScale

from .figures import Benchmark, Measured, Reach, Row, alternate
from .terminal import Terminal

TASKS = 10_000


def drag(terminal: Terminal, engine: str, tasks: int) -> float:
    """Drag ``engine``'s slider from 0 to ``tasks`` by mouse; give the time of letting go."""
    row, _ = terminal.find(f" {engine} ")
    row += 1
    knob = terminal.line(row).index("●")
    width = terminal.line(row)[knob:].rstrip(" │").count("─") + 1
    scale = StopScale()
    cell = next(cell for cell in range(width) if scale.value_at(cell, width) == tasks)
    terminal.mouse(0, row, knob)
    for step in range(1, 9):
        terminal.run(0.03)
        terminal.mouse(32, row, knob + round(cell * step / 8))
    terminal.until_text(f"{tasks:,} → about")
    terminal.run(0.1)
    return terminal.mouse(0, row, knob + cell, release=True)


def _seconds(traced: bool) -> float:
    with Terminal() as terminal:
        terminal.until_text("4 uvloop")
        terminal.press("3")
        terminal.until_text("▌3 asyncio")
        if not traced:
            terminal.press("t")
            terminal.until_text("traced     ○ off")
        terminal.press(" ")
        row, _ = terminal.find("▌3 asyncio")
        terminal.until(lambda: "● on" in terminal.line(row)[:40])
        terminal.run(1.0 + time.monotonic() % 0.2)
        released = drag(terminal, "asyncio", TASKS)
        return terminal.until_text(f"{TASKS:,} live") - released


def measure(quick: bool) -> Mapping[str, Measured]:
    """Measure untraced, and traced as the screen is by default."""
    found = alternate(1 if quick else 7, untraced=lambda: _seconds(False), traced=lambda: _seconds(True))
    return {name: Measured(values, detail={"worst": max(values)}) for name, values in found.items()}


BENCHMARKS = (
    Benchmark(
        "release",
        tuple(
            Row(
                name,
                f"letting go at 10,000 to 10,000 live, {name}",
                "s",
                "",
                Reach("at most", 0.4, "measured"),
            )
            for name in ("untraced", "traced")
        ),
        measure,
    ),
)
