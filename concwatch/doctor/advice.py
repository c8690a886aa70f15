"""What to change for more tasks: commands to copy, for the walls that come first here and no others."""

import os
from collections.abc import Sequence

from msgspec import Struct, structs

from concwatch.doctor.capacity import EngineForecast, Machine, engine_fit
from concwatch.lab.catalog import find
from concwatch.system.memory import BUDGET
from concwatch.system.open_files import WALL as OPEN_FILES
from concwatch.system.walls import Wall, read_number

LARGEST = {"vm.max_map_count": (1 << 31) - 1, "pid_max": 1 << 22}
"""Wall → the largest value that Linux takes for it."""

HIGHER_SHARE = 0.9
"""Of the available memory: above 95 % the largest lane is stopped."""

MORE_FILES = 1 << 20
"""Open files that Linux lets the superuser allow where ``fs.nr_open`` does not say how many."""

CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")

COMMANDS = {
    "vm.max_map_count": ("sudo sysctl -w vm.max_map_count={value}",),
    "pid_max": ("sudo sysctl -w kernel.pid_max={value}",),
    "threads-max": ("sudo sysctl -w kernel.threads-max={value}",),
    "ulimit -u": ("ulimit -u {value}", "sudo prlimit --pid $$ --nproc={value}:{value}"),
    "ulimit -v memory": ("ulimit -v unlimited",),
    "memory commit limit": ("sudo sysctl -w vm.overcommit_memory=0",),
}
"""Wall → what to run to raise it to a value."""


class Advice(Struct, frozen=True):
    """One wall, and what to do about it."""

    wall: str
    engines: tuple[str, ...]
    """Those that it is the first wall for."""
    workload: str
    """What their tasks do."""
    commands: tuple[str, ...] = ()
    """For a shell; any one of them, the first one that can be used."""
    tasks: int | None = None
    """How many tasks of the first of these engines stand then."""
    then: str | None = None
    """Which wall comes next."""


def advise(machine: Machine, walls: Sequence[Wall], forecasts: Sequence[EngineForecast]) -> list[Advice]:
    """Return what would let more tasks stand, a wall at a time, in the order of the engines."""
    held: dict[str, list[EngineForecast]] = {}
    for row in forecasts:
        if row.runs:
            held.setdefault(row.wall, []).append(row)
    found = [_advice(name, rows, machine, walls) for name, rows in held.items()]
    return [advice for advice in found if advice is not None]


def _advice(
    name: str, rows: Sequence[EngineForecast], machine: Machine, walls: Sequence[Wall]
) -> Advice | None:
    first, room, others = rows[0], machine.budget, walls
    engine = find([first.engine])[0]
    advice = Advice(name, tuple(dict.fromkeys(row.engine for row in rows)), first.workload)
    if name == BUDGET:
        room = int(machine.memory_available * HIGHER_SHARE)
        commands: tuple[str, ...] = (f"concwatch --max-memory {HIGHER_SHARE * 100:.0f}%",)
        if machine.memory_group:
            commands += (
                "docker run --memory 8g ..."
                if _in_container()
                else "systemd-run --user --scope -p MemoryMax=infinity concwatch",
            )
    elif name == OPEN_FILES:
        most = read_number("/proc/sys/fs/nr_open") or MORE_FILES
        if machine.open_files_hard is None or machine.open_files_hard >= most:
            return None
        return structs.replace(advice, commands=(f"sudo prlimit --pid $$ --nofile={most}:{most}",))
    else:
        wall = min((wall for wall in walls if wall.name == name), key=lambda wall: wall.threads, default=None)
        if wall is None:
            return None
        others = [other for other in walls if other is not wall]
        # As much as what comes next allows, rounded up to a power of two; that is then the wall.
        need = wall.used + (engine_fit(engine, first.workload, room, others).tasks + 1) * wall.per_thread
        value = min(1 << (need - 1).bit_length(), LARGEST.get(name, need * 2))
        if value <= wall.value:
            return None
        others.append(Wall(name, value, wall.used, wall.per_thread, wall.where))
        commands = wall_commands(wall, value)
    after = engine_fit(engine, first.workload, room, others)
    return structs.replace(advice, commands=commands, tasks=after.tasks, then=after.wall)


def wall_commands(wall: Wall, value: int) -> tuple[str, ...]:
    """Return what raises a limit on threads to ``value``."""
    if wall.name in COMMANDS:
        return tuple(command.format(value=value) for command in COMMANDS[wall.name])
    if _in_container():
        return (f"docker run --pids-limit {value} ...", f"podman run --pids-limit {value} ...")
    if any(unit in wall.where for unit in (".slice", ".scope", ".service")):
        return (f"systemd-run --user --scope -p TasksMax={value} concwatch",)
    return (f"echo {value} | sudo tee {wall.where}/pids.max",)


def _in_container() -> bool:
    return any(os.path.exists(mark) for mark in CONTAINER_MARKS)
