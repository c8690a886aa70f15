"""Builds a worker in another language on the host where it is to run, by a recipe and sources that are sent.

A recipe is a way to have it, as `concwatch.runtimes.recipe` writes it. Standard library, Python 3.9.
"""

from __future__ import annotations

import glob
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

from concwatch.system.spawn import NICENESS, child_setup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple

VERSION_LIMIT = 20.0
"""Seconds that a tool may take to report its version."""

BUILD_LIMIT = 300.0
"""Seconds that each command of a build may take."""

MOST_LINES = 20
"""Lines of a build's output that are reported at most."""

ERROR = re.compile(r"\berror\b|cannot|undefined|fatal|no such", re.IGNORECASE)
"""What the line has that says why a build failed."""


def numbers(version: str) -> List[int]:
    """Return the numbers of a version: ``[21, 0, 3]``."""
    return [int(number) for number in re.findall(r"\d+", version)[:4]]


def folder() -> str:
    """Return the folder in which what is built is kept."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "concwatch", "runtimes")


class Builder:
    """Builds one worker."""

    def __init__(self, report: Callable[[str], None]) -> None:
        """Report what is being built, and what the build writes, a line at a time."""
        self._report = report
        self._running = 0  # the process group of the command that runs
        self._part = ""
        self.seconds = 0.0
        """How long the build took; 0 where there was none to do."""

    def command(self, ways: Sequence[Mapping[str, Any]], sources: bytes, engine: str) -> List[str]:
        """Return the command that starts a worker, built by the first way whose tools are all here.

        Raises:
            ValueError: one line: what is missing for the best way, or why it cannot be built.
            OSError: it cannot be kept.
        """
        way, places, versions = self._choose(ways)
        recipe = json.dumps([versions, way], sort_keys=True).encode()
        key = f"{os.path.basename(way['source'])}-{hashlib.sha256(recipe + sources).hexdigest()[:16]}"
        out = os.path.join(folder(), key)
        if not os.path.isdir(out):
            self._build(way, places, versions[0], sources, engine, out)
        return [_filled(word, way, places, out, engine) for word in way["run"]]

    def stop(self) -> None:
        """End what runs, and remove what is built by halves."""
        if self._running:
            try:
                os.killpg(self._running, signal.SIGKILL)
            except OSError:
                pass  # it has ended
        if self._part:
            shutil.rmtree(self._part, ignore_errors=True)

    def _choose(
        self, ways: Sequence[Mapping[str, Any]]
    ) -> Tuple[Mapping[str, Any], Dict[str, str], List[str]]:
        problems = []
        for way in ways:
            try:
                found = {tool["name"]: self._find(tool) for tool in way["tools"]}
            except ValueError as error:
                problems.append(error)
                continue
            places = {name: path for name, (path, _) in found.items()}
            return way, places, [version for _, version in found.values()]
        raise problems[0]

    def _find(self, tool: Mapping[str, Any]) -> Tuple[str, str]:
        """Return the path of a tool and its version."""
        homes = [os.path.join(os.environ[home], "bin") for home in tool["homes"] if os.environ.get(home)]
        path = os.environ.get("PATH", os.defpath).split(os.pathsep)
        others = [
            folder
            for pattern in tool["folders"]
            for folder in sorted(glob.glob(os.path.expanduser(pattern)), key=numbers, reverse=True)
        ]
        instead = ""
        for folder in dict.fromkeys([*homes, *path, *others]):
            found = shutil.which(tool["name"], path=folder) if folder else None
            if found is None:
                continue
            if not tool["version"]:
                return found, ""
            _, text = self._run([found, *tool["version"]], None, dict(os.environ), VERSION_LIMIT)
            match = re.search(tool["pattern"], text)
            version = match.group(1) if match else "of no known version"
            wanted = numbers(tool["version_wanted"])
            if match and numbers(version) >= tool["least"] and numbers(version)[: len(wanted)] == wanted:
                return found, version
            instead = f", found {version} at {found}"
        raise ValueError(tool["needed"].replace("{found}", instead))

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
        part = self._part = tempfile.mkdtemp(prefix=f".{os.path.basename(out)}-", dir=os.path.dirname(out))
        began = monotonic()
        try:
            with zipfile.ZipFile(io.BytesIO(sources)) as archive:
                archive.extractall(os.path.join(part, "sources"))
            if way["build"]:
                self._report(f"building with {way['language']} {version}")
            for command in way["build"]:
                words = [_filled(word, way, places, part, engine) for word in command]
                self._obey(words, part, {**os.environ, **dict(way["environment"])})
            try:
                os.rename(part, out)
            except OSError:
                if not os.path.isdir(out):  # else another bridge was faster: what it built is the same
                    raise
        finally:
            shutil.rmtree(part, ignore_errors=True)
        self.seconds = monotonic() - began if way["build"] else 0.0

    def _obey(self, command: List[str], folder: str, variables: Dict[str, str]) -> None:
        status, text = self._run(command, folder, variables, BUILD_LIMIT)
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        for line in lines[:MOST_LINES]:
            self._report(line[:300])
        if status:
            why = next(filter(ERROR.search, lines), lines[-1] if lines else "it says nothing")
            raise ValueError(f"build failed: {why[:300]}")

    def _run(
        self, command: List[str], folder: str | None, variables: Dict[str, str], limit: float
    ) -> Tuple[int, str]:
        """Run a command to its end; return its exit status and all that it wrote."""
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=child_setup(NICENESS),
        )
        self._running = process.pid
        try:
            text, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise ValueError(f"{os.path.basename(command[0])} was not done within {limit:.0f} s") from None
        finally:
            self._running = 0
        return process.returncode, text.decode(errors="replace")


def _filled(word: str, way: Mapping[str, Any], places: Mapping[str, str], out: str, engine: str) -> str:
    """Put the places into a word of a command."""
    values = {"source": os.path.join(out, "sources", way["source"]), "out": out, "engine": engine, **places}
    for name, value in values.items():
        word = word.replace("{" + name + "}", value)
    return word
