"""A program from its start under watch to its end."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

from concwatch.agent.inject import environment
from concwatch.hosts.host import Host
from concwatch.links.agent_link import AgentListener
from concwatch.watch.other_host import OtherHost
from concwatch.watch.place import Here, Started
from concwatch.watch.program import END_LIMIT, Program
from concwatch.watch.watching import Watching

DRAIN = 1.0
"""Seconds that reports are still taken once the program has ended."""

LOOK = 0.02
"""Seconds between two looks at its end."""


@contextmanager
def watched(
    command: Sequence[str],
    *,
    host: Host | None = None,
    output: int | None = None,
    apart: bool = False,
    keep: bool = False,
    outcomes: bool = False,
    trace: bool = False,
) -> Iterator[tuple[Watching, Started]]:
    """Run a program and follow it; it has ended when the context is left.

    A program on another host has ended once `Place.finish` of its place has been awaited.

    Args:
        command: the program and its arguments.
        host: where; None for this machine.
        output: a descriptor for its standard output; None leaves it this program's own.
        apart: whether it gets a session of its own and nothing to read, and ``output`` takes its errors, too.
        keep: whether the program lives on when this one is killed; not on another host.
        outcomes: whether agents count how tasks end.
        trace: whether agents trace allocations.

    Raises:
        ValueError: one line: it could not be started.
    """
    if host is not None:
        place = OtherHost(host, command, lambda text: os.write(output or 1, text.encode()))
        assert place.program is not None
        watching = Watching(place, place.program, outcomes=outcomes, trace=trace)
        try:
            yield watching, place.program
        finally:
            watching.close()
        return
    listener = AgentListener()
    try:
        variables = environment(str(listener.path), os.environ)
        errors = output if apart else None
        program = Program(command, variables, output=output, errors=errors, apart=apart, keep=keep)
        watching = Watching(Here(listener, program), program, outcomes=outcomes, trace=trace)
        try:
            watching.step()
            yield watching, program
        finally:
            end(watching, program)
    finally:
        listener.close()


@contextmanager
def watched_apart(
    command: Sequence[str], *, host: Host | None = None, **how: bool
) -> Iterator[tuple[Watching, Started, Path]]:
    """Run a program beside a screen, as `watched` does; what it writes goes to a file that stays."""
    with (
        NamedTemporaryFile(prefix="concwatch-output-", suffix=".log", delete=False) as output,
        watched(command, host=host, output=output.fileno(), apart=True, **how) as (watching, program),
    ):
        yield watching, program, Path(output.name)


def _wait(watching: Watching, condition: Callable[[], bool]) -> None:
    """Step until a condition is true, for so long as a program may take to end."""
    deadline = watching.clock() + END_LIMIT
    while not condition() and watching.clock() < deadline:
        watching.step()
        time.sleep(LOOK)


def end(watching: Watching, program: Program) -> None:
    """End a program and what it leaves behind, by force if it takes too long; take the last reports."""
    program.ask_to_end()
    _wait(watching, lambda: program.status is not None)
    program.ask_left_to_end()
    _wait(watching, lambda: program.status is not None and not program.left())
    program.kill()
    deadline = watching.clock() + DRAIN
    while watching.alive and watching.clock() < deadline:
        watching.step()
        time.sleep(LOOK)
    watching.close()
