"""Workers in other languages compared with bare programs in the same language; a million tasks.

A bare program starts as many cancellable tasks as its argument states, and prints how long that took and its
memory. An engine without its tools, or without such a program, has no rows.
"""

import asyncio
import atexit
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

import psutil
from msgspec import Struct

from concwatch.runtimes.building import BuildError, build, choose
from concwatch.runtimes.rows import JAVA_FLAGS, RUNTIMES
from concwatch.runtimes.tool import Tool, find
from tests.benchmarks.figures import Measured, Row, alternate, benchmark
from tests.benchmarks.workers import SETTLE
from tests.worker_driver import Worker

SOURCES = Path(__file__).resolve().parent / "bare_runtimes"

MANY = 100_000
THREADS = 10_000
MILLION = 1_000_000

PATIENCE = 300.0
"""Seconds that one step may take: a million tasks take long on a busy machine."""

SOON, LATER = "≤ 0.5 s", "≤ 1.5 s"
"""From the start to ``ready``: the JVM and BEAM take longer to start."""


class Bare(Struct, frozen=True):
    """How a bare program is built and started, with the placeholders of a `Runtime`."""

    folder: str
    """The folder of its source, in ``bare_runtimes``."""
    run: tuple[str, ...]
    """The command, to which the number of tasks is appended."""
    build: tuple[tuple[str, ...], ...] = ()
    tasks: int = MANY
    million: bool = False
    """Whether the worker also holds a million tasks."""
    start: str = SOON
    tools: tuple[Tool, ...] = ()
    """Tools that it needs and the worker does not."""


ELIXIR = Tool("elixir", "apt install elixir", folders=("/usr/lib/elixir/bin", "/usr/local/lib/elixir/bin"))

CARGO = (
    *("{cargo}", "build", "--release", "--locked", "--quiet", "--manifest-path", "{source}/Cargo.toml"),
    *("--target-dir", "{out}", "--bin"),
)
RUSTC = tuple(
    ("{rustc}", "--edition", "2024", "-O", "--out-dir", "{out}", *more)
    for more in (
        ("--crate-type", "rlib", "--crate-name", "bare", "{source}/src/lib.rs"),
        ("--extern", "bare={out}/libbare.rlib", "{source}/src/bin/threads.rs"),
    )
)


def _mono(program: str) -> Bare:
    sources = (f"{{source}}/{program}.cs", "{source}/Bare.cs")
    build = ("{mcs}", "-langversion:7", "-optimize", "-out:{out}/bare.exe", *sources)
    return Bare("csharp", ("{mono}", "{out}/bare.exe"), (build,))


def _java(program: str, tasks: int, million: bool) -> Bare:
    sources = ("{source}/Bare.java", f"{{source}}/{program}.java")
    return Bare(
        "java",
        ("{java}", *JAVA_FLAGS, "-cp", "{out}", program),
        (("{javac}", "-d", "{out}", *sources),),
        tasks=tasks,
        million=million,
        start=LATER,
    )


BEAM_FLAGS = ("+P", "1048576", "+MMmcs", "0", "+sbwt", "none", "+sbwtdcpu", "none", "+sbwtdio", "none")
"""The worker's, as in ``vm.args``."""

BARE: dict[str, Bare] = {
    "rust-threads": Bare("rust", ("{out}/threads",), RUSTC, tasks=THREADS),
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
        ("{erl}", *BEAM_FLAGS, "-noshell", "-pa", "{out}", "-run", "bare", "main"),
        (("{erlc}", "-o", "{out}", "{source}/bare.erl"),),
        million=True,
        start=LATER,
    ),
    "elixir": Bare(
        "elixir",
        ("{elixir}", "--erl", " ".join(BEAM_FLAGS), "-pa", "{out}", "-e", "Bare.main()"),
        (("{elixirc}", "-o", "{out}", "{source}/bare.ex"),),
        tools=(ELIXIR,),
        start=LATER,
    ),
}
"""Engine → its bare program."""


class Pair(Struct, frozen=True):
    """The commands that start an engine's worker and its bare program."""

    worker: list[str]
    bare: list[str]


def _built(engine: str, folder: Path) -> Pair:
    """Build an engine's worker and bare program.

    Raises:
        BuildError: a tool is missing, or the worker could not be built.
    """
    way = choose(RUNTIMES[engine])
    row = BARE[engine]
    worker = asyncio.run(build([way], engine, lambda text: None, lambda seconds: None))
    places, source, out = way.find_tools(), str(SOURCES / row.folder), folder / engine
    for tool in row.tools:
        place = find(tool)
        if isinstance(place, str):
            raise BuildError(place)
        places[tool.name] = place
    out.mkdir()

    def fill(command: tuple[str, ...]) -> list[str]:
        return way.fill_in(tuple(part.replace("{source}", source) for part in command), places, out, engine)

    for command in row.build:
        subprocess.run(
            fill(command),
            cwd=out,
            env=way.build_environment(),
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=300,
        )
    return Pair(worker, fill(row.run))


