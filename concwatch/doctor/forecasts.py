"""How many tasks of each engine this machine would hold, and which wall comes first."""

import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec

from msgspec import Struct

from concwatch.lab.catalog import CATALOG, Engine, find
from concwatch.lab.forecast import Fit, demand, fit
from concwatch.lab.settings import Settings
from concwatch.system.walls import Wall

FETCHES = "http"


class EngineForecast(Struct, frozen=True):
    """What is expected of one engine, with nothing else running."""

    engine: str
    task: str
    workload: str
    """What each task does."""
    runs: bool
    missing: str | None
    """Why it cannot run here, and what to do."""
    bytes_per_task: int
    """RSS in bytes of one task, by the catalog; 20 % more are reckoned with until it is measured here."""
    tasks: int
    """How many would stand."""
    wall: str
    """What comes then."""
    sure: bool
    """False where limits on threads bind it that this system does not tell."""


def engine_fit(engine: Engine, workload: str, room: int, walls: Iterable[Wall]) -> Fit:
    """Return how many tasks fit into ``room`` bytes, and which wall comes first."""
    return fit(demand(engine, Settings(workload), walls), room)


def engine_forecasts(room: int, walls: Sequence[Wall], reasons: Sequence[str | None]) -> list[EngineForecast]:
    """Make the forecast for every engine of the catalog, and for tasks that fetch.

    Args:
        room: bytes of RSS that tasks may take.
        walls: limits on threads as they are with no task live.
        reasons: why each engine of the catalog cannot run here, or None.
    """
    rows = [(engine, Settings().workload, reason) for engine, reason in zip(CATALOG, reasons, strict=True)]
    no_client = None if find_spec("aiohttp") else "needs aiohttp: pip install 'concwatch[http]'"
    rows.append((find(["asyncio"])[0], FETCHES, no_client))
    return [_forecast(engine, workload, room, walls, reason) for engine, workload, reason in rows]


def _forecast(
    engine: Engine, workload: str, room: int, walls: Sequence[Wall], missing: str | None
) -> EngineForecast:
    found = engine_fit(engine, workload, room, walls)
    return EngineForecast(
        engine=engine.name,
        task=engine.task,
        workload=workload,
        runs=missing is None,
        missing=missing,
        bytes_per_task=round(demand(engine, Settings(workload), ()).weight.one_more),
        tasks=found.tasks,
        wall=found.wall,
        sure=sys.platform.startswith("linux") or not engine.threads,
    )
