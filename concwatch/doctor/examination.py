"""All that the doctor has looked up, in one object."""

from msgspec import Struct

from concwatch.doctor.advice import Advice, advise
from concwatch.doctor.forecasts import EngineForecast, engine_forecasts
from concwatch.doctor.machine import Machine, look_at_machine
from concwatch.doctor.proof import Proof
from concwatch.doctor.terminal import terminal_problems
from concwatch.doctor.versions import Versions, look_at_versions
from concwatch.lab.catalog import CATALOG
from concwatch.lab.probe import why_not
from concwatch.system.thread_limits import ThreadLimit, thread_limits
from concwatch.system.walls import thread_walls


class Examination(Struct, frozen=True):
    """What this machine can hold, and what would stop it: the object that ``doctor --json`` prints.

    Sizes are bytes, times seconds, shares of 1, the rest counts. A value that is not known, or does not bind,
    is None.
    """

    machine: Machine
    limits: list[ThreadLimit]
    engines: list[EngineForecast]
    terminal: list[str]
    """What is wrong with it for the screen."""
    versions: Versions
    for_more: list[Advice]
    proof: Proof | None = None
    """Only if it was asked for."""


def examine(budget: int | None = None) -> Examination:
    """Look everything up, under a memory ``budget`` or the usual one; of engines that need a package a worker
    is started, to see whether it stands.
    """
    machine, walls = look_at_machine(budget), thread_walls()
    engines = engine_forecasts(machine.budget, walls, why_not(CATALOG))
    return Examination(
        machine=machine,
        limits=thread_limits(walls),
        engines=engines,
        terminal=terminal_problems(),
        versions=look_at_versions(),
        for_more=advise(machine, walls, engines),
    )
