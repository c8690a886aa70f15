"""The life of a watched program: start, follow, terminate."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from concwatch.hosts.host import Host
from concwatch.links.agent_link import AgentListener
from concwatch.links.program import TAIL, TERMINATION_TIMEOUT, HeldSignals, Program, StartedProgram
from concwatch.monitor.processes.watched_host import LocalHost
from concwatch.monitor.watching.agent_options import DEFAULTS, AgentOptions
from concwatch.monitor.watching.remote_host import RemoteHost
from concwatch.monitor.watching.watching import Watching
from concwatch.portable.agent.attaching.inject import environment
from concwatch.portable.bridge.private_folder import output_file

DRAIN = 1.0
"""Seconds for the last reports after the program has ended."""

STEP_INTERVAL = 0.02
"""Seconds between two steps while the program terminates."""


@contextmanager
def watched(
    command: Sequence[str],
    *,
    host: Host | None = None,
    output: int | None = None,
    background: bool = False,
    keep: bool = False,
    agents: AgentOptions = DEFAULTS,
    held: HeldSignals | None = None,
) -> Iterator[tuple[Watching, StartedProgram]]:
    """Run a program and watch it; it has ended when the context exits.

    A program on a remote host has ended once `RemoteHost.finish` has been awaited.

    Args:
        command: the program and its arguments.
        host: where; None for this host.
        output: a descriptor for its standard output; None: concwatch's own.
        background: whether it gets a session of its own, no standard input, and ``output`` for its errors
            too.
        keep: whether the program continues when concwatch is killed; not on a remote host.
        agents: what agents are asked to do.
        held: signals that are blocked here, and are not to be in the program; not on a remote host.

    Raises:
        ValueError: it could not be started; the message is one line.
    """
    if host is not None:
        with _watched_on(host, command, output or 1, agents) as found:
            yield found
        return
    listener = AgentListener()
    try:
        variables = environment(str(listener.path), os.environ, options=agents.arguments)
        errors = output if background else None
        program = Program(
            command,
            variables,
            output=output,
            errors=errors,
            background=background,
            keep=keep,
            held=held,
        )
        local = LocalHost(listener, program)
        watching = Watching(local, program, agents=agents)
        try:
            watching.step()
            yield watching, program
        finally:
            terminate(watching, program)
    finally:
        listener.close()


@contextmanager
def _watched_on(
    host: Host, command: Sequence[str], output: int, agents: AgentOptions
) -> Iterator[tuple[Watching, StartedProgram]]:
    """Run a program on a remote host and watch it."""
    remote = RemoteHost(host, command, lambda text: os.write(output, text.encode()), agents.arguments)
    assert remote.program is not None
    watching = Watching(remote, remote.program, agents=agents)
    try:
        yield watching, remote.program
    finally:
        watching.close()


@contextmanager
def watched_in_background(
    command: Sequence[str], *, host: Host | None = None, **options: Any
) -> Iterator[tuple[Watching, StartedProgram, Path]]:
    """Run a program behind a screen, as `watched` does; its output goes to a file that is kept for a week."""
    with (
        output_file() as output,
        watched(command, host=host, output=output.fileno(), background=True, **options) as (
            watching,
            program,
        ),
    ):
        yield watching, program, Path(output.name)


def asked_for_input(output: Path) -> bool:
    """Return whether the last output of a program is that of pdb, as ``breakpoint()`` starts it."""
    with output.open("rb") as file:
        file.seek(max(0, output.stat().st_size - TAIL))
        return b"(Pdb)" in file.read(TAIL)


def terminate(watching: Watching, program: Program) -> None:
    """Terminate a program and its orphans, kill them if they take too long, and receive the last reports."""
    program.terminate()
    _step_until(watching, lambda: program.status is not None, TERMINATION_TIMEOUT)
    program.signal_orphans(signal.SIGTERM)
    _step_until(watching, lambda: program.status is not None and not program.orphans(), TERMINATION_TIMEOUT)
    program.kill()
    _step_until(watching, lambda: not watching.alive, DRAIN)
    watching.leave_daemons()
    watching.close()


def _step_until(watching: Watching, condition: Callable[[], bool], timeout: float) -> None:
    deadline = watching.clock() + timeout
    while not condition() and watching.clock() < deadline:
        watching.step()
        time.sleep(STEP_INTERVAL)
