"""``concwatch watch``: follow the tasks of a program of one's own."""

import asyncio
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from concwatch.commands.options import ONE_HOST, SCREEN, open_recorder, options
from concwatch.commands.place import Place, check_place
from concwatch.commands.signals import run_until_signal
from concwatch.commands.values import HOST, SECONDS, Parsed
from concwatch.console import print_error, print_json
from concwatch.files import why_not_writable, write_atomically
from concwatch.hosts.host import Host
from concwatch.measure.expect import COMPARISONS
from concwatch.ui.session_recording import SessionRecording
from concwatch.watch.place import Started
from concwatch.watch.program import Program
from concwatch.watch.report import FIGURES, WatchExpectation, WatchRecord, read_watch_expectation
from concwatch.watch.session import end, watched, watched_apart
from concwatch.watch.watching import HZ, Watching

if TYPE_CHECKING:
    from concwatch.recordings.recorder import Recorder

BEFORE_END = 0.5
"""Seconds before the end of ``--seconds`` at which agents are asked where tasks wait."""

LARGEST = 10
"""Groups of each process of which that is asked."""


@click.command(
    "watch",
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
    help="Run COMMAND and follow its tasks: which coroutines create them, how many live, which grow.\n\n"
    "COMMAND is any program of yours, such as python app.py, uvicorn, gunicorn or pytest. Each Python "
    "process of it, 3.9 or newer, reports by itself; others are seen from outside.\n\n"
    "\b\nExpectations:\n"
    f"  [GROUP.]FIGURE OP VALUE, where OP is one of {' '.join(COMPARISONS)}, GROUP the name of a coroutine\n"
    "  function, and FIGURE one of:\n"
    f"    {', '.join(list(FIGURES)[:9])},\n    {', '.join(list(FIGURES)[9:])}",
)
@click.argument("arguments", metavar="-- COMMAND [ARG]...", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--json",
    metavar="FILE|-",
    help="No screen: write one JSON object into FILE; with -, on standard output, and the program's goes to "
    "standard error.",
)
@click.option("--seconds", type=SECONDS, metavar="S", help="End the program after so long.")
@click.option("--outcomes", is_flag=True, help="Count how tasks end: 0.3 to 1.7 µs more for each.")
@click.option("--trace", is_flag=True, help="Trace allocations.")
@click.option("--keep", is_flag=True, help="Let the program live on when concwatch is killed.")
@click.option(
    "--expect",
    type=Parsed("expectation", read_watch_expectation),
    multiple=True,
    metavar="EXPECTATION",
    help='Exit with status 1 unless it holds, such as "live_at_end <= 0". Can be repeated.',
)
@click.option("--host", type=HOST, metavar="HOST", help=ONE_HOST)
@options({name: SCREEN[name] for name in ("--record", "--recordings", "--screenshots")})
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
) -> None:
    """Watch a program."""
    if not arguments:
        raise click.UsageError("no command: expected one after --, such as: concwatch watch -- python app.py")
    problem = why_not_writable(Path(json)) if json not in (None, "-") else None
    if problem:
        raise click.UsageError(f"--json: {json}: {problem}: expected the name of a file, or -")
    if keep and host is not None:
        raise click.UsageError(
            "--keep: a program on another host ends with its connection: expected no --host"
        )
    if json is None:
        check_place("concwatch watch --json")
    recorder = open_recorder(record, ())
    try:
        if json is None:
            session = SessionRecording(Path(recordings), recorder)
            status = _on_screen(
                arguments, host, session, screenshots, keep=keep, outcomes=outcomes, trace=trace
            )
        else:
            output = sys.stderr.fileno() if json == "-" else None
            how = {"keep": keep, "outcomes": outcomes, "trace": trace}
            with watched(arguments, host=host, output=output, **how) as found:
                status = _without_screen(*found, seconds, json, expect, recorder)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    sys.exit(status)


def _on_screen(
    command: Sequence[str], host: Host | None, recording: SessionRecording, pictures: Path, **how: bool
) -> int:
    """Watch a program on the screen; return the exit status."""
    place = Place()  # before the program starts: what it says of a page is not for that
    from concwatch.ui.watch_app import WatchApp  # only here: the screen takes a fifth of a second

    with watched_apart(command, host=host, **how) as (watching, program, output):
        status = place.run(WatchApp(watching, output, pictures, recording, place.theme))
    if not place.page:
        click.echo(f"{command[0]}: {program.how_it_ended()}; what it wrote is in {output}")
    return status


def _without_screen(
    watching: Watching,
    program: Started,
    seconds: float | None,
    json: str,
    expect: Sequence[WatchExpectation],
    recorder: "Recorder | None",
) -> int:
    """Watch a program to its end, and write what became of it; return the exit status."""
    record = WatchRecord(watching)
    if recorder is not None:
        recorder.observe(watching)
    _, stopped = run_until_signal(_follow(watching, program, seconds))
    if isinstance(program, Program):
        end(watching, program)
    if watching.place.problem and not watching.lanes:
        raise ValueError(watching.place.problem)
    if recorder is not None:
        recorder.stop("done")
        if recorder.problem:
            print_error(recorder.problem)
    report = record.as_json(program.command, program.exit_status, watching.clock() - watching.began)
    verdicts = [wanted.judge(report) for wanted in expect]
    if expect:
        report["expectations"] = [verdict.as_json() for verdict in verdicts]
    if json == "-":
        print_json(report)
    else:
        write_json(Path(json), report)
    for verdict in verdicts:
        if not verdict.holds:
            print_error(verdict.sentence())
    failed = not all(verdict.holds for verdict in verdicts)
    return 128 + stopped if stopped else int(failed) or program.exit_status


def write_json(path: Path, report: object) -> None:
    """Write a report into a file."""
    import json  # only here: the screen has no use for it

    write_atomically(path, json.dumps(report, indent=2) + "\n")


async def _follow(watching: Watching, program: Started, seconds: float | None) -> None:
    """Follow a program until it ends, or for so long."""
    ends = math.inf if seconds is None else watching.began + seconds
    asked = False
    try:
        while program.status is None and watching.clock() < ends:
            watching.step()
            if not asked and watching.clock() >= ends - BEFORE_END:
                asked = True
                watching.ask_where(LARGEST)
            await asyncio.sleep(1 / HZ)
    finally:
        await watching.place.finish()
        watching.step()
