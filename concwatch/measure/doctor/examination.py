"""The examination of a machine: capacity, terminal, installed packages and advice, in one object."""

import os
import shutil
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType

from msgspec import Struct

from concwatch.hosts.survey import HostSurvey
from concwatch.measure.doctor.advice import Advice, advise
from concwatch.measure.doctor.capacity import (
    EngineForecast,
    MachineCapacity,
    ThreadLimit,
    engine_forecasts,
    remote_machine,
    thread_limits,
)
from concwatch.measure.doctor.proof import Proof
from concwatch.monitor.lanes.forecast import TrialResults
from concwatch.monitor.lanes.host_lanes import RemoteMachine
from concwatch.monitor.workers.catalog import CATALOG
from concwatch.portable.machine.limits import SystemLimit
from concwatch.system.machine import program_version
from concwatch.system.memory import MemoryBudget

MINIMUM_SIZE = (60, 14)
"""Columns and lines that the screen needs."""

OPTIONAL = {
    "gevent": "gevent",
    "aiohttp": "http",
    "httpx": "http",
    "requests": "http",
    "pyperf": "pyperf",
    "pyarrow": "parquet",
    "resvg-py": "shots",
    "pillow": "shots",
    "textual-serve": "web",
}
"""Optional package → the extra that installs it."""


class HostExamination(Struct, frozen=True):
    """What another host can hold: an object of ``doctor --host --json``."""

    host: str
    problem: str | None = None
    """Why the host cannot be reached."""
    machine: MachineCapacity | None = None
    limits: list[ThreadLimit] = []
    engines: list[EngineForecast] = []


class Examination(Struct, frozen=True):
    """What this machine can hold and which limits apply: the object of ``doctor --json``.

    Sizes are in bytes, times in seconds, shares from 0 to 1. None is unknown, or does not apply.
    """

    concwatch: str
    machine: MachineCapacity
    limits: list[ThreadLimit]
    engines: list[EngineForecast]
    terminal: list[str]
    """What prevents the screen, or limits it."""
    not_installed: dict[str, str]
    """Optional package → the extra that installs it."""
    for_more: list[Advice]
    """How to run more tasks."""
    proof: Proof | None = None
    """Only with --prove."""


def examine(
    machine: MachineCapacity, limits: Sequence[SystemLimit], trials: TrialResults = MappingProxyType({})
) -> Examination:
    """Examine this machine.

    Args:
        machine: its capacity.
        limits: its limits on threads.
        trials: by engine what a task costs here, or why its worker failed.
    """
    engines = engine_forecasts(machine.budget, limits, [engine.missing() for engine in CATALOG], trials)
    return Examination(
        concwatch=program_version(),
        machine=machine,
        limits=thread_limits(limits),
        engines=engines,
        terminal=terminal_problems(),
        not_installed={name: extra for name, extra in OPTIONAL.items() if not _is_installed(name)},
        for_more=advise(machine, limits, engines, trials),
    )


def examine_host(found: HostSurvey, budget: int | None) -> HostExamination:
    """Return what a host can hold with a memory ``budget`` in bytes; None for the default."""
    if found.figures is None:
        return HostExamination(found.host.name, found.problem)
    remote = RemoteMachine()
    remote.update(found.figures)
    room, limits = MemoryBudget(budget, remote.memory).size, remote.limits
    reasons = [engine.on(found.host).missing() for engine in CATALOG]
    engines = engine_forecasts(room, limits, reasons)[: len(CATALOG)]
    machine = remote_machine(found.figures, room)
    return HostExamination(found.host.name, None, machine, thread_limits(limits), engines)


def _is_installed(package: str) -> bool:
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


def terminal_problems() -> list[str]:
    """Return one line for each thing that prevents or limits the screen on this terminal, and what to do."""
    found = []
    streams = (("input", sys.stdin), ("output", sys.stdout))
    names = [name for name, stream in streams if stream is None or stream.closed or not stream.isatty()]
    if names:
        which = "is not a terminal" if len(names) == 1 else "are not a terminal"
        found.append(f"standard {' and '.join(names)} {which}; the screen needs one, concwatch run does not")
    columns, lines = shutil.get_terminal_size(MINIMUM_SIZE)
    if columns < MINIMUM_SIZE[0] or lines < MINIMUM_SIZE[1]:
        found.append(f"{columns} × {lines}: the screen needs {MINIMUM_SIZE[0]} × {MINIMUM_SIZE[1]}")
    term, color_term = os.environ.get("TERM", ""), os.environ.get("COLORTERM", "")
    if "NO_COLOR" in os.environ:
        found.append("NO_COLOR is set: the screen has no colours")
    elif not (color_term in ("truecolor", "24bit") or "256color" in term or sys.platform == "win32"):
        found.append(
            f'TERM is "{term}": at most 16 colours; if the terminal has more, set COLORTERM=truecolor'
        )
    encoding = getattr(sys.stdout, "encoding", None) or "unknown"
    try:
        "╭⣿│".encode(encoding)
    except (LookupError, UnicodeError):
        found.append(f'the encoding is "{encoding}": charts need Unicode; set LC_ALL=C.UTF-8')
    return found
