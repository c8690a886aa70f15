"""``concwatch attach``: follow the tasks of running processes."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from concwatch.commands.basics.display import Display, check_display
from concwatch.commands.basics.exits import exit_with
from concwatch.commands.basics.options import ONE_HOST, SCREEN, open_recorder, options
from concwatch.commands.basics.values import HOST, PID
from concwatch.commands.watching.unattended import (
    ADVICE,
    AGENTS,
    EXPECTATIONS,
    OPTIONS,
    Unattended,
    agent_options,
)
from concwatch.hosts.host import Host
from concwatch.links.agent_link import AgentListener
from concwatch.monitor.processes.watched_host import LocalHost, loads_by_gdb, why_not_attachable
from concwatch.monitor.watching.agent_options import DEFAULTS, AgentOptions
from concwatch.monitor.watching.remote_host import RemoteHost
from concwatch.monitor.watching.watching import Watching
from concwatch.portable.bridge.injection import process_name
from concwatch.system.local_processes import process_table
from concwatch.ui.sources.session_recording import SessionRecording

NAMED = 3
"""Processes that the question names."""


@click.command(
    "attach",
    help="Watch the tasks of running processes, by PID. They keep running when concwatch ends.\n\n"
    "Python 3.14 or newer loads the agent while it runs. Older versions load it through gdb, which stops the "
    "process for 0.3 to 1 s: concwatch asks first, unless --yes is given. Without gdb, the program must "
    "have called concwatch.agent.start(). Any other process is only measured from outside.\n\n"
    f"{EXPECTATIONS}",
)
@click.argument("pids", metavar="PID...", nargs=-1, type=PID, required=True)
@options(OPTIONS)
@click.option(
    "--yes",
    is_flag=True,
    help="Let gdb load the agent into Python before 3.14 without asking. This stops the process for 0.3 "
    "to 1 s.",
)
@options(AGENTS)
@click.option("--host", type=HOST, metavar="HOST", help=ONE_HOST)
@options({name: SCREEN[name] for name in ("--record", "--recordings", "--screenshots", "--cells")})
def command(
    pids: Sequence[int],
    yes: bool,
    host: Host | None,
    record: str | None,
    recordings: str,
    screenshots: Path,
    cells: bool,
    **others: Any,
) -> None:
    """Attach to processes."""
    agents = agent_options(others)
    unattended = Unattended(**others)
    unattended.check()
    check_pids(pids, host)
    if not unattended.asked:
        check_display(ADVICE)
    watching = attach_to(pids, yes, host, agents)
    try:
        recorder = open_recorder(record, ())
        if unattended.asked:
            with unattended.exporters() as exporters:
                status = unattended.follow(watching, None, recorder, exporters)
        else:
            status = _on_screen(watching, SessionRecording(Path(recordings), recorder), screenshots, cells)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    finally:
        watching.close()
    if watching.host.problem:
        raise click.UsageError(watching.host.problem)
    exit_with(status)


def check_pids(pids: Sequence[int], host: Host | None) -> None:
    """Check, unless they run on another ``host``, that processes can be attached to.

    Raises:
        click.UsageError: one line about the first that cannot.
    """
    for pid in pids if host is None else ():
        problem = why_not_attachable(pid)
        if problem:
            raise click.UsageError(problem)


def attach_to(pids: Sequence[int], yes: bool, host: Host | None, agents: AgentOptions = DEFAULTS) -> Watching:
    """Attach to running processes; ask, unless ``yes``, whether gdb may load agents.

    Args:
        pids: the processes, which `check_pids` has checked.
        yes: whether gdb may load agents without being asked.
        host: where they run; None for this host.
        agents: what agents are asked to do.

    Raises:
        click.UsageError: one line: a process cannot be attached to, or the host cannot be reached.
    """
    gdb = yes or (host is None and _agrees([pid for pid in pids if loads_by_gdb(pid)]))
    watching = Watching(LocalHost(AgentListener()) if host is None else RemoteHost(host), agents=agents)
    try:
        for pid in dict.fromkeys(pids):
            watching.attach(pid, gdb)
    except ValueError as error:
        watching.close()
        raise click.UsageError(str(error)) from None
    return watching


def _agrees(pids: Sequence[int]) -> bool:
    """Ask, once for all processes, whether gdb may load the agent. Return False if nobody can answer."""
    if not pids or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    table = process_table()
    names = ", ".join(f"{process_name(pid, table)} {pid}" for pid in pids[:NAMED])
    names += ", …" if pids[NAMED:] else ""
    return click.confirm(
        f"Python before 3.14 ({names}) loads the agent through gdb, which stops the process for 0.3 to "
        "1 s. Without gdb, only memory and CPU are measured, from outside. Use gdb (--yes skips this "
        "question)?",
        err=True,
    )


def _on_screen(watching: Watching, recording: SessionRecording, pictures: Path, cells: bool) -> int:
    """Follow processes on the screen. Return the exit status."""
    display = Display()
    display.picture_cells = cells
    from concwatch.ui.apps.watch_app import WatchApp  # imported late: it takes 0.2 s

    return display.run(WatchApp(watching, None, pictures, recording, display.theme))
