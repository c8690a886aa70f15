"""The cost of long sessions: the monitor's memory, a recording, and its replay."""

import asyncio
import random
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil

from concwatch.commands.basics.lab import open_process
from concwatch.monitor.lanes.lab import DEFAULT_HZ, Lab
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.workers.catalog import PYTHONS, SHOWN
from concwatch.recordings.recorder import Recorder
from concwatch.recordings.writers import open_writer
from tests.apart import apart
from tests.benchmarks.figures import MIB, Quantity, RowValues, benchmark, percentile, quiet, running
from tests.benchmarks.terminal import CONCWATCH, DrawnTerminal
from tests.fake_link import FakeWorkers
from tests.made_recording import NAMES, made_lines

HOUR = int(3600 * DEFAULT_HZ)
"""Steps of a lab."""

# Eight hours of four lanes: fake workers on a fast clock.

HOURS = 8
CHANGE = int(20 * DEFAULT_HZ)
"""Steps between two changes of a target."""


def live_through(steps: int) -> dict[str, float]:
    """Step a lab; return RSS in bytes after one minute of its clock and at the end, and µs of a step."""
    now = 0.0
    lab = Lab(SHOWN, settings=Settings(trace=True), open_link=FakeWorkers(), clock=lambda: now)
    lab.observers.append(lambda snapshot: None)  # as a screen is one
    for lane in lab.lanes:
        lab.switch(lane, True)
    process, chance = psutil.Process(), random.Random(8)
    first = min(int(60 * DEFAULT_HZ), steps // 2)
    for step in range(steps):
        now = step / DEFAULT_HZ
        lab.step()
        if step % 2 == 0:
            lab.snapshot(now)  # as often as the screen does
        if step % CHANGE == 0:
            lab.set_target(chance.choice(lab.lanes), chance.choice((0, 1_000, 50_000, 200_000)))
        if step == first:
            before, began = process.memory_info().rss, time.perf_counter()
    took = time.perf_counter() - began
    return {
        "before": before / MIB,
        "after": process.memory_info().rss / MIB,
        "step": took / (steps - first) * 1e6,
        "points": sum(len(lane.series) for lane in lab.lanes),
    }


@benchmark(
    "history",
    Quantity("growth", f"the monitor's memory after {HOURS} h of four lanes", "MiB", "≤ 20 MiB"),
    Quantity("step", "one step of that lab, with its snapshot", "µs"),
)
def measure_history(quick: bool) -> Mapping[str, RowValues]:
    """Measure the growth over eight hours, and the time of a step."""
    quiet.wait()
    found = apart(live_through, HOURS * HOUR // (50 if quick else 1))
    step = found.pop("step")
    return {
        "growth": RowValues([found["after"] - found["before"]], detail=found),
        "step": RowValues([step]),
    }


# Six real lanes that are recorded.


async def record_real(seconds: float, folder: str) -> dict[str, float]:
    """Record so long; return the share of a core that this took, and the bytes an hour."""
    path, used = Path(folder, "real.jsonl"), 0.0

    def timed(observe: Callable[[Snapshot], None]) -> Callable[[Snapshot], None]:
        def look(snapshot: Snapshot) -> None:
            nonlocal used
            before = time.thread_time()
            observe(snapshot)
            used += time.thread_time() - before

        return look

    async with running(Lab(PYTHONS, open_link=open_process, settings=Settings(trace=True))) as lab:
        recorder = Recorder(path, open_writer(path), "benchmark", [lane.engine for lane in lab.lanes])
        recorder.observe(lab)
        lanes = [lane for lane in lab.lanes if not lane.worker.missing]  # whose hour is reported
        for lane in lanes:
            lab.set_target(lane, 1_000)
        own = list(lab.observers)
        while not all(lane.live for lane in lanes):  # noqa: ASYNC110  # it has no events
            await asyncio.sleep(0.1)
        lab.observers[:] = map(timed, own)
        before, samples, began = recorder.size, recorder.samples, lab.clock()
        await asyncio.sleep(seconds)
        took, size, samples = lab.clock() - began, recorder.size - before, recorder.samples - samples
        lab.observers[:] = own
    recorder.stop("done")
    # Extrapolated from samples: a busy machine may take fewer than ten a second.
    return {
        "percent": used / samples * len(lanes) * DEFAULT_HZ * 100,
        "hour": size / samples * HOUR * len(lanes),
        "samples": samples,
        "seconds": took,
        "bytes a sample": size / samples,
    }


@benchmark(
    "recording",
    Quantity("cpu", "recording six lanes at 10 Hz", "%", "≤ 2 %", "one core"),
    Quantity("size", "an hour of it, plain", "MB", "≤ 45 MB"),
)
def measure_recording(quick: bool) -> Mapping[str, RowValues]:
    """Measure a recording of six real lanes, extrapolated from its first minute."""
    cpu, size = RowValues(), RowValues()
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(1 if quick else 3):
            quiet.wait()
            found = apart(record_real, 20 if quick else 60, folder)
            cpu.values.append(found["percent"])
            size.values.append(found["hour"] / 1e6)
            size.detail = found
    return {"cpu": cpu, "size": size}


# Replay of an hour of six lanes at 10 Hz.

SIZES = ((120, 40), (200, 60))
WINDOWS = (0, 2, 3, 2, 2)
"""How often to press ``]`` from each window to the next: 15 s, 1 min, 10 min, 1 h, 8 h."""
STILL = 0.25
"""Seconds without output after which a frame is complete."""
COLUMNS = range(50, 110)
"""The columns of the timeline that are clicked."""
REPLAYED = ("1 threads", "made.jsonl", "─ RSS ", "─ compl", "vm.max_map_count", "quit")


def _finished(terminal: DrawnTerminal, pressed: float) -> float:
    """Return the milliseconds from a key press to the last byte of its frame."""
    terminal.until(lambda: terminal.read_at > pressed)
    while terminal.read(STILL):
        pass
    return (terminal.read_at - pressed) * 1e3


def _replay(path: Path, size: tuple[int, int], jumps: int) -> tuple[float, list[float]]:
    """Open the file and jump around in it; return the milliseconds to the first frame, and of each jump."""
    chance, took = random.Random(4), []
    with DrawnTerminal(*CONCWATCH, "replay", str(path), size=size) as terminal:
        row = size[1] - 2
        terminal.until(
            lambda: "00:0" in terminal.line(row) and all(part in terminal.text() for part in REPLAYED)
        )
        first = (terminal.read_at - terminal.began) * 1e3
        terminal.type(" ")
        terminal.type("[[")
        terminal.run(0.5)
        for presses in WINDOWS:
            terminal.type("]" * presses)
            terminal.run(0.5)
            for _ in range(jumps):
                column = chance.choice(COLUMNS)
                at = terminal.mouse(0, row, column)
                terminal.mouse(0, row, column, release=True)
                took.append(_finished(terminal, at))
            for key in ("\x1b[F", "\x1b[H", "\x1b[1;2C"):  # end, home, ten seconds on
                took.append(_finished(terminal, terminal.type(key)))
    return first, took


@benchmark(
    "replay",
    Quantity("replay-open", "replay of an hour of six lanes: first whole frame", "ms", "≤ 1500 ms"),
    Quantity("replay-jump", "a jump anywhere in it, at windows of 15 s to 8 h, p95", "ms", "≤ 100 ms"),
)
def measure_replay(quick: bool) -> Mapping[str, RowValues]:
    """Measure the first frame and jumps at two sizes of the terminal."""
    opened, jumps = RowValues(), RowValues()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.jsonl"
        path.write_bytes(b"".join(made_lines(360.0 if quick else 3600.0, lanes=len(NAMES))))
        opened.detail["MB"] = round(path.stat().st_size / 1e6, 1)
        for round_ in range(2 if quick else 4):
            quiet.wait()
            size = SIZES[round_ % len(SIZES)]
            first, took = _replay(path, size, 1 if quick else 3)
            opened.values.append(first)
            jumps.values += took
            jumps.detail[f"{size[0]}x{size[1]}: slowest"] = round(max(took), 1)
    jumps.detail["p50"] = percentile(jumps.values, 0.5)
    slow = percentile(jumps.values, 0.95)
    return {"replay-open": opened, "replay-jump": RowValues([slow], detail=jumps.detail)}
