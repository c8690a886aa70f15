"""Programs that are measured instead of a worker: how they are built, and one run from outside."""

import asyncio
import contextlib
import os
import re
import sys
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from concwatch.measure.experiments.cell import ExperimentCell, MissingError, NotMeasuredError
from concwatch.measure.measurement import BURST_LIMIT, while_stepping
from concwatch.measure.result import Result
from concwatch.measure.sweep.step_metrics import burst_values
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.lanes.servers import server_problem
from concwatch.monitor.metrics.settings import connects
from concwatch.monitor.workers.catalog import AT
from concwatch.portable.build.builder import BuildError
from concwatch.portable.build.runtime import SOURCES, Runtime
from concwatch.portable.machine.spawn import kill_session
from concwatch.portable.protocol.units import format_seconds
from concwatch.runtimes.building import build
from concwatch.runtimes.pythons import Interpreter, find_interpreter
from concwatch.runtimes.rows import CARGO, ELIXIRC, ERL, GO, JAVA, JAVAC, LINKER, MCS, MONO, NODE, RUSTC
from concwatch.system.child import describe_exit, error_line, explain_start_error, start_child
from concwatch.system.process import Sampler

POLL_INTERVAL = 0.003
"""Seconds between two readings of the peak RSS, which cannot be read after the program's end."""

CURVE_INTERVAL = 0.1
"""Seconds between two points of its RSS over time."""

PROGRAM_READINGS = ("peak_rss", "burst_seconds", "throughput", "cycle_seconds", "gc_seconds")
"""The metrics that can be read of a program; the last one only if the program prints it."""

REPORTED = {"burst_seconds": r"^(\d+(?:\.\d+)?)\s*\Z", "gc_seconds": r"^gc_seconds (\d+(?:\.\d+)?)\s*$"}
"""Metric → the line that reports it in the program's output."""

OUTPUT_KEPT = 4_000
"""Bytes kept of the end of each output."""

DRAIN_TIMEOUT = 0.5
"""Seconds to read the output of an ended program, which a detached child may hold open."""

DEFAULT_PROCESSES = 262_144
"""Erlang's default limit of processes."""

ELIXIR = ELIXIRC._replace(name="elixir")


def find_runtime(program: Path, engine: str, size: int) -> Runtime | None:
    """Return how to build and start a program, by its suffix; None if it cannot be run.

    Args:
        program: the file.
        engine: the engine of its series; a Rust program is built with the packages of that engine.
        size: its number of tasks.
    """
    file = str(program)
    match program.suffix:
        case ".py":
            return Runtime("CPython", file, (), (), (sys.executable, "{source}"))
        case ".js" | ".cjs" | ".mjs":
            return Runtime("Node.js", file, (NODE,), (), ("{node}", "{source}"))
        case ".exs":
            # Beyond the default limit only, as in the article. Erlang rounds it up to a power of two.
            more = ("--erl", f"+P {size + 1_000}") if size + 1_000 > DEFAULT_PROCESSES else ()
            return Runtime("Elixir", file, (ELIXIR, ERL), (), ("{elixir}", *more, "{source}"))
        case ".go":
            build = (("{go}", "build", "-o", "{out}/program", "{source}"),)
            variables = (("GOTOOLCHAIN", "local"), ("GOWORK", "off"))
            return Runtime("Go", file, (GO,), build, ("{out}/program",), variables)
        case ".java":  # its main class has the name of the file
            classes = (("{javac}", "--release", "21", "-d", "{out}", "{source}"),)
            return Runtime("Java", file, (JAVAC, JAVA), classes, ("{java}", "-cp", "{out}", program.stem))
        case ".cs":
            compiled = (("{mcs}", "-optimize", "-out:{out}/program.exe", "{source}"),)
            return Runtime("Mono", file, (MONO, MCS), compiled, ("{mono}", "{out}/program.exe"))
        case ".rs":
            return _rust(file, engine.removeprefix("rust-"))
    return Runtime(program.name, file, (), (), ("{source}",)) if os.access(program, os.X_OK) else None


def _rust(file: str, feature: str) -> Runtime:
    """Return the runtime of a Rust program, built with the worker's locked packages."""
    package = [f"{SOURCES}/rust/{name}" for name in ("Cargo.toml", "Cargo.lock")]
    build = (
        ("mkdir", "{out}/src"),
        ("cp", *package, "{out}"),
        ("cp", "{source}", "{out}/src/main.rs"),
        (
            *("{cargo}", "build", "--release", "--quiet", "--locked", "--features", feature),
            *("--target-dir", "{out}/target", "--config", "build.rustc='{rustc}'"),
        ),
        ("mv", "{out}/target/release/worker", "{out}/program"),
        ("rm", "-r", "{out}/target"),
    )
    shares = ("rust/Cargo.toml", "rust/Cargo.lock")
    return Runtime("Rust", file, (RUSTC, CARGO, LINKER), build, ("{out}/program",), shares=shares)


