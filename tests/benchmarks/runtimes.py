"""Workers in other languages against bare programs in the same language; a million tasks held, and let go.

A bare program starts as many tasks as its argument says, as a programmer of that language starts tasks that
can be cancelled, and says how long that took and what it weighs. An engine without its tools, or without such
a program, has no rows.
"""

import asyncio
import atexit
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import psutil
from msgspec import Struct

from concwatch.runtimes.building import BuildError, build, choose
from concwatch.runtimes.rows import JAVA_FLAGS, RUNTIMES
from concwatch.runtimes.tool import Tool, find
from tests.worker_driver import Worker

from .bare import SETTLE
from .figures import Benchmark, Measured, Reach, Row, alternate

HERE = Path(__file__).resolve().parent / "bare_runtimes"

MANY = 100_000
THREADS = 10_000
MILLION = 1_000_000

PATIENCE = 300.0
"""Seconds that one step may take: a million takes its time where others use the machine."""

START_REACH = 0.5
SLOW_START_REACH = 1.5
"""Seconds to ``ready``: what runs on the JVM or on BEAM takes longer to begin at all."""


class Bare(Struct, frozen=True):
    """A bare program: how it is built and started, in the words of `concwatch.runtimes.runtime.Runtime`."""

    folder: str
    """Where its source is, below ``bare_runtimes``."""
    run: tuple[str, ...]
    """The number of tasks comes behind it."""
    build: tuple[tuple[str, ...], ...] = ()
    tasks: int = MANY
    million: bool = False
    """Whether the worker is to hold a million."""
    start: float = START_REACH
    tools: tuple[Tool, ...] = ()
    """Those that it needs and the worker does not."""


ELIXIR = Tool("elixir", "apt install elixir", folders=("/usr/lib/elixir/bin", "/usr/local/lib/elixir/bin"))

CARGO = (
    *("{cargo}", "build", "--release", "--locked", "--quiet", "--manifest-path", "{source}/Cargo.toml"),
    *("--target-dir", "{out}", "--bin"),
)
RUSTC = ("{rustc}", "--edition", "2024", "-O")


def _mono(program: str) -> Bare:
    sources = (f"{{source}}/{program}.cs", "{source}/Memory.cs")
    build = ("{mcs}", "-langversion:7", "-optimize", "-out:{out}/bare.exe", *sources)
    return Bare("csharp", ("{mono}", "{out}/bare.exe"), (build,))


def _java(program: str, tasks: int, million: bool) -> Bare:
    sources = ("{source}/Memory.java", f"{{source}}/{program}.java")
    return Bare(
        "java",
        ("{java}", *JAVA_FLAGS, "-cp", "{out}", program),
        (("{javac}", "-d", "{out}", *sources),),
        tasks=tasks,
        million=million,
        start=SLOW_START_REACH,
    )


BARE: dict[str, Bare] = {
    "rust-threads": Bare(
        "rust",
        ("{out}/threads",),
        (
            (
                *RUSTC,
                "--crate-type",
                "rlib",
                "--crate-name",
                "bare",
                "--out-dir",
                "{out}",
                "{source}/src/lib.rs",
            ),
            (
                *RUSTC,
                "--extern",
                "bare={out}/libbare.rlib",
                "--out-dir",
                "{out}",
                "{source}/src/bin/threads.rs",
            ),
        ),
        tasks=THREADS,
    ),
    "tokio": Bare("rust", ("{out}/release/tokio",), ((*CARGO, "tokio"),), million=True),
    "async-std": Bare("rust", ("{out}/release/async_std",), ((*CARGO, "async_std"),)),
    "go": Bare(
        "go",
        ("{out}/bare",),
        (("{go}", "build", "-C", "{source}", "-trimpath", "-buildvcs=false", "-o", "{out}/bare", "."),),
        million=True,
    ),
    "java-threads": _java("Platform", THREADS, False),
    "java-virtual": _java("Virtual", MANY, True),
    "csharp": _mono("Async"),
    "csharp-timers": _mono("Timers"),
    "node": Bare("node", ("{node}", "{source}/async.mjs"), million=True),
    "node-timers": Bare("node", ("{node}", "{source}/timers.mjs")),
    "erlang": Bare(
        "erlang",
        ("{erl}", "-noinput", "-pa", "{out}", "-run", "bare", "main"),
        (("{erlc}", "-o", "{out}", "{source}/bare.erl"),),
        million=True,
        start=SLOW_START_REACH,
    ),
    "elixir": Bare(
        "elixir",
        ("{elixir}", "-pa", "{out}", "-e", "Bare.main()"),
        (("{elixirc}", "-o", "{out}", "{source}/bare.ex"),),
        tools=(ELIXIR,),
        start=SLOW_START_REACH,
    ),
}
"""Engine → its bare program."""


