"""What a recording costs while it is made, how large it gets, and how fast it opens.

``python -m tests.benchmarks.recording real SECONDS`` records six real lanes and prints, as JSON, the share of
a core that this took and the bytes an hour; ``… hour STEPS FILE`` writes a recording of so many steps of six
made-up lanes, ``… load FILE`` opens it, and jumps about in it.
"""

import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from concwatch.charts.table import DRAWN
from concwatch.lab.catalog import PYTHONS, Engine
from concwatch.lab.lab import DEFAULT_HZ, Lab
from concwatch.lab.settings import Settings
from concwatch.lab.snapshot import Snapshot
from concwatch.links.link import Arrival
from concwatch.links.messages import Tick
from concwatch.recordings.load import load
from concwatch.recordings.recorder import Recorder
from concwatch.recordings.writers import open_writer
from concwatch.system.process import Reading
from tests.fake import FakeLink

from .figures import PYTHON, ROOT, Benchmark, Measured, Reach, Row, environment, quiet

HOUR = int(3600 * DEFAULT_HZ)
WINDOWS = (60.0, 600.0, 8 * 3600.0)
JUMPS = 20


def _recorder(path: Path, lab: Lab) -> Recorder:
    recorder = Recorder(path, open_writer(path), "benchmark", [lane.engine for lane in lab.lanes])
    recorder.follow(lab)
    return recorder


# Real lanes.


async def _record(seconds: float, path: Path) -> dict[str, float]:
    lab = Lab(PYTHONS, settings=Settings(trace=True))
    recorder = _recorder(path, lab)
    used = 0.0

    def timed(observe: Callable[[Snapshot], None]) -> Callable[[Snapshot], None]:
        def look(snapshot: Snapshot) -> None:
            nonlocal used
            before = time.thread_time()
            observe(snapshot)
            used += time.thread_time() - before

        return look

    for lane in lab.lanes:
        lab.set_target(lane, 1_000)
    running = asyncio.get_running_loop().create_task(lab.run())
    own = list(lab.observers)
    full = asyncio.Event()

    def watch(snapshot: Snapshot) -> None:
        if all(lane.live for lane in lab.lanes if not lane.missing):
            full.set()

    lab.observers.append(watch)
    await full.wait()
    lab.observers[:] = map(timed, own)
    before, samples, began = recorder.size, recorder.samples, lab.clock()
    await asyncio.sleep(seconds)
    took, size, samples = lab.clock() - began, recorder.size - before, recorder.samples - samples
    lab.observers[:] = own
    running.cancel()
    await lab.close()
    recorder.stop("done")
    # Of a machine that is too busy for ten samples a second an hour would seem smaller than it is.
    hour = size / samples * HOUR * len(lab.lanes)
    return {
        "percent": used / samples * len(lab.lanes) * DEFAULT_HZ * 100,
        "hour": hour,
        "samples": samples,
        "seconds": took,
        "bytes a sample": size / samples,
    }


# A made-up hour.


class _NoisyLink(FakeLink):
    """A fake worker whose figures have as many digits as those of a real one."""

    chance = random.Random(4)

    def arrivals(self, now: float) -> Sequence[Arrival]:
        """Return what a fake worker says, less smooth."""
        return [
            replace(
                one,
                lag=round(self.chance.random() / 50, 6),
                gc=round(one.gc or 0.0, 6),
                time=one.time + self.chance.random() / 1000,
            )
            if isinstance(one, Tick)
            else one
            for one in super().arrivals(now)
        ]

    def reading(self) -> Reading | None:
        """Return what a fake worker has, in whole pages."""
        found = super().reading()
        return found and Reading(
            found.rss // 4096 * 4096, self.chance.randrange(1000) / 1000, found.threads, 5_000_000_000
        )


def _write(steps: int, path: Path) -> None:
    now = 12_345.0
    chance = random.Random(8)

    def open_link(engine: Engine) -> FakeLink:
        return _NoisyLink(engine)

    lab = Lab(PYTHONS, settings=Settings(trace=True), open_link=open_link, clock=lambda: now)
    recorder = _recorder(path, lab)
    for step in range(steps):
        now += 1 / DEFAULT_HZ + chance.random() / 10_000
        if step % 600 == 0:
            lab.set_target(chance.choice(lab.lanes), chance.choice((0, 1_000, 10_000)))
        if step % 600 == 300:
            for lane in lab.lanes:
                lab.set_target(lane, lane.target or 5_000)
        lab.step()
    recorder.stop("done")


def _open(path: Path) -> dict[str, float]:
    began = time.perf_counter()
    recording = load(path)
    loaded = time.perf_counter() - began
    began = time.perf_counter()
    for lane in recording.lanes:  # as the screen does in its first second, while nobody waits
        for metric in DRAWN:
            lane.series.fold(metric)
    folded = time.perf_counter() - began
    chance, jumps, views = random.Random(15), [], []
    for _ in range(JUMPS):
        at = chance.random() * recording.duration
        began = time.perf_counter()
        recording.snapshot(at)
        views.append(time.perf_counter() - began)
        for window in WINDOWS:
            for series in recording.series_until(at):
                for metric in DRAWN:
                    series.since(metric, at - window)
        recording.events(at).since(0)
        recording.marks(at).since(0)
        jumps.append(time.perf_counter() - began)
    return {
        "load": loaded * 1e3,
        "folded ahead": folded * 1e3,
        "jump": max(jumps) * 1e3,
        "view": sorted(views)[JUMPS // 2] * 1e6,
        "samples": recording.samples,
        "MB": path.stat().st_size / 1e6,
    }


def _run(*arguments: str) -> dict[str, float]:
    command = [PYTHON, "-m", "tests.benchmarks.recording", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout or "{}")
    return found


def measure(quick: bool) -> Mapping[str, Measured]:
    """Measure six real lanes, then open an hour of made-up ones."""
    found = {row.name: Measured() for row in ROWS}
    for _ in range(1 if quick else 3):
        quiet.wait()
        real = _run("real", "20" if quick else "60")  # an hour is as its first minute, not its first seconds
        found["cpu"].values.append(real["percent"])
        found["size"].values.append(real["hour"] / 1e6)
        found["size"].detail = dict(real)
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/hour.jsonl"
        _run("hour", str(HOUR // 50 if quick else HOUR), file)
        for _ in range(1 if quick else 5):
            quiet.wait()
            opened = _run("load", file)
            for name in ("load", "jump", "view"):
                found[name].values.append(opened[name])
            found["load"].detail = dict(opened)
    return found


ROWS = (
    Row("cpu", "recording six lanes at 10 Hz", "%", "one core", Reach("at most", 2, "measured")),
    Row("size", "an hour of it, plain", "MB", "", Reach("at most", 45, "measured")),
    Row("load", "opening an hour of six lanes", "ms", "", Reach("at most", 800, "measured")),
    Row(
        "jump",
        "the slowest of 20 jumps in it, once folded: view and charts",
        "ms",
        "",
        Reach("at most", 100, "measured"),
    ),
    Row("view", "one view of it", "µs", "", Reach("at most", 1000, "measured")),
)

BENCHMARKS = (Benchmark("recording", ROWS, measure),)

if __name__ == "__main__":
    what, *values = sys.argv[1:]
    if what == "real":
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(asyncio.run(_record(float(values[0]), Path(folder) / "real.jsonl"))))
    elif what == "hour":
        _write(int(values[0]), Path(values[1]))
    else:
        print(json.dumps(_open(Path(values[0]))))
