"""Replay of an hour of six lanes at 10 Hz: milliseconds to the first whole frame, and of a jump anywhere."""

import random
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.made_recording import NAMES, made_lines

from .figures import Benchmark, Measured, Reach, Row, percentile, quiet
from .terminal import Terminal

HOUR = 3600.0
SIZES = ((120, 40), (200, 60))
WINDOWS = {"15 s": 0, "1 min": 2, "10 min": 3, "1 h": 2, "8 h": 2}
"""The windows that are measured, and how often ``]`` is pressed to come to each from the one before."""
STILL = 0.25
"""Seconds without a byte after which a picture is finished."""
COLUMNS = range(50, 110)
"""Where on the line that is played along a jump is clicked."""


def _finished(terminal: Terminal, pressed: float) -> float:
    """Return the milliseconds from a press to the last byte of the picture that it made."""
    terminal.until(lambda: terminal.read_at > pressed)
    while terminal.read(STILL):
        pass
    return (terminal.read_at - pressed) * 1e3


def _whole(terminal: Terminal) -> bool:
    parts = ("1 threads", "made.jsonl", "─ RSS ", "─ compl", "vm.max_map_count", "quit")
    return all(part in terminal.text for part in parts) and "00:0" in terminal.line(len(terminal.rows) - 2)


def _click(terminal: Terminal, column: int) -> float:
    row = len(terminal.rows) - 2
    at = terminal.mouse(0, row, column)
    terminal.mouse(0, row, column, release=True)
    return at


def _session(path: Path, size: tuple[int, int], jumps: int) -> tuple[float, list[tuple[str, float]]]:
    """Open the file once and jump about in it."""
    chance = random.Random(4)
    took: list[tuple[str, float]] = []
    with Terminal(("-m", "concwatch", "replay", str(path)), *size) as terminal:
        first = (terminal.until(lambda: _whole(terminal)) - terminal.began) * 1e3
        terminal.press(" ")
        terminal.press("[[")
        terminal.run(0.5)
        for window, presses in WINDOWS.items():
            terminal.press("]" * presses)
            terminal.run(0.5)
            for _ in range(jumps):
                took.append((window, _finished(terminal, _click(terminal, chance.choice(COLUMNS)))))
            for key in ("\x1b[F", "\x1b[H", "\x1b[1;2C"):  # end, home, ten seconds on
                took.append((window, _finished(terminal, terminal.press(key))))
    return first, took


def measure(quick: bool) -> Mapping[str, Measured]:
    """Measure both at two sizes of the terminal."""
    opened, jumps = Measured(), Measured()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.jsonl"
        path.write_bytes(b"".join(made_lines(HOUR / 10 if quick else HOUR, lanes=len(NAMES))))
        opened.detail["MB"] = round(path.stat().st_size / 1e6, 1)
        for round_ in range(2 if quick else 4):
            quiet.wait()
            size = SIZES[round_ % len(SIZES)]
            first, took = _session(path, size, 1 if quick else 3)
            opened.values.append(first)
            jumps.values += [value for _, value in took]
            for window in WINDOWS:
                slowest = max(value for name, value in took if name == window)
                jumps.detail[f"{size[0]}x{size[1]}, {window}: slowest"] = round(slowest, 1)
    jumps.detail["p50"] = percentile(jumps.values, 0.5)
    slow = percentile(jumps.values, 0.95)
    return {"replay-open": opened, "replay-jump": Measured([slow], detail=jumps.detail)}


BENCHMARKS = (
    Benchmark(
        "replay",
        (
            Row(
                "replay-open",
                "replay of an hour of six lanes: first whole frame",
                "ms",
                "",
                Reach("at most", 1500, "measured"),
            ),
            Row(
                "replay-jump",
                "a jump anywhere in it, at windows of 15 s to 8 h, p95",
                "ms",
                "",
                Reach("at most", 100, "measured"),
            ),
        ),
        measure,
    ),
)
