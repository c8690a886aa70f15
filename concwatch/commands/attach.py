"""``concwatch attach``: follow the tasks of processes that run already."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from concwatch.commands.options import ONE_HOST, SCREEN, open_recorder, options
from concwatch.commands.place import Place, check_place
from concwatch.commands.values import HOST, PID
from concwatch.hosts.host import Host
from concwatch.links.agent_link import AgentListener
from concwatch.ui.session_recording import SessionRecording
from concwatch.watch.other_host import OtherHost
from concwatch.watch.place import Here, why_not
from concwatch.watch.watching import Watching


@click.command(
    "attach",
    help="Follow the tasks of running processes by their PID; they go on, unharmed, when concwatch ends.\n\n"
    "A Python from 3.14 on takes the agent while it runs. An older one that has called "
    "concwatch.agent.start() lets concwatch attach, too. Every other process is seen from outside.",
)
@click.argument("pids", metavar="PID...", nargs=-1, type=PID, required=True)
@click.option("--gdb", is_flag=True, help="For development: have gdb put the agent into an older Python.")
@click.option("--outcomes", is_flag=True, help="Count how tasks end: 0.3 to 1.7 µs more for each.")
@click.option("--trace", is_flag=True, help="Trace allocations.")
@click.option("--host", type=HOST, metavar="HOST", help=ONE_HOST)
@options({name: SCREEN[name] for name in ("--record", "--recordings", "--screenshots")})
def command(
    pids: Sequence[int],
    gdb: bool,
    outcomes: bool,
    trace: bool,
    host: Host | None,
    record: str | None,
    recordings: str,
    screenshots: Path,
) -> None:
    """Attach to processes."""
    for pid in pids if host is None else ():
        problem = why_not(pid)
        if problem:
            raise click.UsageError(problem)
    check_place("concwatch watch --json")
    terminal = Place()
    from concwatch.ui.watch_app import WatchApp  # only here: the screen takes a fifth of a second

    place = Here(AgentListener()) if host is None else OtherHost(host)
    watching = Watching(place, outcomes=outcomes, trace=trace)
    try:
        for pid in dict.fromkeys(pids):
            watching.attach(pid, gdb)
        session = SessionRecording(Path(recordings), open_recorder(record, ()))
        status = terminal.run(WatchApp(watching, None, screenshots, session, terminal.theme))
    finally:
        watching.close()
    if place.problem:
        raise click.UsageError(place.problem)
    sys.exit(status)
