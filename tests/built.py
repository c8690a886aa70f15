"""The command that starts a worker: by a Python that has its engine, built first where it has to be."""

import asyncio
import sys
from contextlib import suppress
from functools import cache

from concwatch.lab.catalog import Engine, find_engines
from concwatch.runtimes.building import build

NEWEST = 20
"""A minor version of Python 3 that is not there yet."""


@cache
def row_of(name: str) -> Engine:
    """Return the row of an engine; one that this Python is too old for runs on the oldest that is not."""
    (row,) = find_engines([name])
    if sys.version_info < row.oldest_python:
        for minor in range(row.oldest_python[1], NEWEST):
            with suppress(ValueError):  # there is no such Python here
                return find_engines([f"{name}@3.{minor}"])[0]
    return row


@cache
def start_command(engine: Engine) -> list[str]:
    """Return the command of an engine; raises `BuildError` where it cannot be built."""
    if not engine.ways:
        return engine.command()
    told: list[str] = []
    return asyncio.run(build(engine.ways, engine.name, told.append, lambda seconds: None))
