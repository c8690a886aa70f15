"""``concwatch run``: measure without a screen."""

import signal
import sys
import textwrap
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from concwatch.commands import completion
from concwatch.commands.chart import check_chart, print_charts
from concwatch.commands.options import (
    CLUSTER_OPTION,
    HOST_OPTION,
    connect,
    max_memory,
    new_lab,
    on_hosts,
    open_recorder,
    record,
)
from concwatch.commands.progress import ProgressLine
from concwatch.commands.run_table import print_table, print_verdicts
from concwatch.commands.signals import run_until_signal
from concwatch.commands.values import COUNTS, MODE, REPEATS, SECONDS, THREADS, WORKLOAD, Parsed
from concwatch.console import print_error, print_json, print_note
from concwatch.hosts.host import Host
from concwatch.lab.catalog import CATALOG, Engine, find
from concwatch.lab.forecast import why_too_many
from concwatch.lab.settings import Settings
from concwatch.measure.expect import (
    COMPARISONS,
    EXPECTABLE,
    Expectation,
    about_engines,
    expected_of,
    judge,
    read_expectation,
)
from concwatch.measure.run import Session
from concwatch.measure.units import KINDS, Unit
from concwatch.worker.collector import MODES
from concwatch.worker.workloads import FORMS

if TYPE_CHECKING:
    from concwatch.lab.lab import Lab
    from concwatch.recordings.recorder import Recorder

RUN_HELP = "\n".join(f"  {form:22} {what}" for form, what, _ in FORMS.values())


def _figures(unit: Unit) -> str:
    names = ", ".join(name for name, figure in EXPECTABLE.items() if figure.unit is unit)
    return textwrap.indent(textwrap.fill(names, 72), "    ")


EXPECT_HELP = "\n".join(
    [
        f"  ENGINE.FIGURE OP VALUE, where OP is one of {' '.join(COMPARISONS)}, and FIGURE is,",
        *(f"  in {unit.name} ({unit.example}):\n{_figures(unit)}" for unit in KINDS),
        "  What each means: concwatch figures. failed <= 0 and peak_live >= the tasks are always expected,",
        "  unless something else is expected of the same figure.",
    ]
)


