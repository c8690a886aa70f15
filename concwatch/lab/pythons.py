"""Other Pythons than the one that runs this: what they are, and the engines they can have."""

import glob
import os
import re
import shutil
import subprocess
from functools import cache

import msgspec
from msgspec import Struct

from concwatch.text import one_line

LEAST = (3, 9)
"""The oldest version that workers run on."""

LIMIT = 20.0
"""Seconds that an interpreter may take to say what it is."""

_ASK = """
import importlib.util, json, sys
print(json.dumps({
    "executable": sys.executable,
    "prefix": sys.prefix,
    "version": list(sys.version_info[:3]),
    "implementation": sys.implementation.name,
    "free_threaded": not getattr(sys, "_is_gil_enabled", lambda: True)(),
    "packages": [name for name in ("uvloop",) if importlib.util.find_spec(name)],
}))
"""


class Interpreter(Struct, frozen=True):
    """A Python, by what it says of itself."""

    executable: str
    prefix: str
    """Where it is installed, or its virtual environment: what tells it from others of its version."""
    version: tuple[int, int, int]
    implementation: str
    free_threaded: bool
    packages: tuple[str, ...]
    """Of those that an engine needs, what it can import."""

    @property
    def label(self) -> str:
        """What tells it from others, short: ``3.13``, ``3.13t`` without the lock, ``pypy3.10``."""
        other = "" if self.implementation == "cpython" else self.implementation
        return f"{other}{self.version[0]}.{self.version[1]}{'t' * self.free_threaded}"

    def is_version(self, version: str) -> bool:
        """Return whether it is of that version: ``3.13``, ``3.13.2``, or ``3.13t`` without the lock."""
        numbers = tuple(map(int, version.rstrip("t").split(".")))
        return self.version[: len(numbers)] == numbers and self.free_threaded == version.endswith("t")

    @property
    def safe_path(self) -> tuple[str, ...]:
        """The option that keeps the working directory off its path, where it has one."""
        return ("-P",) if self.version >= (3, 11) else ()


FOLDERS = ("~/.pyenv/versions", "~/.local/share/uv/python", "/opt/python")
"""Where those stand that are not on ``PATH``, a folder each, named by its version."""


VERSION = re.compile(r"\d+(\.\d+){1,2}t?")
"""How a version is written."""


def _candidates(python: str) -> list[str]:
    """List what may be meant, the likeliest first."""
    found = [shutil.which(os.path.expanduser(python))]
    if python[:1].isdigit():
        found.append(shutil.which(f"python{python}"))
        numbers = python.rstrip("t")  # folders are called 3.13.2t, or cpython-3.13.2+freethreaded-linux
        for folder in map(os.path.expanduser, FOLDERS):
            for name in (numbers, f"cpython-{numbers}"):
                found += sorted(glob.glob(f"{folder}/{glob.escape(name)}*/bin/python3"), reverse=True)
    return [os.path.abspath(path) for path in found if path]


def _said(path: str) -> Interpreter:
    """Have an interpreter say what it is; raises ValueError with what it said instead."""
    try:
        done = subprocess.run(
            [path, "-c", _ASK],
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=LIMIT,
            check=False,
            cwd=os.path.abspath(os.sep),  # from where it imports before all else
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ValueError(f"{path}: {error}") from None
    try:
        return msgspec.json.decode(done.stdout, type=Interpreter)
    except msgspec.MsgspecError:
        lines = (done.stderr or done.stdout).strip().splitlines()
        said = lines[-1][:200] if lines else "it says nothing"
        raise ValueError(f"{path} is no Python that concwatch can use: {said}") from None


@cache
def find_interpreter(python: str) -> Interpreter:
    """Find an interpreter and ask it what it is.

    Args:
        python: its path, a command on ``PATH``, or a version such as ``3.13``.

    Raises:
        ValueError: one line: it is not there, is no Python, or is too old.
    """
    version = python if VERSION.fullmatch(python) else ""
    if version:
        problem = f"needs Python {version}: uv python install {version}, or pyenv install {version}"
    else:
        problem = f'"{python[:200]}": no such Python: expected a path, a command, or a version such as 3.13'
    for path in _candidates(python):
        try:
            found = _said(path)
        except ValueError as error:
            problem = problem if version else one_line(str(error))
            continue
        if version and not found.is_version(version):
            continue
        if found.version < LEAST:
            old, least = (".".join(map(str, numbers)) for numbers in (found.version, LEAST))
            raise ValueError(f"{path} is Python {old}: expected {least} or newer")
        return found
    raise ValueError(problem)
