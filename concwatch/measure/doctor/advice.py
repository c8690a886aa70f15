"""Advice on how to run more tasks: shell commands that raise the limits that come first on this machine."""

import os
from collections.abc import Sequence
from types import MappingProxyType

from msgspec import Struct, structs

from concwatch.measure.doctor.capacity import EngineForecast, MachineCapacity, engine_fit, trial_of
from concwatch.monitor.lanes.forecast import TrialResults
from concwatch.monitor.workers.catalog import find_engines
from concwatch.portable.machine.limits import SystemLimit, read_number
from concwatch.portable.machine.open_files import NAME as OPEN_FILES
from concwatch.system.memory import BUDGET

MAX_VALUES = {"vm.max_map_count": (1 << 31) - 1, "pid_max": 1 << 22}
"""Limit → the largest value that Linux accepts for it."""

LARGER_BUDGET = 0.9
"""The largest memory budget to advise, as a share of the available memory: at 95 % lanes are stopped."""

MAX_OPEN_FILES = 1 << 20
"""The largest limit on open files if ``fs.nr_open`` cannot be read: the default of Linux."""

CONTAINER_FILES = ("/.dockerenv", "/run/.containerenv")
"""Files that exist only in a container."""

COMMANDS = {
    "vm.max_map_count": ("sudo sysctl -w vm.max_map_count={value}",),
    "pid_max": ("sudo sysctl -w kernel.pid_max={value}",),
    "threads-max": ("sudo sysctl -w kernel.threads-max={value}",),
    "ulimit -u": ("ulimit -u {value}", "sudo prlimit --pid $$ --nproc={value}:{value}"),
    "ulimit -v memory": ("ulimit -v unlimited",),
    "memory commit limit": ("sudo sysctl -w vm.overcommit_memory=0",),
}
"""Limit → the commands that raise it to a value."""


class Advice(Struct, frozen=True, rename={"limit": "wall"}):
    """A limit and how to raise it."""

    limit: str
    engines: tuple[str, ...]
    """The engines for which it is the first limit."""
    workload: str
    """What their tasks do."""
    commands: tuple[str, ...] = ()
    """Alternative shell commands, the best first."""
    tasks: int | None = None
    """How many tasks of the first of these engines fit after that."""
    then: str | None = None
    """The limit that comes next."""


def advise(
    machine: MachineCapacity,
    limits: Sequence[SystemLimit],
    forecasts: Sequence[EngineForecast],
    trials: TrialResults = MappingProxyType({}),
) -> list[Advice]:
    """Return one piece of advice for each limit that can be raised, in the order of the engines."""
    by_limit: dict[str, list[EngineForecast]] = {}
    for row in forecasts:
        if row.runs:
            by_limit.setdefault(row.limit, []).append(row)
    found = [_advice(name, rows, machine, limits, trials) for name, rows in by_limit.items()]
    return [advice for advice in found if advice is not None]


def _advice(
    name: str,
    rows: Sequence[EngineForecast],
    machine: MachineCapacity,
    limits: Sequence[SystemLimit],
    trials: TrialResults,
) -> Advice | None:
    first, room, others = rows[0], machine.budget, limits
    engine = find_engines([first.engine])[0]
    trial = trial_of(trials, engine.name, first.workload)
    advice = Advice(name, tuple(dict.fromkeys(row.engine for row in rows)), first.workload)
    if name == BUDGET:
        room = int(machine.memory_available * LARGER_BUDGET)
        commands: tuple[str, ...] = (f"concwatch --max-memory {LARGER_BUDGET * 100:.0f}%",)
        if machine.memory_group:
            commands += (
                "docker run --memory 8g ..."
                if _in_container()
                else "systemd-run --user --scope -p MemoryMax=infinity concwatch",
            )
    elif name == OPEN_FILES:
        maximum = read_number("/proc/sys/fs/nr_open") or MAX_OPEN_FILES
        if machine.open_files_hard is None or machine.open_files_hard >= maximum:
            return None
        return structs.replace(advice, commands=(f"sudo prlimit --pid $$ --nofile={maximum}:{maximum}",))
    else:
        limit = min(
            (limit for limit in limits if limit.name == name), key=lambda limit: limit.threads, default=None
        )
        if limit is None:
            return None
        others = [other for other in limits if other is not limit]
        # As many as the next limit allows, rounded up to a power of two.
        need = (
            limit.used
            + (engine_fit(engine, first.workload, room, others, trial).tasks + 1) * limit.per_thread
        )
        value = min(1 << (need - 1).bit_length(), MAX_VALUES.get(name, need * 2))
        if value <= limit.value:
            return None
        others.append(SystemLimit(name, value, limit.used, limit.per_thread, limit.where))
        commands = limit_commands(limit, value)
    after = engine_fit(engine, first.workload, room, others, trial)
    return structs.replace(advice, commands=commands, tasks=after.tasks, then=after.limit)


def limit_commands(limit: SystemLimit, value: int) -> tuple[str, ...]:
    """Return the alternative commands that raise a limit on threads to ``value``."""
    if limit.name in COMMANDS:
        return tuple(command.format(value=value) for command in COMMANDS[limit.name])
    if _in_container():
        return (f"docker run --pids-limit {value} ...", f"podman run --pids-limit {value} ...")
    if any(unit in limit.where for unit in (".slice", ".scope", ".service")):
        return (f"systemd-run --user --scope -p TasksMax={value} concwatch",)
    return (f"echo {value} | sudo tee {limit.where}/pids.max",)


def _in_container() -> bool:
    return any(os.path.exists(path) for path in CONTAINER_FILES)