class Pair(Struct, frozen=True):
    """An engine's worker and its bare program, both built: the commands that start them."""

    worker: list[str]
    bare: list[str]


def _built(engine: str, folder: Path) -> Pair:
    """Build both.

    Raises:
        BuildError: a tool is missing, or the worker could not be built.
    """
    way = choose(RUNTIMES[engine])
    row = BARE[engine]
    worker = asyncio.run(build([way], engine, lambda text: None, lambda seconds: None))
    places, source, out = way.found(), str(HERE / row.folder), folder / engine
    for tool in row.tools:
        place = find(tool)
        if isinstance(place, str):
            raise BuildError(place)
        places[tool.name] = place
    out.mkdir()

    def fill(command: tuple[str, ...]) -> list[str]:
        return way.fill(tuple(part.replace("{source}", source) for part in command), places, out, engine)

    for command in row.build:
        subprocess.run(
            fill(command), cwd=out, env=way.variables(), stdout=subprocess.DEVNULL, check=True, timeout=300
        )
    return Pair(worker, fill(row.run))


@cache
def _pairs() -> Mapping[str, Pair]:
    """Build all that can be, once; what cannot be is told on standard error."""
    folder = Path(tempfile.mkdtemp(prefix="concwatch-bare-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    pairs = {}
    for engine in filter(RUNTIMES.__contains__, BARE):
        try:
            pairs[engine] = _built(engine, folder)
        except (BuildError, OSError, subprocess.SubprocessError) as error:
            print(f"  {engine} is not measured: {error}", file=sys.stderr)
    return pairs


def _bare(command: Sequence[str], tasks: int) -> tuple[float, float]:
    """Return the seconds that a bare program took, and its bytes a task."""
    done = subprocess.run([*command, str(tasks)], stdout=subprocess.PIPE, check=True, timeout=300)
    found = json.loads(done.stdout)
    return found["seconds"], (found["rss"] - found["rss_before"]) / tasks


def _worker(command: Sequence[str], tasks: int) -> tuple[float, float]:
    """Return the same of a worker, looked at in the same moment: when all are live."""
    with Worker("", command=command, patience=PATIENCE) as worker:
        process = psutil.Process(worker.ready["pid"])
        worker.do("workload", spec="sleep:3600", word="sleep", seconds=3600)
        time.sleep(SETTLE)
        idle = process.memory_info().rss
        seconds = worker.target(tasks)["seconds"]
        return seconds, (process.memory_info().rss - idle) / tasks


def _million(command: Sequence[str], tasks: int) -> tuple[float, float, float]:
    """Return the seconds until all are held, the longest between two ticks, and from ``stop`` to the end."""
    with Worker("", command=command, patience=PATIENCE) as worker:
        worker.do("workload", spec="sleep:3600", word="sleep", seconds=3600)
        before = max(0, len(worker.ticks) - 1)
        seconds = worker.target(tasks)["seconds"]
        time.sleep(1)
        times = [tick["time"] for tick in worker.ticks[before:]]
        began = time.monotonic()
        worker.send("stop")
        worker.process.wait(PATIENCE)
        gone = time.monotonic() - began
        return seconds, max(later - earlier for earlier, later in pairwise(times)), gone


def _start(command: Sequence[str]) -> float:
    """Return the seconds from a worker's start to its ``ready``."""
    began = time.monotonic()
    with Worker("", command=command, patience=PATIENCE):
        return time.monotonic() - began


def _each(measure: Callable[[str, Pair], Mapping[str, Measured]]) -> Mapping[str, Measured]:
    """Measure every engine that there is; one that fails does not keep the others from it."""
    rows: dict[str, Measured] = {}
    for engine, pair in _pairs().items():
        try:
            rows |= measure(engine, pair)
        except (AssertionError, OSError, ValueError, subprocess.SubprocessError) as error:
            print(f"  {engine} could not be measured: {error}", file=sys.stderr)
    return rows


def measure_tasks(quick: bool) -> Mapping[str, Measured]:
    """Measure seconds until all are live, and bytes a task, beside the bare program."""

    def measure(engine: str, pair: Pair) -> Mapping[str, Measured]:
        tasks = BARE[engine].tasks // (10 if quick else 1)
        found = alternate(
            1 if quick else 5,
            bare=lambda: _bare(pair.bare, tasks),
            worker=lambda: _worker(pair.worker, tasks),
        )
        return {
            f"{engine}.seconds": Measured(found["worker"][::2], found["bare"][::2]),
            f"{engine}.rss": Measured(found["worker"][1::2], found["bare"][1::2]),
        }

    return _each(measure)


def measure_million(quick: bool) -> Mapping[str, Measured]:
    """Measure a million held: until they are, how long ticks stay away, and until all is gone."""

    def measure(engine: str, pair: Pair) -> Mapping[str, Measured]:
        if not BARE[engine].million:
            return {}
        tasks = MILLION // (10 if quick else 1)
        found = alternate(1 if quick else 5, worker=lambda: _million(pair.worker, tasks))["worker"]
        return {
            f"{engine}.{name}": Measured(found[at::3]) for at, name in enumerate(("seconds", "gap", "gone"))
        }

    return _each(measure)


def measure_start(quick: bool) -> Mapping[str, Measured]:
    """Measure the start of a worker that is built, and has run before."""

    def measure(engine: str, pair: Pair) -> Mapping[str, Measured]:
        _start(pair.worker)
        found = alternate(1 if quick else 5, worker=lambda: _start(pair.worker))
        return {engine: Measured(found["worker"])}

    return _each(measure)


def _task_rows(engine: str, bare: Bare) -> tuple[Row, ...]:
    what = f"{engine} {bare.tasks:,}"
    return (
        Row(f"{engine}.seconds", f"{what} created and live", "s", "bare program", Reach("at most", 1.3)),
        Row(f"{engine}.rss", f"RSS a task, {what}", "B", "bare program", Reach("within", 0.05)),
    )


def _million_rows(engine: str) -> tuple[Row, ...]:
    return (
        Row(f"{engine}.seconds", f"{engine} {MILLION:,} created and live", "s"),
        Row(f"{engine}.gap", f"{engine} {MILLION:,}, longest between two ticks", "s"),
        Row(f"{engine}.gone", f"{engine} {MILLION:,}, stopped", "s", reach=Reach("at most", 15, "measured")),
    )


BENCHMARKS = (
    Benchmark("runtimes", tuple(row for item in BARE.items() for row in _task_rows(*item)), measure_tasks),
    Benchmark(
        "runtimes-million",
        tuple(row for engine, bare in BARE.items() if bare.million for row in _million_rows(engine)),
        measure_million,
    ),
    Benchmark(
        "runtimes-start",
        tuple(
            Row(
                engine,
                f"{engine}, second start to ready",
                "s",
                reach=Reach("at most", bare.start, "measured"),
            )
            for engine, bare in BARE.items()
        ),
        measure_start,
    ),
)
