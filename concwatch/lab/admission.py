"""Whether this machine has room for a run, before anything of it is started."""

from collections.abc import Callable, Sequence

from concwatch.lab.catalog import Engine
from concwatch.lab.forecast import demand, forecast
from concwatch.lab.settings import Settings
from concwatch.system.memory import Memory, MemoryBudget, memory_now
from concwatch.system.walls import Wall, thread_walls
from concwatch.units import format_count


def why_too_many(
    engines: Sequence[Engine],
    settings: Settings,
    tasks: int,
    together: bool,
    budget: int | None,
    memory: Callable[[], Memory] = memory_now,
    walls: Callable[[], Sequence[Wall]] = thread_walls,
) -> str | None:
    """Return in one line why so many tasks do not fit; None when they do.

    Args:
        engines: each is to hold that many; one that cannot run here takes nothing, nor does one
            on another host: there the guard grants what fits.
        settings: what tasks do.
        tasks: how many.
        together: whether the engines run at the same time.
        budget: bytes of RSS that all workers may take together; None for the usual share.
        memory: looks at the machine's memory.
        walls: looks at the limits on threads.
    """
    there = [engine for engine in engines if engine.host is None and engine.missing() is None]
    room = MemoryBudget(budget, memory)
    found_walls = walls()
    for group in [there] if together else [[engine] for engine in there]:
        demands = [demand(engine, settings, found_walls) for engine in group]
        found = forecast(tasks, demands, room.room, bound=room.bound)
        if not found.fits:
            names = " and ".join(engine.name for engine in group)
            each = " each" if len(group) > 1 else ""
            return (
                f"{names}: {format_count(tasks)} tasks{each}: {found.why()}: expected at most "
                f"{format_count(found.fitting)}, or --force, with which growth stops there"
            )
    return None