@cache
def _pairs() -> Mapping[str, Pair]:
    """Build all engines that can be built; report the others on standard error."""
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
    """Return the seconds that a bare program took, and its bytes per task."""
    done = subprocess.run([*command, str(tasks)], stdout=subprocess.PIPE, check=True, timeout=300)
    found = json.loads(done.stdout)
    return found["seconds"], (found["rss"] - found["rss_before"]) / tasks


@contextmanager
def _asleep(command: Sequence[str]) -> Iterator[Worker]:
    """Start a worker whose tasks sleep for an hour."""
    with Worker("", command=command, patience=PATIENCE) as worker:
        worker.do("workload", spec="sleep:3600", word="sleep", seconds=3600)
        yield worker


def _worker(command: Sequence[str], tasks: int) -> tuple[float, float]:
    """Return the same of a worker, measured when all tasks are live."""
    with _asleep(command) as worker:
        process = psutil.Process(worker.ready["pid"])
        time.sleep(SETTLE)
        idle = process.memory_info().rss
        seconds = worker.target(tasks)["seconds"]
        return seconds, (process.memory_info().rss - idle) / tasks


def _million(command: Sequence[str], tasks: int) -> tuple[float, float, float]:
    """Return the seconds until all are live, the longest between two ticks, and from ``stop`` to the exit."""
    with _asleep(command) as worker:
        before = max(0, len(worker.ticks) - 1)
        seconds = worker.target(tasks)["seconds"]
        time.sleep(1)
        times = [tick["time"] for tick in worker.ticks[before:]]
        began = time.monotonic()
        worker.send("stop")
        worker.process.wait(PATIENCE)
        gone = time.monotonic() - began
        return seconds, max(later - earlier for earlier, later in pairwise(times)), gone


def _start(command: Sequence[str], tasks: int) -> tuple[float]:
    """Return the seconds from a worker's second start to its ``ready``."""
    for _ in range(2):
        began = time.monotonic()
        with Worker("", command=command, patience=PATIENCE):
            took = time.monotonic() - began
    return (took,)


def measure(
    names: Sequence[str],
    worker: Callable[[Sequence[str], int], Sequence[float]],
    bare: Callable[[Sequence[str], int], Sequence[float]] | None,
    tasks: Callable[[Bare], int],
    quick: bool,
) -> Mapping[str, Measured]:
    """Measure every engine; one that fails does not stop the others.

    Args:
        names: the figures that ``worker`` and ``bare`` return.
        worker: measures a worker, given its command and a number of tasks.
        bare: measures the bare program likewise, if it is the reference.
        tasks: returns how many tasks to measure; 0 to skip the engine.
        quick: whether to measure only once, with a tenth of the tasks.
    """
    rows: dict[str, Measured] = {}
    for engine, pair in _pairs().items():
        if not (count := tasks(BARE[engine]) // (10 if quick else 1)):
            continue
        measures = {"bare": partial(bare, pair.bare, count)} if bare else {}
        try:
            found = alternate(1 if quick else 5, **measures, worker=partial(worker, pair.worker, count))
        except (AssertionError, OSError, ValueError, subprocess.SubprocessError) as error:
            print(f"  {engine} could not be measured: {error}", file=sys.stderr)
            continue
        for at, name in enumerate(names):
            values, reference = (found.get(side, [])[at :: len(names)] for side in ("worker", "bare"))
            rows[f"{engine}.{name}"] = Measured(values, reference)
    return rows


benchmark(
    "runtimes",
    *(
        row
        for engine, bare in BARE.items()
        for row in (
            Row(f"{engine}.seconds", f"{engine} {bare.tasks:,} live", "s", "≤ 1.3 ×", "bare program"),
            Row(f"{engine}.rss", f"RSS a task, {engine} {bare.tasks:,}", "B", "1 ± 0.05 ×", "bare program"),
        )
    ),
)(partial(measure, ("seconds", "rss"), _worker, _bare, lambda bare: bare.tasks))
benchmark(
    "runtimes-million",
    *(
        Row(f"{engine}.{name}", f"{engine} {MILLION:,}{what}", "s", reach)
        for engine, bare in BARE.items()
        if bare.million
        for name, what, reach in (
            ("seconds", " created and live", ""),
            ("gap", ", longest between two ticks", ""),
            ("gone", ", stopped", "≤ 15 s"),
        )
    ),
)(partial(measure, ("seconds", "gap", "gone"), _million, None, lambda bare: MILLION * bare.million))
benchmark(
    "runtimes-start",
    *(
        Row(f"{engine}.start", f"{engine}, second start to ready", "s", bare.start)
        for engine, bare in BARE.items()
    ),
)(partial(measure, ("start",), _start, None, lambda bare: 10))
