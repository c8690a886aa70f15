"""``concwatch watch``: run a program and follow its tasks."""

import os
import time
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from concwatch.commands.basics.console import discard_output
from concwatch.commands.basics.display import Display, check_display
from concwatch.commands.basics.exits import exit_with
from concwatch.commands.basics.hangup import GRACE
from concwatch.commands.basics.options import ONE_HOST, SCREEN, open_recorder, options
from concwatch.commands.basics.values import HOST
from concwatch.commands.watching.passing import signals_held, signals_passed_on
from concwatch.commands.watching.unattended import (
    ADVICE,
    AGENTS,
    EXPECTATIONS,
    OPTIONS,
    Unattended,
    agent_options,
)
from concwatch.commands.watching.watch_session import DRAIN, asked_for_input, watched, watched_in_background
from concwatch.hosts.host import Host
from concwatch.links.program import StartedProgram
from concwatch.ui.sources.session_recording import SessionRecording
from concwatch.web.in_page import in_page

if TYPE_CHECKING:
    from concwatch.ui.apps.watch_app import WatchApp


@click.command(
    "watch",
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
    help="Run COMMAND and watch its tasks: which coroutines they run, how many are live, which grow.\n\n"
    "COMMAND is any program, such as python app.py, uvicorn, gunicorn or pytest. Each of its Python "
    "processes (3.9 or newer) reports its tasks. Other processes are only measured from outside.\n\n"
    f"{EXPECTATIONS}",
)
@click.argument("arguments", metavar="-- COMMAND [ARG]...", nargs=-1, type=click.UNPROCESSED)
@options(OPTIONS)
@options(AGENTS)
@click.option("--keep", is_flag=True, help="Keep COMMAND running if concwatch is killed.")
@click.option("--host", type=HOST, metavar="HOST", help=ONE_HOST)
@options({name: SCREEN[name] for name in ("--record", "--recordings", "--screenshots", "--cells")})
def command(
    arguments: Sequence[str],
    keep: bool,
    host: Host | None,
    record: str | None,
    recordings: str,
    screenshots: Path,
    cells: bool,
    **others: Any,
) -> None:
    """Watch a program."""
    if not arguments:
        raise click.UsageError("no command follows --; an example is: concwatch watch -- python app.py")
    how: dict[str, Any] = {"keep": keep, "agents": agent_options(others)}
    unattended = Unattended(**others)
    unattended.check()
    if keep and host is not None:
        raise click.UsageError(
            "--keep cannot be used with --host: a program on another host ends with its connection"
        )
    if not unattended.asked:
        check_display(ADVICE)
    recorder = open_recorder(record, ())
    try:
        if not unattended.asked:
            session = SessionRecording(Path(recordings), recorder)
            status = _on_screen(arguments, host, session, screenshots, cells, **how)
        else:
            with (
                signals_held() if host is None else nullcontext() as held,
                unattended.exporters() as exporters,
                watched(arguments, host=host, output=unattended.output, held=held, **how) as found,
            ):
                status = unattended.follow(*found, recorder, exporters, held)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    exit_with(status)


def _on_screen(
    command: Sequence[str],
    host: Host | None,
    recording: SessionRecording,
    pictures: Path,
    cells: bool,
    **how: Any,
) -> int:
    """Watch a program on the screen. Return the status for `exit_with`."""
    here = host is None and not in_page()
    # Before there are threads that would get them.
    with signals_held(in_group=False) if here else nullcontext() as held:
        display = Display()  # before the program starts, which must not inherit the variables of a page
        display.picture_cells = cells
        from concwatch.ui.apps.watch_app import WatchApp  # imported late: it takes 0.2 s

        with watched_in_background(command, host=host, held=held, **how) as (watching, program, output):
            app = WatchApp(watching, output, pictures, recording, display.theme)
            if here:
                display.end = partial(_exit_with_program, app, program)
            with signals_passed_on(app.pass_on, held) if here else nullcontext():
                status = display.run(app)
    if not display.is_page:
        printed = output.stat().st_size > 0
        where = f"its output is in {output}" if printed else "it printed nothing"
        ended = "stopped" if app.stopped else program.describe_exit()
        click.echo(f"{command[0]}: {ended}; {where}")
        for lane in watching.alive:
            click.echo(f"{lane.name}: {lane.current.reason}")
        if not printed:
            output.unlink()
        elif asked_for_input(output):
            click.echo("breakpoint() has no input while the screen is shown: use --json FILE")
    return status or program.status or 0


def _exit_with_program(app: "WatchApp", program: StartedProgram, status: int) -> None:
    """Exit when the program has ended: the terminal is gone, which is SIGHUP for it, too. Called in a thread.

    The app then ends by itself, unless it is stuck in a write to the terminal.
    """
    for descriptor in (1, 2):
        discard_output(descriptor)
    app.hang_up()
    while program.status is None:
        time.sleep(GRACE)
    time.sleep(DRAIN + 2 * GRACE)
    os._exit(program.exit_status)