@click.command(
    "run",
    help="Measure ENGINE… without a screen: a progress line on standard error, a table at the end.\n\n"
    "Each engine runs alone in a fresh worker, unless --together. Needs --tasks, and no terminal.\n\n"
    "\b\nWorkloads:\n"
    + RUN_HELP
    + "\n  module:function        your own; async def for event loops, def for threads"
    "\n\n\b\nExpectations:\n" + EXPECT_HELP,
)
@click.argument("names", metavar="ENGINE...", nargs=-1, shell_complete=completion.words(completion.engines))
@click.option(
    "--tasks",
    type=COUNTS,
    required=True,
    help='How many, such as "10000", "10k", "1M"; several sizes one after another: "1k,10k,100k".',
)
@click.option(
    "--repeats",
    type=REPEATS,
    default="1",
    help="Measure each so often: the median, with its spread and 95 % interval.",
)
@click.option("--workload", type=WORKLOAD, default="sleep:10", help="What each does.")
@click.option("--seconds", type=SECONDS, default="3", help="How long to hold them.")
@click.option("--refill/--no-refill", default=True, help="Replace tasks that end.")
@click.option("--trace/--no-trace", default=False, help="Trace allocations: about twice the RSS.")
@click.option(
    "--gc",
    type=MODE,
    default="default",
    metavar="|".join(MODES),
    help="Garbage collector: as it is; frozen after each slice of growth; off.",
)
@click.option("--pool-threads", type=THREADS, show_default="Python's own", help="Threads of the pool.")
@click.option("--together", is_flag=True, help="All engines at the same time.")
@HOST_OPTION
@CLUSTER_OPTION
@max_memory
@click.option(
    "--force",
    is_flag=True,
    help="Start also what will not fit by the forecast. Growth stops at the wall all the same.",
)
@click.option(
    "--expect",
    type=Parsed("expectation", read_expectation, completion.expectations),
    multiple=True,
    help='Exit with status 1 unless it holds: ENGINE.FIGURE OP VALUE, such as "asyncio.rss_per_task < 2KiB". '
    "Can be repeated.",
)
@record
@click.option("--json", is_flag=True, help="One JSON object on standard output in place of the table.")
@click.option("--chart", is_flag=True, help="Below the table, its figures over time as charts in plain text.")
def command(
    names: Sequence[str],
    tasks: tuple[int, ...],
    repeats: int,
    seconds: float,
    pool_threads: int | None,
    together: bool,
    host: tuple[Host | None, ...],
    cluster: str | None,
    max_memory: int | None,
    force: bool,
    expect: Sequence[Expectation],
    record: str | None,
    json: bool,
    chart: bool,
    **workload: Any,
) -> None:
    """Measure engines without a screen."""
    settings = Settings(threads=pool_threads, **workload)
    try:
        kinds = _engines(names)
        if 0 in tasks:
            raise ValueError("--tasks 0: nothing to measure: expected 1 task or more")
        expect = about_engines(expect, names)
        if chart:
            check_chart(json)
        engines = on_hosts(kinds, connect(host, cluster)[0])
        why_not = None if force else why_too_many(engines, settings, max(tasks), together, max_memory)
        if why_not:
            raise ValueError(why_not)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    recorder = open_recorder(record, engines)
    session = Session(engines, tasks, seconds, repeats, together)
    labs, stopped = _measure(session, settings, max_memory, recorder)
    if stopped and (stopped != signal.SIGINT or not session.rows):
        sys.exit(128 + stopped)  # nobody is there to read
    lost = recorder.problem if recorder is not None else ""
    _print_problems(session, lost)
    expected, verdicts = partial(expected_of, expect), judge(expect, session.rows)
    if json:
        found = session.as_json(settings.workload, expected)
        expectations = [verdict.as_json() for verdict in verdicts]
        print_json({**found, "interrupted": bool(stopped), "expect": expectations})
    else:
        print_table(session.rows, expected)
        print_verdicts(verdicts)
    if chart:
        print_charts(labs)
    if stopped:
        sys.exit(128 + stopped)
    held = all(row.holds(expected(row.own_name)) for row in session.rows)
    sys.exit(int(not held or bool(lost) or not all(verdict.holds for verdict in verdicts)))


def _engines(names: Sequence[str]) -> Sequence[Engine]:
    """Return the engines of these names.

    Raises:
        ValueError: one line that says what was expected.
    """
    if not names:
        raise ValueError(f"no ENGINE: expected one or more of {', '.join(row.name for row in CATALOG)}")
    engines = find(names)
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name} twice: expected each engine once; --repeats measures it more often")
    return engines


def _measure(
    session: Session, settings: Settings, budget: int | None, recorder: "Recorder | None"
) -> "tuple[list[Lab], int]":
    """Run a session; return its labs, and the number of the signal that ended it, or 0."""
    labs: list[Lab] = []
    line = ProgressLine()
    why = "broke off"

    def make_lab(engines: Sequence[Engine]) -> "Lab":
        lab = new_lab(engines, settings=settings, budget=budget)
        labs.append(lab)
        if recorder is not None:
            recorder.observe(lab)
        return lab

    try:
        _, stopped = run_until_signal(session.run(make_lab, line.show))
        why = f"ended by {signal.Signals(stopped).name}" if stopped else "done"
    except ValueError as error:  # the system would not start what serves the page of the workload http
        raise click.ClickException(str(error)) from None
    finally:
        if recorder is not None:
            recorder.stop(why)
    line.clear()
    return labs, stopped


def _print_problems(session: Session, lost: str) -> None:
    """Print what went wrong meanwhile, and what is ``lost`` of the recording.

    Raises:
        click.UsageError: no engine could run the workload.
    """
    reasons = [next(iter(row.problems().values()), "") for row in session.rows]
    if all(reason.startswith("workload ") for reason in reasons):
        raise click.UsageError(reasons[0])
    for event in session.events:
        if event.severity != "info":
            print_note(f"{event.lane or 'concwatch'}: {event.text}")
    if lost not in ("", *(event.text for event in session.events)):
        print_error(lost)
