"""What a task of each engine costs on this machine, by trials: for forecasts without a screen."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence

from concwatch.links.link import Link
from concwatch.monitor.lanes.forecast import TaskCost, limit_fits
from concwatch.monitor.lanes.trial import THOROUGH, Trial, tasks_to_try
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.workers.catalog import Engine
from concwatch.portable.machine.limits import SystemLimit
from concwatch.system.machine import cores, load_now

STEP = 0.02
"""Seconds between two steps of the trials."""

AMPLE = 1 << 30
"""Bytes for each trial from which on several run at a time."""

LIMIT_SHARE = 0.25
"""The largest share of a limit on threads or open files that a trial may use."""

ALLOWED_SECONDS = 30.0
"""Seconds after which a trial is given up whatever its worker does."""


async def try_engines(
    engines: Iterable[Engine],
    settings: Settings,
    open_link: Callable[[Engine], Link],
    room: float,
    limits: Sequence[SystemLimit],
    *,
    build: bool = False,
    progress: Callable[[str], None] = lambda engine: None,
) -> Mapping[str, TaskCost | str]:
    """Return by engine what a task costs, or why its worker failed; one at a time or one a core.

    Args:
        engines: rows of the catalog that can run on this machine.
        settings: what each task does.
        open_link: starts a worker.
        room: bytes that all workers may use together.
        limits: the limits on threads while no task is live.
        build: whether to build workers that are not built yet; otherwise these engines are left out.
        progress: called with the name of each engine whose trial begins.
    """
    found: dict[str, TaskCost | str] = {}
    at_once = asyncio.Semaphore(cores() if room > AMPLE * cores() else 1)

    async def run(engine: Engine) -> None:
        tasks = tasks_to_try(engine, settings, room, THOROUGH)
        for fit in limit_fits(engine, settings, limits):
            tasks = min(tasks, int(fit.tasks * LIMIT_SHARE))
        if not tasks:
            return
        async with at_once:
            progress(engine.name)
            result = await _finish(engine, settings, tasks, open_link, build)
            if result:
                found[engine.name] = result

    async with asyncio.TaskGroup() as group:
        for engine in engines:
            group.create_task(run(engine))
    return found


async def _finish(
    engine: Engine, settings: Settings, tasks: int, open_link: Callable[[Engine], Link], build: bool
) -> TaskCost | str | None:
    """Run one trial to its end; if cancelled, its worker is killed and waited for."""
    clock = asyncio.get_running_loop().time
    trial = Trial(engine, settings, tasks, open_link, load_now, clock(), build=build)
    deadline = clock() + ALLOWED_SECONDS
    try:
        while not trial.over:
            if clock() > deadline and not trial.building:
                trial.stop()
            trial.step(clock())
            await asyncio.sleep(STEP)
    finally:
        trial.stop()
        while not trial.over:
            trial.step(clock())
            await asyncio.sleep(STEP)
    return trial.found or trial.reason or None
