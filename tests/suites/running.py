"""Installing a suite, and running it bare or wrapped."""

import contextlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.suites.suites import WRAPPERS, Suite

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent

CONCWATCH = (
    sys.executable,
    "-c",
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); from concwatch.commands.cli import main; main()",
)
"""The command of this concwatch, without anything in the environment that the suite would see."""

LIMIT = 150
"""Seconds that a test may take."""


@dataclass
class SuiteRun:
    """The result of one run: the outcome of each test, the seconds that it took, its exit status."""

    outcomes: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    status: int = 0


def _pip(python: Path, *arguments: str) -> None:
    subprocess.run(
        [str(python), "-m", "pip", "-q", "--disable-pip-version-check", *arguments],
        check=True,
        stdin=subprocess.DEVNULL,
    )


def version_of(python: Path) -> str:
    """Return the version of an interpreter, such as 3.13.0."""
    return _print(python, "import platform; print(platform.python_version())")


def _print(python: Path, code: str) -> str:
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _wait(process: subprocess.Popen[bytes], printed: Path) -> int:
    """Wait for a run of unittest, which prints each test, and return its exit status.

    If a test takes longer than `LIMIT`, its child process is killed: a few of CPython's own seldom end, bare
    as well.
    """
    while True:
        size = printed.stat().st_size
        try:
            return process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            if printed.stat().st_size == size:
                below = psutil.Process(process.pid).children(recursive=True)
                with contextlib.suppress(psutil.NoSuchProcess):
                    max(below, key=psutil.Process.create_time, default=process).kill()


@dataclass
class Place:
    """A suite that is ready to run: its interpreter and the folder of its tests."""

    suite: Suite
    python: Path
    folder: Path

    def run(self, wrapper: str, tests: Sequence[str] = ()) -> SuiteRun:
        """Run the suite, or some of its ``tests`` by name."""
        suite = self.suite
        with tempfile.TemporaryDirectory(prefix="suites-") as scratch:
            outcomes = Path(scratch) / "outcomes.json"
            if suite.is_unittest:
                arguments = [str(HERE / "outcomes.py"), *(tests or suite.tests)]
                folder = Path(scratch)
            else:
                arguments = ["-m", "pytest", "-q", "-p", "outcomes", "-p", "no:cacheprovider"]
                # Without the project's own options: coverage, a process for each core.
                arguments += ["-o", "addopts=", f"--timeout={LIMIT}"]
                arguments += [*suite.options, *(tests or suite.tests)]
                folder = self.folder
            where = {
                "{python}": [str(self.python)],
                "{concwatch}": CONCWATCH,
                "{report}": [str(Path(scratch) / "report.json")],
            }
            command: list[str] = []
            for part in WRAPPERS[wrapper].prefix:
                command += where.get(part) or [part.format(bin=self.python.parent)]
            environment = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
            environment["OUTCOMES"] = str(outcomes)
            environment["PYTHONPATH"] = str(HERE)
            began = time.monotonic()
            printed = Path(scratch) / "output"
            with open(printed, "w") as output:
                process = subprocess.Popen(
                    [*command, *arguments],
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )
            status = _wait(process, printed) if suite.is_unittest else process.wait()
            seconds = time.monotonic() - began
            found = json.loads(outcomes.read_text()) if outcomes.exists() else {}
            if not found:
                tail = printed.read_text(errors="replace")[-2_000:]
                print(f"{suite.name}, {wrapper}: no outcomes, exit status {status}:\n{tail}", file=sys.stderr)
            return SuiteRun(found, seconds, status)


def prepare(suite: Suite, python: Path, wrappers: Sequence[str], cache: Path) -> Place:
    """Install a suite into a virtual environment of its own, unless that was done before."""
    needed = [part for name in wrappers for part in WRAPPERS[name].requirements]
    if suite.is_unittest and not needed:
        return Place(suite, python, Path())
    folder = cache / f"{suite.name}-{version_of(python)}"
    own = folder / "venv" / "bin" / "python"
    if not own.exists():
        subprocess.run([str(python), "-m", "venv", str(folder / "venv")], check=True)
        if suite.requirements:
            _pip(own, "install", *suite.requirements)
    if needed:
        _pip(own, "install", *needed)
    if not suite.source:
        return Place(suite, own, folder)
    sources = folder / "source"
    if not sources.exists():
        # The tests of the version that is installed.
        installed = _print(own, f"from importlib.metadata import version; print(version({suite.source!r}))")
        exact = f"{suite.source}=={installed}"
        _pip(own, "download", "--no-deps", "--no-binary", ":all:", exact, "-d", str(sources))
        (archive,) = sources.glob("*.tar.gz")
        with tarfile.open(archive) as packed:
            packed.extractall(sources, filter="data")
    (unpacked,) = (path for path in sources.iterdir() if path.is_dir())
    return Place(suite, own, unpacked)
