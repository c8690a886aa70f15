"""Call a function in another process: ``python -m tests.apart MODULE FUNCTION ARGUMENTS``, those as JSON."""

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
    """Return this environment with the checkout on the path and bytecode caching enabled."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**variables, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLORTERM": "truecolor"}


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
    """Call a function or coroutine function of a module in another process.

    Args:
        function: Found by module and name; its result must be JSON.
        arguments: Its arguments, JSON as well.
        wrap: Returns the command that runs the process's command.
    """
    command = [sys.executable, "-m", "tests.apart", function.__module__, function.__name__]
    command = [*wrap([*command, json.dumps(arguments)])]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    assert done.returncode == 0, f"{function.__name__}: exit status {done.returncode}"
    return json.loads(done.stdout)


if __name__ == "__main__":
    module, name, parameters = sys.argv[1:]
    result = getattr(importlib.import_module(module), name)(*json.loads(parameters))
    print(json.dumps(asyncio.run(result) if inspect.iscoroutine(result) else result))
