"""The command that starts a worker, built first where its language asks for that."""

import asyncio
from functools import cache

from concwatch.lab.catalog import Engine
from concwatch.runtimes.building import build


@cache
def start_command(engine: Engine) -> list[str]:
    """Return the command of an engine; raises `BuildError` where it cannot be built."""
    if not engine.ways:
        return engine.command()
    told: list[str] = []
    return asyncio.run(build(engine.ways, engine.name, told.append, lambda seconds: None))
