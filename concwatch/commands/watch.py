"""``concwatch watch``: run a program and follow its tasks."""

import asyncio
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from concwatch.commands.display import Display, check_display
from concwatch.commands.options import ONE_HOST, SCREEN, open_recorder, options
from concwatch.commands.passing import signals_held, signals_passed_on
from concwatch.commands.signals import run_until_signal
from concwatch.commands.values import HOST, SECONDS, Parsed
from concwatch.console import print_error, print_json
from concwatch.files import why_not_writable, write_atomically
from concwatch.hosts.host import Host
from concwatch.measure.expect import COMPARISONS
from concwatch.ui.session_recording import SessionRecording
from concwatch.watch.program import Program, StartedProgram
from concwatch.watch.report import FIGURES, WatchExpectation, WatchRecord, parse_watch_expectation
from concwatch.watch.session import asked_for_input, terminate, watched, watched_in_background
from concwatch.watch.watching import HZ, Watching

if TYPE_CHECKING:
    from concwatch.recordings.recorder import Recorder

WAITS_BEFORE_END = 0.5
"""Seconds before the end of ``--seconds`` at which agents are asked where the tasks wait."""

SAVE_INTERVAL = 10.0
"""Seconds between two reports that are written while the program runs."""

WAITS_GROUPS = 10
"""The number of groups of each process for which they are asked."""


@click.command(
    "watch",
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
    help="Run COMMAND and follow its tasks: which coroutines create them, how many are live, which grow.\n\n"
    "COMMAND is any program, such as python app.py, uvicorn, gunicorn or pytest. Each of its Python "
    "processes (3.9 or newer) reports its tasks. Other processes are measured from outside only.\n\n"
    "\b\nExpectations:\n"
    f"  [GROUP.]FIGURE OP VALUE, where OP is one of {' '.join(COMPARISONS)}, GROUP is the name of a\n"
    "  coroutine function, and FIGURE is one of:\n"
    f"    {', '.join(list(FIGURES)[:9])},\n    {', '.join(list(FIGURES)[9:])}",
)
@click.argument("arguments", metavar="-- COMMAND [ARG]...", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--json",
    metavar="FILE|-",
    help="Show no screen and write one JSON object to FILE. With -, print it on standard output; the output "
    "of COMMAND then goes to standard error.",
)
@click.option("--seconds", type=SECONDS, metavar="S", help="With --json: end COMMAND after S seconds.")
@click.option("--outcomes", is_flag=True, help="Count how tasks end. Costs 0.3 to 1.7 µs a task.")
@click.option("--trace", is_flag=True, help="Trace allocations (tracemalloc).")
@click.option("--keep", is_flag=True, help="Keep COMMAND running if concwatch is killed.")
@click.option(
    "--expect",
    type=Parsed("expectation", parse_watch_expectation),
    multiple=True,
    metavar="EXPECTATION",
    help='With --json: exit with status 1 unless this holds, such as "left_over <= 0". Can be repeated.',
)
@click.option("--host", type=HOST, metavar="HOST", help=ONE_HOST)
@options({name: SCREEN[name] for name in ("--record", "--recordings", "--screenshots", "--cells")})
def command(
    arguments: Sequence[str],
    json: str | None,
    seconds: float | None,
    outcomes: bool,
    trace: bool,
    keep: bool,
    expect: Sequence[WatchExpectation],
    host: Host | None,
    record: str | None,
    recordings: str,
    screenshots: Path,
    cells: bool,
) -> None:
    """Watch a program."""
    if not arguments:
        raise click.UsageError("no COMMAND: expected one after --, such as: concwatch watch -- python app.py")
    problem = why_not_writable(Path(json)) if json not in (None, "-") else None
    if problem:
        raise click.UsageError(f"--json: {json}: {problem}: expected a file that can be written, or -")
    if keep and host is not None:
        raise click.UsageError(
            "--keep cannot be used with --host: a program on another host ends with its connection"
        )
    if json is None:
        _check_screen_options()
        check_display("concwatch watch --json")
    recorder = open_recorder(record, ())
    try:
        if json is None:
            session = SessionRecording(Path(recordings), recorder)
            status = _on_screen(
                arguments, host, session, screenshots, cells, keep=keep, outcomes=outcomes, trace=trace
            )
        else:
            output = sys.stderr.fileno() if json == "-" else None
            how = {"keep": keep, "outcomes": outcomes, "trace": trace}
            with (
                signals_held() if host is None else nullcontext(()) as held,
                watched(arguments, host=host, output=output, unblock=held, **how) as found,
            ):
                status = _without_screen(*found, seconds, json, expect, recorder)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    sys.exit(status)


