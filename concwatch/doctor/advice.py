"""What to change for more tasks: commands to copy, for the walls that come first here and no others."""

import os
import sys
from collections.abc import Callable, Sequence

from msgspec import Struct

from concwatch.doctor.forecasts import EngineForecast
from concwatch.doctor.forecasts import engine_fit as fit
from concwatch.doctor.machine import Machine
from concwatch.lab.catalog import find
from concwatch.lab.forecast import BUDGET
from concwatch.open_files import WALL as OPEN_FILES
from concwatch.worker.walls import Wall, read_number

LARGEST_PID_MAX = 1 << 22
"""What Linux takes at most as ``pid_max``."""

LARGEST_MAPS = (1 << 31) - 1
"""What Linux takes at most as ``vm.max_map_count``."""

HIGHER_SHARE = 0.9
"""Of the available memory: above 95 % the largest lane is stopped."""

MORE_FILES = 1 << 20
"""Open files that Linux lets the superuser allow where ``fs.nr_open`` does not say how many."""

CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")


class Advice(Struct, frozen=True):
    """One wall, and what to do about it."""

    wall: str
    engines: tuple[str, ...]
    """Those that it is the first wall for."""
    workload: str
    """What their tasks do."""
    commands: tuple[str, ...]
    """For a shell; any one of them, the first one that can be used."""
    tasks: int | None
    """How many tasks of the first of these engines stand then."""
    then: str | None
    """Which wall comes next."""


def advise(machine: Machine, walls: Sequence[Wall], forecasts: Sequence[EngineForecast]) -> list[Advice]:
    """Tell what would let more tasks stand, a wall at a time, in the order of the engines."""
    held: dict[str, list[EngineForecast]] = {}
    for row in forecasts:
        if row.runs:
            held.setdefault(row.wall, []).append(row)
    found = [_advice(name, rows, machine, walls) for name, rows in held.items()]
    return [advice for advice in found if advice is not None]


def _advice(
    name: str, rows: Sequence[EngineForecast], machine: Machine, walls: Sequence[Wall]
) -> Advice | None:
    engines = tuple(dict.fromkeys(row.engine for row in rows))
    first = rows[0]
    if name == BUDGET:
        room = int(machine.memory_available * HIGHER_SHARE)
        commands: tuple[str, ...] = (f"concwatch --max-memory {HIGHER_SHARE * 100:.0f}%",)
        if machine.memory_bound != "memory":
            commands += _memory_group_commands()
        after = fit(find([first.engine])[0], first.workload, room, walls)
        return Advice(name, engines, first.workload, commands, after.tasks, after.wall)
    if name == OPEN_FILES:
        most = read_number("/proc/sys/fs/nr_open") or MORE_FILES
        if machine.open_files_hard is None or machine.open_files_hard >= most:
            return None
        raise_it = (f"sudo prlimit --pid $$ --nofile={most}:{most}",)
        return Advice(name, engines, first.workload, raise_it, None, None)
    wall = min((wall for wall in walls if wall.name == name), key=lambda wall: wall.threads, default=None)
    if wall is None or not sys.platform.startswith("linux"):
        return None
    engine = find([first.engine])[0]
    others = [other for other in walls if other is not wall]
    # As much as what comes next allows; that is then the wall.
    need = wall.used + (fit(engine, first.workload, machine.budget, others).tasks + 1) * wall.a_thread
    value = min(_rounded(need), LARGEST.get(name, need * 2))
    if value <= wall.value:
        return None
    raised = Wall(name, value, wall.used, wall.a_thread, wall.where)
    after = fit(engine, first.workload, machine.budget, [*others, raised])
    return Advice(name, engines, first.workload, COMMANDS[name](value, wall), after.tasks, after.wall)


def _rounded(value: int) -> int:
    """Round up to a power of two, as such values are."""
    return 1 << (value - 1).bit_length()


def _sysctl(name: str) -> Callable[[int, Wall], tuple[str, ...]]:
    return lambda value, wall: (f"sudo sysctl -w {name}={value}",)


def _user_limit_commands(value: int, wall: Wall) -> tuple[str, ...]:
    import resource  # only Linux comes here

    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    if hard == resource.RLIM_INFINITY or value <= hard:
        return (f"ulimit -u {value}",)
    return (f"sudo prlimit --pid $$ --nproc={value}:{value}",)


def _group_commands(value: int, wall: Wall) -> tuple[str, ...]:
    if _in_container():
        return (f"docker run --pids-limit {value} ...", f"podman run --pids-limit {value} ...")
    if ".slice" in wall.where or ".scope" in wall.where or ".service" in wall.where:
        return (f"systemd-run --user --scope -p TasksMax={value} concwatch",)
    return (f"echo {value} | sudo tee {wall.where}/pids.max",)


def _memory_group_commands() -> tuple[str, ...]:
    if _in_container():
        return ("docker run --memory 8g ...",)
    return ("systemd-run --user --scope -p MemoryMax=infinity concwatch",)


def _in_container() -> bool:
    return any(os.path.exists(mark) for mark in CONTAINER_MARKS)


LARGEST = {"vm.max_map_count": LARGEST_MAPS, "pid_max": LARGEST_PID_MAX}
"""Wall → the largest value that the system takes for it."""

COMMANDS: dict[str, Callable[[int, Wall], tuple[str, ...]]] = {
    "vm.max_map_count": _sysctl("vm.max_map_count"),
    "pid_max": _sysctl("kernel.pid_max"),
    "threads-max": _sysctl("kernel.threads-max"),
    "cgroup pids.max": _group_commands,
    "ulimit -u": _user_limit_commands,
    "ulimit -v memory": lambda value, wall: ("ulimit -v unlimited",),
    "memory commit limit": lambda value, wall: ("sudo sysctl -w vm.overcommit_memory=0",),
}
"""Wall → what to run to raise it to a value."""
