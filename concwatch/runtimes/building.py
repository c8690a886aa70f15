"""Building a worker from its source, where its language asks for that: once for each source and toolchain."""

import asyncio
import contextlib
import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from concwatch.runtimes import store
from concwatch.runtimes.runtime import TIME_LIMIT, Runtime
from concwatch.runtimes.tool import Found, Tool
from concwatch.system.child import kill_session, start_child
from concwatch.units import format_seconds

VERSION_LIMIT = 20.0
"""Seconds that a tool may take to report its version."""

MOST_LINES = 20
"""Lines of a build's output that are told at most."""

ERROR = re.compile(r"\berror\b|cannot|undefined|fatal|no such", re.IGNORECASE)
"""What the line has that says why a build failed."""

LAST_WORDS = 2.0
"""Seconds that the output of a command that was ended is still read."""

LOOK = 0.1
"""Seconds between two looks whether somebody else has built the same."""

Report = Callable[[str], None]


class BuildError(Exception):
    """Why there is nothing to start: one line."""


def choose(ways: Sequence[Runtime]) -> Runtime:
    """Take the first way that this machine has the tools for; nothing is run.

    Raises:
        BuildError: there is none, and what is missing for the best.
    """
    reasons = [way.missing() for way in ways]
    for way, reason in zip(ways, reasons, strict=True):
        if reason is None:
            return way
    raise BuildError(reasons[0])


async def build(
    ways: Sequence[Runtime], engine: str, report: Report, report_seconds: Callable[[float], None]
) -> list[str]:
    """Have everything built that is not, and give the command that starts a worker of ``engine``.

    Args:
        ways: how it can be had, the best first.
        engine: its name.
        report: is told, a line at a time, what is being built and what the build writes.
        report_seconds: is told how many seconds a build took; not called where there was none to do.

    Raises:
        BuildError: there will be no worker, and why.
    """
    way = choose(ways)
    places = way.found()
    versions = [await tool_version(tool, places[tool.name]) for tool in way.tools if tool.version]
    out = store.folder() / way.key(" ".join(versions))
    if way.build and not store.is_built(out):
        began = time.monotonic()
        report(f"building with {way.language} {versions[0]}")

        async def make() -> None:
            with store.half_built(out.name) as part:
                for command in way.build:
                    await _run(way, way.fill(command, places, part, engine), part, report)

        try:
            await _once(out, make)
        except OSError as error:
            raise BuildError(f"cannot be built in {store.folder()}: {error.strerror or error}") from None
        report_seconds(time.monotonic() - began)
    return way.fill(way.run, places, out, engine)


async def _once(out: Path, make: Callable[[], Awaitable[None]]) -> None:
    """Have ``out`` made, unless somebody else makes it meanwhile: two lanes may be of one source."""
    while not store.is_built(out):
        with store.lock(out.name) as alone:
            if alone and not store.is_built(out):
                await make()
        if not alone:
            await asyncio.sleep(LOOK)


async def tool_version(tool: Tool, found: Found) -> str:
    """Ask a tool for its version, unless a file has told it."""
    version = found.stated
    if version is None:
        status, text = await _output([found.path, *tool.version], None, dict(os.environ), VERSION_LIMIT)
        match = re.search(tool.pattern, text)
        if status or not match:
            raise BuildError(f"{found.path} does not tell its version: {_last(text)}")
        version = match[1]
    if tool.unfit(version):
        raise BuildError(tool.needed(f", found {version} at {found.path}"))
    return version


async def _run(way: Runtime, command: list[str], folder: Path, report: Report) -> None:
    """Run one command of a build; what it writes is told."""
    status, text = await _output(command, folder, way.variables(), TIME_LIMIT)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines[:MOST_LINES]:
        report(line[:300])
    if len(lines) > MOST_LINES:
        report(f"… and {len(lines) - MOST_LINES} lines more")
    if status:
        why = next(filter(ERROR.search, lines), _last(text))
        raise BuildError(f"build failed: {why[:300]}")


async def _output(
    command: list[str], folder: Path | None, variables: Mapping[str, str], limit: float
) -> tuple[int, str]:
    """Run a command to its end; give its exit status and all that it wrote.

    Whatever happens to the caller, the command and all that it started have ended then.
    """
    try:
        process = await start_child(command, asyncio.subprocess.STDOUT, folder, variables)
    except OSError as error:
        raise BuildError(f"{command[0]} could not be started: {error.strerror or error}") from None
    try:
        async with asyncio.timeout(limit):
            text, _ = await process.communicate()
    except TimeoutError:
        raise BuildError(f"{Path(command[0]).name} was not done within {format_seconds(limit)}") from None
    finally:
        if process.returncode is None:
            kill_session(process.pid)
            with contextlib.suppress(TimeoutError):  # what left the session may hold the pipe open
                async with asyncio.timeout(LAST_WORDS):
                    await process.communicate()
    return process.returncode or 0, text.decode(errors="replace")


def _last(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip()[:300] if lines else "it says nothing"
