"""All that the doctor has looked up, in one object: the machine, the terminal, what is installed."""

import os
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version

from msgspec import Struct

from concwatch.doctor.advice import Advice, advise
from concwatch.doctor.capacity import (
    EngineForecast,
    Machine,
    ThreadLimit,
    engine_forecasts,
    other_machine,
    this_machine,
    thread_limits,
)
from concwatch.doctor.proof import Proof
from concwatch.hosts.survey import HostSurvey
from concwatch.lab.catalog import CATALOG
from concwatch.lab.host_lanes import OtherMachine
from concwatch.lab.probe import why_not
from concwatch.system.machine import program_version
from concwatch.system.memory import MemoryBudget
from concwatch.system.walls import thread_walls

LEAST_SIZE = (60, 14)
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
"""Package → the extra that brings it."""


class HostExamination(Struct, frozen=True):
    """What another host can hold: the object that ``doctor --host --json`` prints of it."""

    host: str
    problem: str | None = None
    """Why it cannot be reached."""
    machine: Machine | None = None
    limits: list[ThreadLimit] = []
    engines: list[EngineForecast] = []


class Examination(Struct, frozen=True):
    """What this machine can hold, and what would stop it: the object that ``doctor --json`` prints.

    Sizes are bytes, times seconds, shares of 1, the rest counts. A value that is not known, or does not bind,
    is None.
    """

    concwatch: str
    machine: Machine
    limits: list[ThreadLimit]
    engines: list[EngineForecast]
    terminal: list[str]
    """What is wrong with it for the screen."""
    not_installed: dict[str, str]
    """Optional package → the extra that brings it."""
    for_more: list[Advice]
    proof: Proof | None = None
    """Only if it was asked for."""


def examine(budget: int | None = None) -> Examination:
    """Look everything up, under a memory ``budget`` in bytes or the default one.

    A worker of each engine that needs a package is started, to see whether it works.
    """
    machine, walls = this_machine(budget), thread_walls()
    engines = engine_forecasts(machine.budget, walls, why_not(CATALOG))
    return Examination(
        concwatch=program_version(),
        machine=machine,
        limits=thread_limits(walls),
        engines=engines,
        terminal=terminal_problems(),
        not_installed={name: extra for name, extra in OPTIONAL.items() if not _is_installed(name)},
        for_more=advise(machine, walls, engines),
    )


def examine_host(found: HostSurvey, budget: int | None) -> HostExamination:
    """Return what a host can hold, under a memory ``budget`` in bytes or the default one."""
    if found.figures is None:
        return HostExamination(found.host.name, found.problem)
    there = OtherMachine()
    there.take(found.figures)
    room, walls = MemoryBudget(budget, there.memory).size, there.walls
    reasons = [engine.on(found.host).missing() for engine in CATALOG]
    engines = engine_forecasts(room, walls, reasons)[: len(CATALOG)]
    machine = other_machine(found.figures, room)
    return HostExamination(found.host.name, None, machine, thread_limits(walls), engines)


def _is_installed(package: str) -> bool:
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


def terminal_problems() -> list[str]:
    """Return what keeps the screen from being shown here, or shown well, and what to do: a line each."""
    found = []
    for name, stream in (("input", sys.stdin), ("output", sys.stdout)):
        if stream is None or stream.closed or not stream.isatty():
            found.append(f"standard {name} is not a terminal: the screen needs one, concwatch run does not")
    columns, lines = shutil.get_terminal_size(LEAST_SIZE)
    if columns < LEAST_SIZE[0] or lines < LEAST_SIZE[1]:
        found.append(f"{columns} × {lines}: the screen needs {LEAST_SIZE[0]} × {LEAST_SIZE[1]}")
    term, color_term = os.environ.get("TERM", ""), os.environ.get("COLORTERM", "")
    if "NO_COLOR" in os.environ:
        found.append("NO_COLOR is set: the screen has no colours")
    elif not (color_term in ("truecolor", "24bit") or "256color" in term or sys.platform == "win32"):
        found.append(f'TERM "{term}": 16 colours at most; if it has more, set COLORTERM=truecolor')
    encoding = getattr(sys.stdout, "encoding", None) or "unknown"
    try:
        "╭⣿│".encode(encoding)
    except (LookupError, UnicodeError):
        found.append(f'encoding "{encoding}": charts need Unicode, set LC_ALL=C.UTF-8')
    return found
