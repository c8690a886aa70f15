"""The command that starts a worker of an engine, built first if necessary."""

import asyncio
import sys
from contextlib import suppress
from functools import cache

from concwatch.lab.catalog import Engine, find_engines
from concwatch.runtimes.building import build

NEWEST = 20
"""A minor version of Python 3 newer than any that exists."""


@cache
def row_of(name: str) -> Engine:
    """Return the row of an engine, on a newer Python if this one is too old."""
    (row,) = find_engines([name])
    if sys.version_info < row.oldest_python:
        for minor in range(row.oldest_python[1], NEWEST):
            with suppress(ValueError):  # this version is not installed
                return find_engines([f"{name}@3.{minor}"])[0]
    return row


@cache
def start_command(engine: Engine) -> list[str]:
    """Return the command of an engine. Raises `BuildError` if it cannot be built."""
    if not engine.ways:
        return engine.command()
    return asyncio.run(build(engine.ways, engine.name, lambda text: None, lambda seconds: None))
