"""What a machine can hold: its memory and cores, its limits on threads, and how many tasks of each engine."""

import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec

from msgspec import Struct, convert

from concwatch.lab.catalog import CATALOG, Engine, find
from concwatch.lab.forecast import Fit, demand, fit
from concwatch.lab.settings import Settings
from concwatch.links.messages import HostFigures
from concwatch.system.machine import describe_machine
from concwatch.system.memory import MemoryBudget
from concwatch.system.open_files import process_limits
from concwatch.system.walls import Wall, cgroup_folders, read_text

FETCHES = "http"
UNKNOWN = "unknown"

ALWAYS = {
    "vm.max_map_count": UNKNOWN,
    "pid_max": UNKNOWN,
    "threads-max": UNKNOWN,
    "cgroup pids.max": "no limit",
    "ulimit -u": "does not bind this user",
}
"""The limits that are always listed, in this order → why Linux has no value for one."""


class Machine(Struct, frozen=True):
    """A machine, with memory in bytes; None is what it does not tell."""

    system: str
    architecture: str
    python: str
    cores: int
    memory_total: int
    memory_available: int
    memory_group: str | None
    """The folder of the control group that binds memory, if one does."""
    budget: int
    """What all workers may take together."""
    quota: float | None = None
    """Cores' worth of time that a control group allows."""
    open_files: int | None = None
    """The soft limit; workers that fetch raise it to the hard one."""
    open_files_hard: int | None = None


class ThreadLimit(Struct, frozen=True):
    """A limit on threads in its own unit: maps, numbers, threads, or bytes of memory."""

    name: str
    value: int | None = None
    used: int | None = None
    free: int | None = None
    threads: int | None = None
    """How many more threads it has room for."""
    where: str | None = None
    """The folder of the control group that sets it."""
    note: str = ""
    """Why there is no value."""


class EngineForecast(Struct, frozen=True):
    """How many tasks of one engine are expected to fit with nothing else running."""

    engine: str
    task: str
    workload: str
    runs: bool
    missing: str | None
    """Why it cannot run here, and what to do."""
    bytes_per_task: int
    """RSS by the catalog; the forecast adds 20 % until it is measured here."""
    tasks: int
    wall: str
    """What stops more."""
    sure: bool
    """False where this system does not tell the limits on threads that bind it."""


def this_machine(budget: int | None) -> Machine:
    """Return this machine now, under a memory ``budget`` in bytes or the default one."""
    memory = MemoryBudget(budget)
    soft, hard = process_limits("RLIMIT_NOFILE")
    known = {
        **describe_machine(),
        "memory_group": memory.start.group,
        "budget": memory.size,
        "quota": cpu_quota(),
        "open_files": soft,
        "open_files_hard": hard,
    }
    return convert(known, Machine)


def other_machine(found: HostFigures, budget: int) -> Machine:
    """Return another host's machine, as its bridge reported it."""
    return Machine(
        found.system,
        found.processor,
        found.python,
        found.cores,
        found.memory_total,
        found.memory_available,
        found.memory_group,
        budget,
    )


def cpu_quota() -> float | None:
    """Return the cores' worth of time that the tightest control group allows; "max" and -1 are no quota."""
    found = []
    for folder in cgroup_folders("cpu"):
        version1 = (f"{folder}/cpu.cfs_quota_us", f"{folder}/cpu.cfs_period_us")
        words = read_text(f"{folder}/cpu.max").split() or [read_text(path) for path in version1]
        if len(words) == 2 and all(map(str.isdecimal, words)) and int(words[1]):
            found.append(int(words[0]) / int(words[1]))
    return min(found, default=None)


def thread_limits(walls: Sequence[Wall]) -> list[ThreadLimit]:
    """Return a row for each limit, also those that do not bind; of several with one name the tightest."""
    linux = sys.platform.startswith("linux")
    found = {name: ThreadLimit(name, note=note if linux else UNKNOWN) for name, note in ALWAYS.items()}
    for wall in sorted(walls, key=lambda wall: wall.threads, reverse=True):
        where = wall.where or None
        found[wall.name] = ThreadLimit(wall.name, wall.value, wall.used, wall.free, wall.threads, where)
    return list(found.values())


def engine_fit(engine: Engine, workload: str, room: int, walls: Iterable[Wall]) -> Fit:
    """Return how many tasks fit into ``room`` bytes, and which wall comes first."""
    return fit(demand(engine, Settings(workload), walls), room)


def engine_forecasts(room: int, walls: Sequence[Wall], reasons: Sequence[str | None]) -> list[EngineForecast]:
    """Return the forecast for every engine of the catalog, and for tasks that fetch.

    Args:
        room: bytes of RSS that tasks may take.
        walls: limits on threads with no task live.
        reasons: why each engine of the catalog cannot run here, or None.
    """
    rows = [(engine, Settings().workload, reason) for engine, reason in zip(CATALOG, reasons, strict=True)]
    no_client = None if find_spec("aiohttp") else "needs aiohttp: pip install 'concwatch[http]'"
    rows.append((find(["asyncio"])[0], FETCHES, no_client))
    return [_forecast(engine, workload, room, walls, missing) for engine, workload, missing in rows]


def _forecast(
    engine: Engine, workload: str, room: int, walls: Sequence[Wall], missing: str | None
) -> EngineForecast:
    fits = engine_fit(engine, workload, room, walls)
    return EngineForecast(
        engine.name,
        engine.task,
        workload,
        runs=missing is None,
        missing=missing,
        bytes_per_task=round(demand(engine, Settings(workload), ()).one_more),
        tasks=fits.tasks,
        wall=fits.wall,
        sure=sys.platform.startswith("linux") or not engine.threads,
    )
