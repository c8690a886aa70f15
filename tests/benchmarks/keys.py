"""Milliseconds from a key press to the screen that shows it, while asyncio's worker creates 1,000,000 tasks.

The real screen at 120x40; keys that choose a lane and keys that change the charts' window are pressed at
random moments, and each is timed until the last cell that shows it has arrived. From the same runs: the
spacing of the lane's RSS samples, over the interval that was asked for.
"""

import json
import random
import tempfile
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

from concwatch.lab.lab import DEFAULT_HZ

from .figures import Benchmark, Measured, Reach, Row, percentile, quiet
from .terminal import Terminal

TASKS = 1_000_000
PRESSES = 60
"""Presses wanted in all; rounds are added until there are as many."""
MOST_ROUNDS = 4
CHARTS = 2
"""Charts looked at: those in the left column, which no notice ever covers."""
COVERED = 56
"""The first column that a notice, which comes up at the lower right, may cover."""

END_KEY = "\x1b[F"


def _labelled(terminal: Terminal, label: str) -> bool:
    """Return whether all charts looked at have ``label`` below them."""
    return sum(label in terminal.line(row)[:COVERED] for row in range(len(terminal.rows))) == CHARTS


def _choices(terminal: Terminal, lane: int, longer: bool) -> list[tuple[str, str, Callable[[], bool]]]:
    """List what may be pressed now: its kind, the key, and whether the screen shows it."""
    other = random.choice([number for number in (1, 2, 3, 4) if number != lane])
    label = "-60s" if longer else "-2m"
    return [
        ("choose", str(other), lambda: f"▌{other} " in terminal.text),
        ("window", "[" if longer else "]", lambda: _labelled(terminal, label)),
    ]


def _round(trace: bool, most: int) -> tuple[list[tuple[str, float]], list[float], dict[str, object]]:
    """Press keys while the tasks are created; give kinds and milliseconds, and the samples' spacing in s."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "samples"
        module = "tests.benchmarks.recorded"
        presses: list[tuple[str, float]] = []
        terminal = Terminal(("-m", module, str(file), "trace" if trace else "no-trace"))
        try:
            terminal.until_text("4 uvloop")
            terminal.press("3")
            terminal.until_text("▌3 asyncio")
            terminal.press(" ")
            terminal.run(2.0)
            terminal.press(END_KEY)
            began = time.monotonic()
            terminal.until(lambda: _labelled(terminal, "-60s"))
            done, lane, longer = f"{TASKS:,} live", 3, False
            while done not in terminal.text and len(presses) < most:
                terminal.run(random.uniform(0.02, 0.22))
                kind, key, seen = random.choice(_choices(terminal, lane, longer))
                pressed = terminal.press(key)
                presses.append((kind, (terminal.until(seen) - pressed) * 1e3))
                lane, longer = (int(key), longer) if kind == "choose" else (lane, key == "]")
            reached = done in terminal.text
            took = time.monotonic() - began
        finally:
            terminal.close()
        samples = json.loads(file.read_text())
    times = [at for at, live, target in samples if live < target]
    spacing = [after - before for before, after in pairwise(times)]
    return presses, spacing, {"reached 1 M": reached, "seconds": round(took, 1), "samples": len(times)}


def measure(quick: bool) -> Mapping[str, Measured]:
    """Measure untraced, and traced as the screen is by default."""
    rows: dict[str, Measured] = {}
    for name, trace in (("untraced", False), ("traced", True)):
        presses: list[tuple[str, float]] = []
        spacing: list[float] = []
        rounds: list[object] = []
        for _ in range(1 if quick else MOST_ROUNDS):
            quiet.wait()
            more, gaps, about = _round(trace, 10 if quick else 150)
            presses += more
            spacing += gaps
            rounds.append(about)
            if len(presses) >= PRESSES:
                break
        latencies = [value for _, value in presses]
        detail: dict[str, object] = {
            "presses": len(presses),
            "p50": percentile(latencies, 0.5),
            "max": max(latencies),
        }
        for kind in ("choose", "window"):
            values = [value for which, value in presses if which == kind] or [float("nan")]
            detail[f"{kind} p50, p95"] = [round(percentile(values, share), 1) for share in (0.5, 0.95)]
        rows[f"keys-{name}"] = Measured([percentile(latencies, 0.95)], detail={**detail, "rounds": rounds})
        over = [gap * DEFAULT_HZ for gap in spacing]
        rows[f"spacing-{name}"] = Measured(
            [percentile(over, 0.99)],
            detail={"samples": len(over), "p50": percentile(over, 0.5), "max": max(over)},
        )
    return rows


BENCHMARKS = (
    Benchmark(
        "keys",
        tuple(
            row
            for name in ("untraced", "traced")
            for row in (
                Row(
                    f"keys-{name}",
                    f"key to screen while 1 M start, {name}, p95",
                    "ms",
                    "",
                    Reach("at most", 100, "measured"),
                ),
                Row(
                    f"spacing-{name}",
                    f"spacing of RSS samples then, {name}, p99",
                    "intervals",
                    "",
                    Reach("at most", 2.5, "measured"),
                ),
            )
        ),
        measure,
    ),
)
