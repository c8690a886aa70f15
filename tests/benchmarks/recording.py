"""What hours cost: the monitor's memory, and a recording while it is made and when it is opened."""

import asyncio
import random
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil

from concwatch.charts.table import DRAWN
from concwatch.lab.catalog import PYTHONS, SHOWN
from concwatch.lab.lab import DEFAULT_HZ, Lab
from concwatch.lab.settings import Settings
from concwatch.lab.snapshot import Snapshot
from concwatch.recordings.load import load
from concwatch.recordings.recorder import Recorder
from concwatch.recordings.writers import open_writer
from tests.apart import apart
from tests.benchmarks.figures import MIB, Measured, Row, benchmark, quiet, running
from tests.fake import FakeWorkers
from tests.made_recording import NAMES, made_lines

HOUR = int(3600 * DEFAULT_HZ)
"""Steps of a lab."""

# Eight hours of four lanes: fake ones, and a clock that is run fast.

HOURS = 8
CHANGE = int(20 * DEFAULT_HZ)
"""Steps between two changes of a target: it goes up, down, and to none at all."""


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
    Row("growth", f"the monitor's memory after {HOURS} h of four lanes", "MiB", "≤ 20 MiB"),
    Row("step", "one step of that lab, with its snapshot", "µs"),
)
def measure_history(quick: bool) -> Mapping[str, Measured]:
    """Measure the growth over eight hours, and the time of a step."""
    quiet.wait()
    found = apart(live_through, HOURS * HOUR // (50 if quick else 1))
    step = found.pop("step")
    return {
        "growth": Measured([found["after"] - found["before"]], detail=found),
        "step": Measured([step]),
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

    async with running(Lab(PYTHONS, settings=Settings(trace=True))) as lab:
        recorder = Recorder(path, open_writer(path), "benchmark", [lane.engine for lane in lab.lanes])
        recorder.follow(lab)
        for lane in lab.lanes:
            lab.set_target(lane, 1_000)
        own = list(lab.observers)
        while not all(lane.live for lane in lab.lanes if not lane.missing):  # noqa: ASYNC110  # it has no events
            await asyncio.sleep(0.1)
        lab.observers[:] = map(timed, own)
        before, samples, began = recorder.size, recorder.samples, lab.clock()
        await asyncio.sleep(seconds)
        took, size, samples = lab.clock() - began, recorder.size - before, recorder.samples - samples
        lab.observers[:] = own
    recorder.stop("done")
    # Of a machine that is too busy for ten samples a second an hour would seem smaller than it is.
    return {
        "percent": used / samples * len(lab.lanes) * DEFAULT_HZ * 100,
        "hour": size / samples * HOUR * len(lab.lanes),
        "samples": samples,
        "seconds": took,
        "bytes a sample": size / samples,
    }


# A made-up hour of six lanes.


def open_and_jump(path: str) -> dict[str, float]:
    """Open it, and jump about in it; return milliseconds, but µs for one view."""
    began = time.perf_counter()
    recording = load(Path(path))
    loaded = time.perf_counter()
    for lane in recording.lanes:  # as the screen does in its first second, while nobody waits
        for metric in DRAWN:
            lane.series.fold(metric)
    folded = time.perf_counter()
    chance, jumps, views = random.Random(15), [], []
    for _ in range(20):
        at, start = chance.random() * recording.duration, time.perf_counter()
        recording.snapshot(at)
        views.append(time.perf_counter() - start)
        for window in (60.0, 600.0, 8 * 3600.0):
            for series in recording.series_until(at):
                for metric in DRAWN:
                    series.since(metric, at - window)
        recording.events(at).since(0)
        recording.marks(at).since(0)
        jumps.append(time.perf_counter() - start)
    return {
        "load": (loaded - began) * 1e3,
        "folded ahead": (folded - loaded) * 1e3,
        "jump": max(jumps) * 1e3,
        "view": sorted(views)[len(views) // 2] * 1e6,
        "samples": recording.samples,
        "MB": Path(path).stat().st_size / 1e6,
    }


@benchmark(
    "recording",
    Row("cpu", "recording six lanes at 10 Hz", "%", "≤ 2 %", "one core"),
    Row("size", "an hour of it, plain", "MB", "≤ 45 MB"),
    Row("load", "opening an hour of six lanes", "ms", "≤ 800 ms"),
    Row("jump", "the slowest of 20 jumps in it, once folded: view and charts", "ms", "≤ 100 ms"),
    Row("view", "one view of it", "µs", "≤ 1000 µs"),
)
def measure_recording(quick: bool) -> Mapping[str, Measured]:
    """Measure six real lanes, then open an hour of made-up ones."""
    found = {name: Measured() for name in ("cpu", "size", "load", "jump", "view")}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(1 if quick else 3):
            quiet.wait()
            # An hour is as its first minute, not its first seconds.
            real = apart(record_real, 20 if quick else 60, folder)
            found["cpu"].values.append(real["percent"])
            found["size"].values.append(real["hour"] / 1e6)
            found["size"].detail = real
        file = f"{folder}/hour.jsonl"
        Path(file).write_bytes(b"".join(made_lines(3600 / 50 if quick else 3600, lanes=len(NAMES))))
        for _ in range(1 if quick else 5):
            quiet.wait()
            opened = apart(open_and_jump, file)
            for name in ("load", "jump", "view"):
                found[name].values.append(opened[name])
            found["load"].detail = opened
    return found