async def run_program(lab: Lab, cell: ExperimentCell) -> Result:
    """Build the program of ``cell`` if it has to be compiled, and run it once to its end.

    The lab has no lane: it serves the page, and is closed at the end.

    The program's arguments are the number of tasks; the page's address, if its workload is ``http``; and the
    number of chunks, if there are several. If its last line is a number, as in the articles' programs, that
    is the seconds; otherwise they are measured from start to end. A line ``gc_seconds NUMBER`` reports the
    time in the garbage collector.

    Raises:
        NotMeasuredError: there are no figures; the message says why.
    """
    return await while_stepping(lab, _run_program(lab, cell))


async def _run_program(lab: Lab, cell: ExperimentCell) -> Result:
    program, (kind, _, version) = Path(cell.program or ""), cell.engine.partition(AT)
    runtime = find_runtime(program, kind, cell.size)
    if runtime is None:
        raise NotMeasuredError(f"{program.name} cannot be run")
    python = None
    if runtime.language == "CPython":
        python = _find_python(version)
        runtime = runtime._replace(run=(python.executable, "{source}"))
    elif version and runtime.tools:
        runtime = runtime.of_version(version)
    runtime = runtime.with_variables(cell.environment)
    missing = runtime.missing()
    if missing:
        raise MissingError(missing)
    try:
        built = await build([runtime], cell.engine, _ignore)
    except BuildError as error:
        raise NotMeasuredError(str(error)) from None
    version = built.version
    if python is not None:
        version = ".".join(map(str, python.version)) + "t" * python.free_threaded
    arguments = [str(cell.size)]
    if connects(cell.workload):
        problem = await server_problem(lab.settings.current)
        if problem:
            raise NotMeasuredError(problem)
        arguments.append(lab.settings.current.url or "")
    if cell.chunks > 1:
        arguments.append(str(cell.chunks))
    run = await _run(cell.engine, [*built.command, *arguments], {**os.environ, **dict(cell.environment)})
    if seconds := run.metrics["burst_seconds"]:
        run.metrics.update(burst_values(cell.size, seconds))
    run.runtime = f"{runtime.language} {version}".strip() + f", {program.name}"
    return run


def _find_python(version: str) -> Interpreter:
    """Return the Python of a version, or the current one; raise `MissingError` if it is not installed."""
    try:
        return find_interpreter(version or sys.executable)
    except ValueError as error:
        raise MissingError(str(error)) from None


def _ignore(_: object) -> None:
    pass


async def _run(engine: str, command: Sequence[str], variables: Mapping[str, str]) -> Result:
    """Run a program to its end; kill its whole session if the caller is cancelled."""
    clock = asyncio.get_running_loop().time
    began = clock()
    try:
        process = await start_child(command, variables=variables)
    except OSError as error:
        raise NotMeasuredError(
            f"{Path(command[0]).name} could not be started: {explain_start_error(error)}"
        ) from None
    assert process.stdout is not None
    assert process.stderr is not None
    run, ends = Result(engine), (bytearray(), bytearray())
    streams = (process.stdout, process.stderr)
    reading = [asyncio.create_task(_keep_end(stream, end)) for stream, end in zip(streams, ends, strict=True)]
    try:
        async with asyncio.timeout(BURST_LIMIT):
            await _watch(process, began, run)
        run.seconds = run.own_seconds = run.metrics["burst_seconds"] = clock() - began
    except TimeoutError:
        raise NotMeasuredError(f"did not end within {format_seconds(BURST_LIMIT)}: killed") from None
    finally:
        kill_session(process.pid)
        await _watch(process, began, run)
        await asyncio.wait(reading, timeout=DRAIN_TIMEOUT)
        for task in reading:
            task.cancel()
    out, errors = (end.decode(errors="replace") for end in ends)
    if process.returncode:
        _raise_failure(process.returncode, error_line(errors))
    if "peak_rss" not in run.metrics:
        raise NotMeasuredError("ended before its memory could be read")
    for name, pattern in REPORTED.items():
        line = re.search(pattern, out, re.MULTILINE)
        if line:
            run.metrics[name] = float(line[1])
    return run


def _raise_failure(status: int, words: str) -> NoReturn:
    """Raise the error that a program's exit status and last line of output describe."""
    package = re.match(r"ModuleNotFoundError: No module named '(\w+)'", words)
    if package:
        raise MissingError(f"needs {package[1]}: pip install {package[1]}")
    raise NotMeasuredError(describe_exit(status) + (f": {words}" if words else ""))


async def _keep_end(stream: asyncio.StreamReader, end: bytearray) -> None:
    """Read a stream to its end, keeping its last bytes."""
    while data := await stream.read(1 << 16):
        end += data
        del end[:-OUTPUT_KEPT]


async def _watch(process: Process, began: float, run: Result) -> None:
    """Record the peak RSS of a process, and its RSS over time, until it exits.

    ``process.wait`` would also wait for the end of its output, which a child may hold open.
    """
    clock, due, sampler = asyncio.get_running_loop().time, 0.0, None
    with contextlib.suppress(OSError):
        sampler = Sampler(process.pid)
    while process.returncode is None:
        reading, now = sampler.read() if sampler else None, clock()
        if reading is not None and reading.rss:  # 0 for a process that has exited
            run.metrics["peak_rss"] = max(run.metrics.get("peak_rss") or 0, reading.peak_rss)
            if now >= due:
                run.rss_curve.append((round(now - began, 3), reading.rss))
                due = now + CURVE_INTERVAL
        await asyncio.sleep(POLL_INTERVAL)
