"""Builds a worker in another language on this host, from sources and a recipe sent by the monitor.

The format of recipes is that of `concwatch.runtimes.recipe`. Standard library, Python 3.9.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import zipfile
from time import monotonic

from concwatch.hosts.build_steps import (
    BUILD_TIMEOUT,
    VERSION_TIMEOUT,
    failure,
    fill_in,
    is_fit,
    report_output,
    tool_paths,
)
from concwatch.system.spawn import NICENESS, ChildSetup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple


def cache_folder() -> str:
    """Return the folder that holds built workers."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "concwatch", "runtimes")


class Builder:
    """Builds one worker.

    Args:
        report: called with each line to be reported of the build and its output.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._group = 0  # the process group of the running command
        self._unfinished = ""
        self.seconds = 0.0
        """How long the build took; 0 if the worker was already built."""

    def command(self, ways: Sequence[Mapping[str, Any]], sources: bytes, engine: str) -> List[str]:
        """Build a worker, unless it is cached, and return the command that starts it.

        Args:
            ways: the recipes in order of preference; the first whose tools are all installed is used.
            sources: a zip file.
            engine: the engine's name.

        Raises:
            ValueError: one line: what is missing for the first recipe, or why the build failed.
            OSError: the cache cannot be written to.
        """
        way, places, versions = self._choose(ways)
        recipe = json.dumps([versions, way], sort_keys=True).encode()
        key = f"{os.path.basename(way['source'])}-{hashlib.sha256(recipe + sources).hexdigest()[:16]}"
        out = os.path.join(cache_folder(), key)
        if not os.path.isdir(out):
            self._build(way, places, versions[0], sources, engine, out)
        return fill_in(way["run"], _values(way, places, out, engine))

    def stop(self) -> None:
        """Kill the running command and remove the unfinished build."""
        if self._group:
            try:
                os.killpg(self._group, signal.SIGKILL)
            except OSError:
                pass  # it has ended
        if self._unfinished:
            shutil.rmtree(self._unfinished, ignore_errors=True)

    def _choose(
        self, ways: Sequence[Mapping[str, Any]]
    ) -> Tuple[Mapping[str, Any], Dict[str, str], List[str]]:
        problems = []
        for way in ways:
            try:
                found = {tool["name"]: self._find_tool(tool) for tool in way["tools"]}
            except ValueError as error:
                problems.append(error)
                continue
            places = {name: path for name, (path, _) in found.items()}
            return way, places, [version for _, version in found.values()]
        raise problems[0]

    def _find_tool(self, tool: Mapping[str, Any]) -> Tuple[str, str]:
        """Return the path and the version of an installed tool.

        Raises:
            ValueError: it is not installed, or not in a version that can be used.
        """
        rejected = ""
        for found in tool_paths(tool["name"], tool["homes"], tool["folders"]):
            if not tool["version"]:
                return found, ""
            _, text = self._run([found, *tool["version"]], None, dict(os.environ), VERSION_TIMEOUT)
            match = re.search(tool["pattern"], text)
            if match and is_fit(match.group(1), tool["least"], tool["version_wanted"]):
                return found, match.group(1)
            rejected = f", found {match.group(1) if match else 'of unknown version'} at {found}"
        raise ValueError(tool["needed"].replace("{found}", rejected))

    def _build(
        self,
        way: Mapping[str, Any],
        places: Mapping[str, str],
        version: str,
        sources: bytes,
        engine: str,
        out: str,
    ) -> None:
        os.makedirs(os.path.dirname(out), exist_ok=True)
        part = self._unfinished = tempfile.mkdtemp(
            prefix=f".{os.path.basename(out)}-", dir=os.path.dirname(out)
        )
        began = monotonic()
        try:
            with zipfile.ZipFile(io.BytesIO(sources)) as archive:
                archive.extractall(os.path.join(part, "sources"))
            if way["build"]:
                self._report(f"building with {way['language']} {version}")
            for command in way["build"]:
                words = fill_in(command, _values(way, places, part, engine))
                self._run_step(words, part, {**os.environ, **dict(way["environment"])})
            try:
                os.rename(part, out)
            except OSError:
                if not os.path.isdir(out):  # else another bridge has built the same meanwhile
                    raise
        finally:
            shutil.rmtree(part, ignore_errors=True)
        self.seconds = monotonic() - began if way["build"] else 0.0

    def _run_step(self, command: List[str], folder: str, variables: Dict[str, str]) -> None:
        """Run a command of the build and report its output; raise a ValueError if it fails."""
        status, text = self._run(command, folder, variables, BUILD_TIMEOUT)
        report_output(text, self._report)
        if status:
            raise ValueError(failure(text))

    def _run(
        self, command: List[str], folder: str | None, variables: Dict[str, str], limit: float
    ) -> Tuple[int, str]:
        """Run a command; return its exit status and its output."""
        with ChildSetup(NICENESS) as setup:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=setup.descriptors,
            )
            setup.apply(process.pid)
        self._group = process.pid
        try:
            text, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise ValueError(f"{os.path.basename(command[0])} did not finish within {limit:.0f} s") from None
        finally:
            self._group = 0
        return process.returncode, text.decode(errors="replace")


def _values(way: Mapping[str, Any], places: Mapping[str, str], out: str, engine: str) -> Dict[str, str]:
    """Return what the placeholders in the commands of a recipe stand for."""
    return {"source": os.path.join(out, "sources", way["source"]), "out": out, "engine": engine, **places}
