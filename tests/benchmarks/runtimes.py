"""The bare programs beside the engines, and workers in other languages with a million tasks.

A bare program takes a number of tasks, and the least and the most seconds that each sleeps. It prints
``idle``, waits for a line, starts its tasks, prints ``live``, and replaces each task that ends. It answers
every further line with ``ended`` and the number of tasks that have ended. An engine without its tools has no
rows.
"""

import asyncio
import atexit
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
from typing import Any

from msgspec import Struct

from concwatch.monitor.workers.catalog import catalog_row
from concwatch.portable.build.builder import BuildError
from concwatch.portable.build.tool import Tool, find
from concwatch.runtimes.building import build
from concwatch.runtimes.rows import JAVA_FLAGS, RUNTIMES
from tests.benchmarks.figures import Quantity, RowValues, alternate, benchmark
from tests.worker_driver import Worker, start_command

SOURCES = Path(__file__).resolve().parent / "bare_runtimes"

TEN_K = 10_000
MANY = 100_000
MILLION = 1_000_000
ALL = (TEN_K, MILLION)
LIVES = 20_000

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
    sizes: tuple[int, ...] = (TEN_K, MANY)
    """The numbers of tasks held."""
    lives: int = LIVES
    """The number of tasks of which each is replaced about once a second."""
    more: tuple[str, ...] = ()
    """More arguments, such as the number of threads of a pool."""
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


def _java(program: str, sizes: tuple[int, ...], lives: int, million: bool) -> Bare:
    sources = ("{source}/Bare.java", f"{{source}}/{program}.java")
    return Bare(
        "java",
        ("{java}", *JAVA_FLAGS, "-cp", "{out}", program),
        (("{javac}", "-d", "{out}", *sources),),
        sizes=sizes,
        lives=lives,
        million=million,
        start=LATER,
    )


def _python(program: str, *more: str, **how: Any) -> Bare:
    return Bare("python", (sys.executable, f"{{source}}/{program}.py"), more=more, **how)


BEAM_FLAGS = ("+P", "1048576", "+MMmcs", "0", "+sbwt", "none", "+sbwtdcpu", "none", "+sbwtdio", "none")
"""The worker's, as in ``vm.args``."""

BARE: dict[str, Bare] = {
    "threads": _python("threads", sizes=(TEN_K,), lives=1_500),
    "pool": _python("pool", "500", sizes=(TEN_K, MANY), lives=1_000),
    "asyncio": _python("loop", "asyncio", sizes=ALL),
    "uvloop": _python("loop", "uvloop", sizes=ALL),
    "gevent": _python("greenlets", sizes=(TEN_K, MANY), lives=8_000),
    "rust-threads": Bare("rust", ("{out}/threads",), RUSTC, sizes=(TEN_K,), lives=1_500),
    "tokio": Bare("rust", ("{out}/release/tokio",), ((*CARGO, "tokio"),), sizes=ALL, million=True),
    "async-std": Bare("rust", ("{out}/release/async_std",), ((*CARGO, "async_std"),)),
    "go": Bare(
        "go",
        ("{out}/bare",),
        (("{go}", "build", "-C", "{source}", "-trimpath", "-buildvcs=false", "-o", "{out}/bare", "."),),
        sizes=ALL,
        million=True,
    ),
    "java-threads": _java("Platform", (TEN_K,), 1_500, False),
    "java-virtual": _java("Virtual", ALL, LIVES, True),
    "csharp": _mono("Async"),
    "csharp-timers": _mono("Timers"),
    "node": Bare("node", ("{node}", "{source}/async.mjs"), sizes=ALL, million=True),
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
    ways, row = RUNTIMES[engine], BARE[engine]
    worker = asyncio.run(build(ways, engine, lambda line: None)).command
    way = next(way for way in ways if way.missing() is None)
    places, source, out = way.find_tools(), str(SOURCES / row.folder), folder / engine
    for tool in row.tools:
        place = find(tool)
        if isinstance(place, str):
            raise BuildError(place)
        places[tool.name] = place
    out.mkdir()

    def fill(command: tuple[str, ...]) -> list[str]:
        return way.fill_in(command, places, source, str(out), engine)

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
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="concwatch-bare-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def find_pair(engine: str) -> Pair | None:
    """Build an engine's worker and bare program; report on standard error why they cannot be built."""
    row = BARE[engine]
    if engine not in RUNTIMES:
        source = str(SOURCES / row.folder)
        bare = [part.replace("{source}", source) for part in row.run]
        return Pair(start_command(catalog_row(engine)), bare)
    try:
        return _built(engine, _folder())
    except (BuildError, OSError, subprocess.SubprocessError) as error:
        print(f"  {engine} is not measured: {error}", file=sys.stderr)
        return None


@contextmanager
def _asleep(command: Sequence[str]) -> Iterator[Worker]:
    """Start a worker whose tasks sleep for an hour."""
    with Worker("", command=command, patience=PATIENCE) as worker:
        worker.do("workload", spec="sleep:3600", word="sleep", seconds=3600)
        yield worker


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
    tasks: Callable[[Bare], int],
    quick: bool,
) -> Mapping[str, RowValues]:
    """Measure every engine in another language; one that fails does not stop the others.

    Args:
        names: the figures that ``worker`` returns.
        worker: measures a worker, given its command and a number of tasks.
        tasks: returns how many tasks to measure; 0 to skip the engine.
        quick: whether to measure only once, with a tenth of the tasks.
    """
    rows: dict[str, RowValues] = {}
    for engine in filter(RUNTIMES.__contains__, BARE):
        count, pair = tasks(BARE[engine]) // (10 if quick else 1), find_pair(engine)
        if not count or pair is None:
            continue
        try:
            found = alternate(1 if quick else 5, worker=partial(worker, pair.worker, count))["worker"]
        except (AssertionError, OSError, ValueError, subprocess.SubprocessError) as error:
            print(f"  {engine} could not be measured: {error}", file=sys.stderr)
            continue
        for at, name in enumerate(names):
            rows[f"{engine}.{name}"] = RowValues(found[at :: len(names)])
    return rows


benchmark(
    "runtimes-million",
    *(
        Quantity(f"{engine}.{name}", f"{engine} {MILLION:,}{what}", "s", reach)
        for engine, bare in BARE.items()
        if bare.million
        for name, what, reach in (
            ("seconds", " created and live", ""),
            ("gap", ", longest between two ticks", ""),
            ("gone", ", stopped", "≤ 15 s"),
        )
    ),
)(partial(measure, ("seconds", "gap", "gone"), _million, lambda bare: MILLION * bare.million))
benchmark(
    "runtimes-start",
    *(
        Quantity(f"{engine}.start", f"{engine}, second start to ready", "s", bare.start)
        for engine, bare in BARE.items()
        if engine in RUNTIMES
    ),
)(partial(measure, ("start",), _start, lambda bare: 10))
