"""The capacity of a machine: memory, cores, limits on threads, and how many tasks of each engine fit."""

import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from types import MappingProxyType

from msgspec import Struct, convert, structs

from concwatch.links.messages import HostFigures
from concwatch.monitor.lanes.forecast import TaskCost, TrialResults, fit, tried_demand
from concwatch.monitor.metrics.fit import Fit
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.workers.catalog import CATALOG, Engine, find_engines
from concwatch.portable.machine.cpu_quota import cpu_quota
from concwatch.portable.machine.limits import SystemLimit
from concwatch.portable.machine.open_files import process_limits
from concwatch.portable.protocol.workloads import CONNECT, HTTP
from concwatch.system.machine import describe_machine
from concwatch.system.memory import MemoryBudget

CONNECTING = (HTTP, CONNECT)
"""The workloads whose tasks have connections, which are limited as open files."""

UNKNOWN = "unknown"

LIMITS = {
    "vm.max_map_count": UNKNOWN,
    "pid_max": UNKNOWN,
    "threads-max": UNKNOWN,
    "cgroup pids.max": "no limit",
    "ulimit -u": "does not apply to this user",
}
"""The limits that are always listed, in this order → what to show on Linux for one without a value."""


class MachineCapacity(Struct, frozen=True, rename={"processor": "architecture"}):
    """A machine. Memory is in bytes; None is unknown."""

    system: str
    processor: str
    python: str
    cores: int
    memory_total: int
    memory_available: int
    memory_group: str | None
    """The folder of the control group that limits memory, if any."""
    budget: int = 0
    """Bytes that all workers together may use."""
    quota: float | None = None
    """CPU time that a control group allows, in cores."""
    open_files: int | None = None
    """The soft limit. Workers raise it to the hard limit for the workloads http and connect."""
    open_files_hard: int | None = None


class ThreadLimit(Struct, frozen=True):
    """A limit on threads in its own unit: memory maps, PIDs, threads, or bytes."""

    name: str
    value: int | None = None
    used: int | None = None
    free: int | None = None
    threads: int | None = None
    """How many more threads it allows."""
    where: str | None = None
    """The folder of the control group that sets it."""
    note: str = ""
    """What to show if there is no value."""


class EngineForecast(Struct, frozen=True, rename={"limit": "wall"}):
    """How many tasks of one engine are expected to fit if nothing else runs."""

    engine: str
    task: str
    workload: str
    runs: bool
    missing: str | None
    """Why the engine cannot run here, and what to do."""
    bytes_per_task: int
    """RSS and kernel memory; unless ``measured`` here, the catalog's, to which the forecast adds 20 %."""
    measured: bool
    tasks: int
    limit: str
    """What prevents more."""
    forecast: bool
    """Whether ``tasks`` depends on ``bytes_per_task``, which has not been measured here."""
    sure: bool
    """False if the limits on threads that apply are not known on this system."""


def local_machine(budget: int | None) -> MachineCapacity:
    """Return this machine with a memory ``budget`` in bytes; None for the default."""
    memory = MemoryBudget(budget)
    soft, hard = process_limits("RLIMIT_NOFILE")
    quota = cpu_quota()
    fields = {
        **describe_machine(),
        "memory_available": memory.start.available,
        "memory_group": memory.start.group,
        "budget": memory.size,
        "quota": quota.cores if quota else None,
        "open_files": soft,
        "open_files_hard": hard,
    }
    return convert(fields, MachineCapacity)


def remote_machine(figures: HostFigures, budget: int) -> MachineCapacity:
    """Return the machine of another host, as reported by its bridge."""
    return structs.replace(convert(figures, MachineCapacity, from_attributes=True), budget=budget)


def thread_limits(limits: Sequence[SystemLimit]) -> list[ThreadLimit]:
    """Return one row for each limit, including those that do not apply; for each name the tightest."""
    linux = sys.platform.startswith("linux")
    found = {name: ThreadLimit(name, note=note if linux else UNKNOWN) for name, note in LIMITS.items()}
    for limit in sorted(limits, key=lambda limit: limit.threads, reverse=True):
        where = limit.where or None
        found[limit.name] = ThreadLimit(limit.name, limit.value, limit.used, limit.free, limit.threads, where)
    return list(found.values())


def engine_fit(
    engine: Engine,
    workload: str,
    room: int,
    limits: Iterable[SystemLimit],
    trial: TaskCost | str | None = None,
) -> Fit:
    """Return how many tasks fit into ``room`` bytes and which limit comes first."""
    return fit(tried_demand(engine, Settings(workload), limits, trial), room)


def engine_forecasts(
    room: int,
    limits: Sequence[SystemLimit],
    reasons: Sequence[str | None],
    trials: TrialResults = MappingProxyType({}),
) -> list[EngineForecast]:
    """Return the forecast for every engine of the catalog, and on asyncio for workloads with connections.

    Args:
        room: bytes that tasks may use.
        limits: the limits on threads while no task is live.
        reasons: for each engine of the catalog, why it cannot run here; None if nothing is known.
        trials: by engine what a task costs here, or why its worker failed.
    """
    rows = [(engine, Settings().workload, reason) for engine, reason in zip(CATALOG, reasons, strict=True)]
    no_client = None if find_spec("aiohttp") else "needs aiohttp: pip install 'concwatch[http]'"
    (asyncio,) = find_engines(["asyncio"])
    rows += [(asyncio, workload, no_client if workload == HTTP else None) for workload in CONNECTING]
    return [
        _forecast(engine, workload, room, limits, missing, trial_of(trials, engine.name, workload))
        for engine, workload, missing in rows
    ]


def trial_of(trials: TrialResults, engine: str, workload: str) -> TaskCost | str | None:
    """Return the trial of an engine, which held tasks that sleep; None for another workload."""
    return None if workload in CONNECTING else trials.get(engine)


def _forecast(
    engine: Engine,
    workload: str,
    room: int,
    limits: Sequence[SystemLimit],
    missing: str | None,
    trial: TaskCost | str | None,
) -> EngineForecast:
    missing = trial if isinstance(trial, str) else missing
    fits = engine_fit(engine, workload, room, limits, trial)
    found = tried_demand(engine, Settings(workload), (), trial)
    return EngineForecast(
        engine.name,
        engine.task,
        workload,
        runs=missing is None,
        missing=missing,
        bytes_per_task=round(found.one_more),
        measured=found.measured,
        tasks=fits.tasks,
        limit=fits.limit,
        forecast=fits.forecast,
        sure=sys.platform.startswith("linux") or not engine.threads,
    )
