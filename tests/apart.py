"""A function in a process of its own: ``python -m tests.apart MODULE FUNCTION ARGUMENTS``, those as JSON."""

import asyncio
import importlib
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
"""The checkout; everything is started from here."""


def environment() -> dict[str, str]:
    """Return this environment, with the checkout's modules and bytecode cached as it is for a user."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLORTERM": "truecolor"}


def python(*arguments: object, check: bool = True, **options: Any) -> str:
    """Run the interpreter with ``arguments``, and return its standard output."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        **{"cwd": ROOT, "env": environment(), "stdout": subprocess.PIPE, "text": True, **options},
        check=check,
    )
    return str(done.stdout)


def apart(
    function: Callable[..., Any], *arguments: object, wrap: Callable[[Sequence[str]], Sequence[str]] = list
) -> Any:
    """Call a function of a module, which may be a coroutine function, in a process of its own.

    Args:
        function: found there by its name; what it returns must be JSON.
        arguments: JSON too.
        wrap: gives the command that runs the process's own.
    """
    command = [sys.executable, "-m", "tests.apart", function.__module__, function.__name__]
    command = [*wrap([*command, json.dumps(arguments)])]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    assert done.returncode == 0, f"{function.__name__}: exit status {done.returncode}"
    return json.loads(done.stdout)


if __name__ == "__main__":
    module, name, given = sys.argv[1:]
    found = getattr(importlib.import_module(module), name)(*json.loads(given))
    print(json.dumps(asyncio.run(found) if inspect.iscoroutine(found) else found))
