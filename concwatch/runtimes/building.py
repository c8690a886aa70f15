"""Build a worker from its source, once for each source and toolchain."""

import asyncio
import contextlib
import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from concwatch.hosts.build_steps import BUILD_TIMEOUT, VERSION_TIMEOUT, failure, last_line, report_output
from concwatch.protocol.units import format_seconds
from concwatch.runtimes import store
from concwatch.runtimes.runtime import Runtime
from concwatch.runtimes.tool import Found, Tool
from concwatch.system.child import kill_session, start_child

DRAIN_TIMEOUT = 2.0
"""Seconds to wait for the last output of a command that was killed."""

POLL_INTERVAL = 0.1
"""Seconds between checks whether another build of the same worker has finished."""

Report = Callable[[str], None]


class BuildError(Exception):
    """A worker cannot be built; the message is one line."""


def choose(ways: Sequence[Runtime]) -> Runtime:
    """Return the first way whose tools are all on this host; runs no command.

    Raises:
        BuildError: there is none; the message says what the best way needs.
    """
    reasons = [way.missing() for way in ways]
    for way, reason in zip(ways, reasons, strict=True):
        if reason is None:
            return way
    raise BuildError(reasons[0])


async def build(
    ways: Sequence[Runtime], engine: str, report: Report, report_seconds: Callable[[float], None]
) -> list[str]:
    """Build the worker of ``engine`` if necessary, and return the command that starts it.

    Args:
        ways: the ways to build it, best first.
        engine: the name of the engine.
        report: called with each line of progress and of the build's output.
        report_seconds: called with the seconds that the build took, unless it was built already.

    Raises:
        BuildError: it cannot be built; the message says why.
    """
    way = choose(ways)
    places = way.find_tools()
    versions = [await tool_version(tool, places[tool.name]) for tool in way.tools if tool.version]
    out = store.folder() / way.cache_key(" ".join(versions))
    if way.build and not store.is_built(out):
        began = time.monotonic()
        report(f"building with {way.language} {versions[0]}")

        async def run_build() -> None:
            with store.staging_folder(out.name) as staging:
                for command in way.build:
                    await _run(way, way.fill_in(command, places, staging, engine), staging, report)

        try:
            await _build_once(out, run_build)
        except OSError as error:
            raise BuildError(f"cannot be built in {store.folder()}: {error.strerror or error}") from None
        report_seconds(time.monotonic() - began)
    return way.fill_in(way.run, places, out, engine)


async def _build_once(out: Path, run_build: Callable[[], Awaitable[None]]) -> None:
    """Build ``out``, or wait until another lane or process that builds the same has finished."""
    while not store.is_built(out):
        with store.lock(out.name) as locked:
            if locked and not store.is_built(out):
                await run_build()
        if not locked:
            await asyncio.sleep(POLL_INTERVAL)


async def tool_version(tool: Tool, found: Found) -> str:
    """Return the version of a tool, by running it if no file states it.

    Raises:
        BuildError: it does not run, or is too old.
    """
    version = found.version
    if version is None:
        status, text = await _output([found.path, *tool.version], None, dict(os.environ), VERSION_TIMEOUT)
        match = re.search(tool.pattern, text)
        if status or not match:
            raise BuildError(f"{found.path} printed no version: {last_line(text)}")
        version = match[1]
    if tool.unfit(version):
        raise BuildError(tool.requirement(f", found {version} at {found.path}"))
    return version


async def _run(way: Runtime, command: list[str], folder: Path, report: Report) -> None:
    """Run one command of a build and report its output."""
    status, text = await _output(command, folder, way.build_environment(), BUILD_TIMEOUT)
    report_output(text, report)
    if status:
        raise BuildError(failure(text))


async def _output(
    command: list[str], folder: Path | None, environment: Mapping[str, str], limit: float
) -> tuple[int, str]:
    """Run a command to its end; return its exit status and output.

    If the caller is cancelled, the command and all processes that it started are killed.
    """
    try:
        process = await start_child(command, asyncio.subprocess.STDOUT, folder, environment)
    except OSError as error:
        raise BuildError(f"{command[0]} could not be started: {error.strerror or error}") from None
    try:
        async with asyncio.timeout(limit):
            text, _ = await process.communicate()
    except TimeoutError:
        raise BuildError(f"{Path(command[0]).name} did not finish within {format_seconds(limit)}") from None
    finally:
        if process.returncode is None:
            kill_session(process.pid)
            with contextlib.suppress(TimeoutError):  # a process that left the session may keep the pipe open
                async with asyncio.timeout(DRAIN_TIMEOUT):
                    await process.communicate()
    return process.returncode or 0, text.decode(errors="replace")
