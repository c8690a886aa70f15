"""``concwatch flame``: find where the CPU time of a running process goes."""

import asyncio
from pathlib import Path

import click

from concwatch.charts.flame_graph import FlameGraph, flame_graph
from concwatch.charts.painters.flame_svg import draw_flame_graph
from concwatch.commands.basics.console import print_error
from concwatch.commands.basics.options import ONE_HOST
from concwatch.commands.basics.signals import run_until_signal
from concwatch.commands.basics.values import HOST, OUTPUT, PID, STANDARD_OUTPUT, Parsed, number_parser
from concwatch.commands.watching.attach import attach_to, check_pids
from concwatch.hosts.host import Host
from concwatch.monitor.processes.profiling import COMMAND, MAX_SECONDS, SECONDS
from concwatch.monitor.processes.watched import WatchedProcess
from concwatch.monitor.watching.watching import HZ, Watching
from concwatch.system.files import write_atomically

SVG = ".svg"

DURATION = Parsed(
    "s",
    number_parser(0.1, MAX_SECONDS, f"not a time; expected seconds from 0.1 to {MAX_SECONDS:.0f}"),
)


@click.command("flame")
@click.argument("pid", type=PID)
@click.option(
    "--seconds", type=DURATION, default=f"{SECONDS:g}", help="Sample the stacks for S seconds.", metavar="S"
)
@click.option(
    "--out",
    type=OUTPUT,
    default=STANDARD_OUTPUT,
    metavar="FILE.svg|FILE|-",
    help="Write a flame graph as SVG, or, to a file with any other name, folded stacks.",
)
@click.option("--yes", is_flag=True, help="Let gdb load the agent into Python before 3.14 without asking.")
@click.option("--host", type=HOST, metavar="HOST", help=ONE_HOST)
def command(pid: int, seconds: float, out: str, yes: bool, host: Host | None) -> None:
    """Find where the CPU time of a running Python process goes.

    Samples the stacks of its threads, and writes folded stacks, whose unit is a microsecond of CPU time, or a
    flame graph. On the screen of watch and attach, F shows it. Linux only.
    """
    check_pids([pid], host)
    watching = attach_to([pid], yes, host)
    try:
        graph, stopped = run_until_signal(_profile(watching, pid, seconds))
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    finally:
        watching.close()
    if graph is None:
        raise click.exceptions.Exit(128 + stopped)
    text = draw_flame_graph(graph) if out.endswith(SVG) else graph.folded()
    if out == STANDARD_OUTPUT:
        click.echo(text, nl=False)
    else:
        write_atomically(Path(out), text)
    print_error(f"{graph.name}: {graph.subtitle}")


async def _profile(watching: Watching, pid: int, seconds: float) -> FlameGraph:
    """Return the flame graph of a process.

    Raises:
        ValueError: there is none; the message is one line.
    """
    try:
        while True:
            watching.step()
            lane = next((lane for lane in watching.lanes if lane.pid == pid), None)
            if lane is not None:
                _start(lane, watching.clock(), seconds)
                if lane.agent.profiling.profile is not None:
                    return flame_graph(lane.name, lane.agent.profiling.profile)
            if watching.host.problem:
                raise ValueError(watching.host.problem)
            await asyncio.sleep(1 / HZ)
    finally:
        await watching.host.finish()


def _start(lane: WatchedProcess, now: float, seconds: float) -> None:
    """Ask for the profile once there is an agent; raise a ValueError, in one line, if there will be none."""
    profiling, ready = lane.agent.profiling, lane.current.ready
    problem = profiling.problem or (
        "" if lane.alive and lane.current.how != "outside" else lane.current.reason
    )
    if problem:
        raise ValueError(f"{lane.name}: {problem}")
    if ready is not None and COMMAND not in ready.can:
        raise ValueError(f"the agent of {lane.name} is of an older version, which does not sample stacks")
    if ready is not None and profiling.profile is None:
        profiling.start(now, seconds)
        profiling.left(now)
