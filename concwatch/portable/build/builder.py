"""Build a worker from its source, once for each source and toolchain, here and on another host.

Standard library, Python 3.9: a bridge imports this module, too.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import zipfile
from time import monotonic, sleep
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from concwatch.portable.build import store
from concwatch.portable.build.runtime import Runtime
from concwatch.portable.build.tool import Found, Tool
from concwatch.portable.machine.spawn import NICENESS, ChildSetup, kill_session

VERSION_TIMEOUT = 20.0
"""Seconds that a tool may take to report its version."""

BUILD_TIMEOUT = 300.0
"""Seconds that each command of a build may take; fetching packages over a slow line is part of it."""

POLL_INTERVAL = 0.1
"""Seconds between checks whether another build of the same worker has finished."""

MAX_LINES = 20
"""Lines of a build's output that are reported at most."""

MAX_LINE = 300
"""Characters of a line of it that are reported at most."""

_ERROR = re.compile(r"\berror\b|cannot|undefined|fatal|no such", re.IGNORECASE)
"""Matches the line of a build's output that explains why it failed."""


class BuildError(ValueError):
    """A worker cannot be built; the message is one line."""


class BuildStopped(Exception):
    """The build was stopped by `Builder.stop`."""


class Build(NamedTuple):
    """A worker that has been built."""

    command: List[str]
    """The command that starts it."""
    version: str
    """The version of the tool that runs it, or that built it; empty if unknown."""
    seconds: float
    """How long the build took; 0 if the worker was already built."""


class Builder:
    """Builds one worker, in the thread that calls `build`; `stop` is called by another one.

    Args:
        report: called with each line of progress and of the build's output.
    """

    def __init__(self, report: Callable[[str], object]) -> None:
        self._report = report
        self._lock = threading.Lock()
        self._stopped = False
        self._running = 0  # the process that leads the session of the running command
        self._staging = ""

    def build(self, ways: Sequence[Runtime], engine: str, sources: bytes = b"") -> Build:
        """Build the worker of ``engine``, unless it is in the cache.

        Args:
            ways: the ways to build it, best first; the first whose tools are all installed is used.
            engine: the engine's name.
            sources: a zip file of the sources; empty if they are where the ways say.

        Raises:
            BuildError: what is missing for the first way, or why the build failed.
            BuildStopped: it was stopped.
        """
        way, places = self._choose(ways)
        try:
            source, out, seconds = self._prepare(way, places, engine, sources)
        except OSError as error:
            place, why = store.folder(), error.strerror or error
            raise BuildError(f"cannot be built in {place} ({why}); a writable folder is needed") from None
        version = (places[way.main_tool.name].version if way.tools else None) or ""
        return Build(way.fill_in(way.run, places, source, out, engine), version, seconds)

    def stop(self) -> None:
        """Kill the running command and remove the unfinished build."""
        with self._lock:
            self._stopped = True
            if self._running:
                kill_session(self._running)
        if self._staging:
            shutil.rmtree(self._staging, ignore_errors=True)

    def _choose(self, ways: Sequence[Runtime]) -> Tuple[Runtime, Dict[str, Found]]:
        problems = []
        for way in ways:
            try:
                return way, way.find_tools(self._ask_version)
            except ValueError as error:
                problems.append(str(error))
        raise BuildError(problems[0])

    def _ask_version(self, tool: Tool, path: str) -> str:
        """Run a tool and return its version; raise a BuildError if it prints none."""
        status, text = self._run([path, *tool.version], None, os.environ, VERSION_TIMEOUT)
        match = re.search(tool.pattern, text)
        if status or not match:
            raise BuildError(f"{path} printed no version: {_last_line(text)}")
        return match[1]

    def _prepare(
        self, way: Runtime, places: Mapping[str, Found], engine: str, sources: bytes
    ) -> Tuple[str, str, float]:
        """Return the folder of the source, that of the build, and the seconds that it took."""
        versions = [found.version for found in places.values()]
        key = json.dumps([versions, way.build, way.environment]).encode()
        digest = hashlib.sha256(key + (sources or way.source_digest())).hexdigest()
        out = os.path.join(store.folder(), f"{os.path.basename(way.folder)}-{digest[:16]}")

        def source(folder: str) -> str:
            return os.path.join(folder, "sources", way.folder) if sources else str(way.source)

        seconds = 0.0
        if (way.build or sources) and not store.is_built(out):
            began = monotonic()
            if way.build:
                self._report(f"building with {way.language} {next(filter(None, versions), '')}")

            def run_build(staging: str) -> None:
                if sources:
                    with zipfile.ZipFile(io.BytesIO(sources)) as archive:
                        archive.extractall(os.path.join(staging, "sources"))
                for command in way.build:
                    words = way.fill_in(command, places, source(staging), staging, engine)
                    self._run_step(words, staging, way.build_environment())

            self._build_once(out, run_build)
            seconds = monotonic() - began if way.build else 0.0
        return source(out), out, seconds

    def _build_once(self, out: str, run_build: Callable[[str], None]) -> None:
        """Build ``out``, or wait until another lane or process that builds the same has finished."""
        key = os.path.basename(out)
        while not store.is_built(out):
            with store.lock(key) as locked:
                if locked and not store.is_built(out):
                    with store.staging_folder(key) as self._staging:
                        run_build(self._staging)
            if not locked:
                if self._stopped:
                    raise BuildStopped
                sleep(POLL_INTERVAL)

    def _run_step(self, command: List[str], folder: str, variables: Mapping[str, str]) -> None:
        """Run one command of a build and report the first lines of its output."""
        status, text = self._run(command, folder, variables, BUILD_TIMEOUT)
        lines = _lines(text)
        for line in lines[:MAX_LINES]:
            self._report(line[:MAX_LINE])
        if len(lines) > MAX_LINES:
            self._report(f"… and {len(lines) - MAX_LINES} more lines")
        if status:
            reason = next(filter(_ERROR.search, lines), _last_line(text))
            raise BuildError(f"build failed: {reason[:MAX_LINE]}")

    def _run(
        self, command: List[str], folder: Optional[str], variables: Mapping[str, str], limit: float
    ) -> Tuple[int, str]:
        """Run a command to its end; return its exit status and its output.

        The output goes to a file: a process that it leaves behind would keep a pipe open.
        """
        with tempfile.TemporaryFile() as output:
            with self._lock, ChildSetup(NICENESS) as setup:
                if self._stopped:
                    raise BuildStopped
                try:
                    process = subprocess.Popen(
                        command,
                        cwd=folder,
                        env=variables,
                        stdin=subprocess.DEVNULL,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,
                        pass_fds=setup.descriptors,
                    )
                except OSError as error:
                    why = error.strerror or error
                    raise BuildError(f"{command[0]} could not be started: {why}") from None
                self._running = process.pid
                setup.apply(process.pid)
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                kill_session(process.pid)
                process.wait()
                name = os.path.basename(command[0])
                raise BuildError(f"{name} did not finish within {limit:g} s") from None
            finally:
                with self._lock:
                    self._running = 0
            if self._stopped:
                raise BuildStopped
            output.seek(0)
            return status, output.read().decode(errors="replace")


def _lines(text: str) -> List[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _last_line(text: str) -> str:
    return (_lines(text) or ["no output"])[-1][:MAX_LINE]
