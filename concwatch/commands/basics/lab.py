"""The lab of a command: its lanes are real workers, on this machine or on their hosts."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from concwatch.links.link import Link
from concwatch.monitor.workers.catalog import Engine

if TYPE_CHECKING:
    from concwatch.monitor.lanes.forecast import TrialResults
    from concwatch.monitor.lanes.lab import Lab
    from concwatch.monitor.metrics.settings import Settings
    from concwatch.portable.machine.limits import SystemLimit

SELF_CONTAINED = ("Go",)
"""Languages whose programs have no dependencies: built on this host, they run on remote hosts too."""


def open_process(engine: Engine) -> Link:
    """Start a real worker for ``engine`` on its host, building it first if necessary."""
    from concwatch.links.process import WorkerProcess  # not needed for the first frame, as those below

    variables = dict(engine.environment)
    start: Callable[[Sequence[str]], Link] = partial(WorkerProcess, variables=variables)
    if engine.host is None and not engine.ways:
        return start(engine.command())
    from concwatch.hosts.link import BridgeProgram, HostLink, send_program
    from concwatch.runtimes.build_link import BuildLink
    from concwatch.runtimes.recipe import recipe

    if engine.host is None:
        return BuildLink(engine.ways, engine.kind, start)
    if not engine.ways:
        return HostLink(engine.host, BridgeProgram(engine.kind, variables))
    ways, sources = recipe(engine.ways)
    program = BridgeProgram(engine.kind, variables, ways=ways, sources=sources)
    if engine.ways[0].language in SELF_CONTAINED and engine.ways[0].missing() is None:
        return BuildLink(engine.ways, engine.kind, partial(send_program, engine.host, program))
    return HostLink(engine.host, program)


def real_lab(engines: Sequence[Engine], **options: Any) -> "Lab":
    """Create a lab with the options of `Lab`."""
    from concwatch.monitor.lanes.lab import Lab  # imported late: it takes 15 ms

    return Lab(engines, open_link=open_process, **options)


def measure_costs(
    engines: Iterable[Engine],
    settings: "Settings",
    room: float,
    limits: "Sequence[SystemLimit]",
    *,
    build: bool,
) -> "TrialResults":
    """Return what a task of each engine costs on this machine, as `concwatch.measure.trials.try_engines`.

    A signal ends the workers, then this process. Nothing is measured if tests
    replace the workers.
    """
    import click

    from concwatch.commands.basics.exits import exit_with
    from concwatch.commands.basics.progress import ProgressLine
    from concwatch.commands.basics.signals import run_until_signal
    from concwatch.measure.trials import try_engines

    local = [engine for engine in engines if engine.host is None and engine.missing() is None]
    if click.get_current_context().find_root().obj or not local:
        return {}
    line = ProgressLine()
    work = try_engines(
        local, settings, open_process, room, limits, build=build,
        progress=lambda name: line.write(f"{name}: measuring what a task costs"),
    )  # fmt: skip
    found, stopped = run_until_signal(work)
    line.clear()
    if found is None:
        exit_with(-stopped)
    return found


def create_lab(engines: Sequence[Engine], **options: Any) -> "Lab":
    """Create a lab for a command. Tests replace `real_lab` by the root context's ``obj``."""
    import click  # not needed for the first frame

    make: Callable[..., Lab] = click.get_current_context().find_root().obj or real_lab
    return make(engines, **options)
