"""Other Pythons than the current one: how they are found, and what they can run."""

import os
import re
import shutil
import subprocess
from functools import cache

import msgspec
from msgspec import Struct

from concwatch.portable.protocol.text import one_line

OLDEST = (3, 9)
"""The oldest version that workers run on."""

LIMIT = 20.0
"""Seconds that an interpreter has to report its version."""

_DESCRIBE = """
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
    """A Python interpreter, as it describes itself."""

    executable: str
    prefix: str
    """Its installation or virtual environment, which distinguishes it from others of its version."""
    version: tuple[int, int, int]
    implementation: str
    free_threaded: bool
    packages: tuple[str, ...]
    """The packages required by engines that it can import."""

    @property
    def label(self) -> str:
        """A short name: ``3.13``, ``3.13t`` if free-threaded, ``pypy3.10``."""
        other = "" if self.implementation == "cpython" else self.implementation
        return f"{other}{self.version[0]}.{self.version[1]}{'t' * self.free_threaded}"

    def is_version(self, version: str) -> bool:
        """Return whether it has a version: ``3.13``, ``3.13.2``, or ``3.13t`` for free-threaded."""
        numbers = tuple(map(int, version.rstrip("t").split(".")))
        return self.version[: len(numbers)] == numbers and self.free_threaded == version.endswith("t")

    @property
    def safe_path(self) -> tuple[str, ...]:
        """The option that keeps the working directory off its path, if it has one."""
        return ("-P",) if self.version >= (3, 11) else ()


FOLDERS = ("~/.pyenv/versions", "~/.local/share/uv/python", "/opt/python")
"""Folders of Pythons that are not on ``PATH``: each is in a folder named after its version."""

VERSION = re.compile(r"\d+(\.\d+){1,2}t?")
"""The format of a version."""


def _candidates(python: str) -> list[str]:
    """Return the paths of matching interpreters, the most likely first."""
    import glob  # not needed for the first frame

    found = [shutil.which(os.path.expanduser(python))]
    if python[:1].isdigit():
        found.append(shutil.which(f"python{python}"))
        numbers = python.rstrip("t")  # folders are named 3.13.2t, or cpython-3.13.2+freethreaded-linux
        for folder in map(os.path.expanduser, FOLDERS):
            for name in (numbers, f"cpython-{numbers}"):
                found += sorted(glob.glob(f"{folder}/{glob.escape(name)}*/bin/python3"), reverse=True)
    return [os.path.abspath(path) for path in found if path]


def _inspect(path: str) -> Interpreter:
    """Run an interpreter that describes itself; raise ValueError with its output if it does not."""
    try:
        done = subprocess.run(
            [path, "-c", _DESCRIBE],
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=LIMIT,
            check=False,
            cwd=os.path.abspath(os.sep),  # it imports from here first
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ValueError(f"{path}: {error}") from None
    try:
        return msgspec.json.decode(done.stdout, type=Interpreter)
    except msgspec.MsgspecError:
        lines = (done.stderr or done.stdout).strip().splitlines()
        output = lines[-1][:200] if lines else "no output"
        raise ValueError(f"{path} is not a Python that concwatch can use: {output}") from None


@cache
def find_interpreter(python: str) -> Interpreter:
    """Return the interpreter of a path, command or version.

    Args:
        python: its path, a command on ``PATH``, or a version such as ``3.13``.

    Raises:
        ValueError: one line: it does not exist, is not a Python, or is too old.
    """
    version = python if VERSION.fullmatch(python) else ""
    if version:
        major, minor = map(int, version.rstrip("t").split(".")[:2])
        if (major, minor) < OLDEST:
            raise ValueError(
                f"Python {version} is too old; the oldest that works is {'.'.join(map(str, OLDEST))}"
            )
        problem = f"needs Python {version}: uv python install {version}, or pyenv install {version}"
    else:
        problem = f'no Python "{python[:200]}"; give a path, a command, or a version such as 3.13'
    for path in _candidates(python):
        try:
            found = _inspect(path)
        except ValueError as error:
            problem = problem if version else one_line(str(error))
            continue
        if version and not found.is_version(version):
            continue
        if found.version < OLDEST:
            old, oldest = (".".join(map(str, numbers)) for numbers in (found.version, OLDEST))
            raise ValueError(f"{path} is Python {old}; {oldest} is the oldest that can be used")
        return found
    raise ValueError(problem)