def _check_screen_options() -> None:
    """Raise a click.UsageError for an option on the command line that has no effect on the screen."""
    context = click.get_current_context()
    for name in ("seconds", "expect"):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} has no effect on the screen: expected --json FILE with it")


def _on_screen(
    command: Sequence[str],
    host: Host | None,
    recording: SessionRecording,
    pictures: Path,
    cells: bool,
    **how: bool,
) -> int:
    """Watch a program on the screen. Return the exit status."""
    display = Display()  # before the program starts, which must not inherit the variables of a page
    display.picture_cells = cells
    from concwatch.ui.watch_app import WatchApp  # imported late: it takes 0.2 s

    with watched_in_background(command, host=host, **how) as (watching, program, output):
        status = display.run(WatchApp(watching, output, pictures, recording, display.theme))
    if not display.is_page:
        printed = output.stat().st_size > 0
        where = f"its output is in {output}" if printed else "it printed nothing"
        click.echo(f"{command[0]}: {program.describe_exit()}; {where}")
        for lane in watching.alive:
            click.echo(f"{lane.name}: {lane.reason}")
        if not printed:
            output.unlink()
        elif asked_for_input(output):
            click.echo("breakpoint() has no input behind the screen; --json FILE leaves it the terminal")
    return status or program.exit_status


def _without_screen(
    watching: Watching,
    program: StartedProgram,
    seconds: float | None,
    json: str,
    expect: Sequence[WatchExpectation],
    recorder: "Recorder | None",
) -> int:
    """Watch a program until it ends and write the report. Return the exit status."""
    record = WatchRecord(watching)
    if recorder is not None:
        recorder.observe(watching)

    def save() -> None:
        """Write the report so far, of which little is lost if concwatch is killed."""
        if json != "-":
            _write(json, record.as_json(program.command, None, watching.clock() - watching.began))

    stopped = 0
    if isinstance(program, Program):
        with signals_passed_on(program.send_signal):
            asyncio.run(_follow(watching, program, seconds, save))
            terminate(watching, program)
    else:
        _, stopped = run_until_signal(_follow(watching, program, seconds, save))
    if watching.host.problem and not watching.lanes:
        raise ValueError(watching.host.problem)
    if recorder is not None:
        recorder.stop("done")
        if recorder.problem:
            print_error(recorder.problem)
    report = record.as_json(program.command, program.exit_status, watching.clock() - watching.began)
    verdicts = [expectation.judge(report) for expectation in expect]
    if expect:
        report["expectations"] = [verdict.as_json() for verdict in verdicts]
    if json == "-":
        print_json(report)
    else:
        _write(json, report)
    for verdict in verdicts:
        if not verdict.holds:
            print_error(verdict.sentence())
    failed = not all(verdict.holds for verdict in verdicts)
    return 128 + stopped if stopped else int(failed) or program.exit_status


def _write(file: str, report: Mapping[str, Any]) -> None:
    from json import dumps  # imported late: the screen does not need it

    write_atomically(Path(file), dumps(report, indent=2) + "\n")


async def _follow(
    watching: Watching, program: StartedProgram, seconds: float | None, save: Callable[[], None]
) -> None:
    """Follow a program until it ends, or for ``seconds``; save the report every `SAVE_INTERVAL`."""
    save_due = watching.began + SAVE_INTERVAL
    ends = math.inf if seconds is None else watching.began + seconds
    requested = False
    try:
        while program.status is None and watching.clock() < ends:
            watching.step()
            if not requested and watching.clock() >= ends - WAITS_BEFORE_END:
                requested = True
                watching.request_waits(WAITS_GROUPS)
            if watching.clock() >= save_due:
                save_due = watching.clock() + SAVE_INTERVAL
                save()
            await asyncio.sleep(1 / HZ)
    finally:
        await watching.host.finish()
        watching.step()
