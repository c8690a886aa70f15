"""``concwatch run``: measure engines without a screen."""

import signal
import sys
import textwrap
from collections.abc import Sequence
from functools import partial
from typing import Any

import click

from concwatch.commands.basics import completion
from concwatch.commands.basics.console import print_json
from concwatch.commands.basics.exits import exit_with
from concwatch.commands.basics.lab import measure_costs
from concwatch.commands.basics.options import (
    arguments,
    cluster_option,
    connect_hosts,
    engines_on_hosts,
    host_option,
    make_settings,
    max_memory,
    open_recorder,
    record,
)
from concwatch.commands.basics.values import (
    COUNTS,
    MODE,
    REPEATS,
    SECONDS,
    THREADS,
    WORKLOAD,
    Described,
    Parsed,
)
from concwatch.commands.measuring.anatomy_table import print_anatomy
from concwatch.commands.measuring.chart import check_chart, print_charts
from concwatch.commands.measuring.measuring_session import print_warnings, run_session
from concwatch.commands.measuring.run_table import print_table, print_verdicts
from concwatch.hosts.host import Host
from concwatch.measure.expect import (
    COMPARISONS,
    EXPECTABLE,
    Expectation,
    expected_metrics,
    judge,
    parse_expectation,
    with_run_names,
)
from concwatch.measure.run import RunSession
from concwatch.monitor.lanes.forecast import why_too_many
from concwatch.monitor.metrics.settings import UNTIL_STOPPED, Settings
from concwatch.monitor.metrics.unit import UNITS, Unit
from concwatch.monitor.workers.catalog import CATALOG, Engine, find_engines
from concwatch.portable.machine.limits import system_limits
from concwatch.portable.protocol.workloads import FORMS
from concwatch.portable.worker.collector import MODES
from concwatch.system.memory import MemoryBudget

WORKLOADS_HELP = "\n".join(f"  {form.syntax:22} {form.what}" for form in FORMS.values())


def _metrics(unit: Unit) -> str:
    names = ", ".join(name for name, metric in EXPECTABLE.items() if metric.unit is unit)
    return textwrap.indent(textwrap.fill(names, 72), "    ")


EXPECT_HELP = "\n".join(
    [
        f"  ENGINE.METRIC OP VALUE, where OP is one of {' '.join(COMPARISONS)}, and METRIC is one of",
        *(f"  {unit.name} ({unit.example}):\n{_metrics(unit)}" for unit in UNITS),
        "  concwatch metrics explains each. failed <= 0 and peak_live >= --tasks are always expected,",
        "  unless you set another expectation for the same metric.",
    ]
)


@click.command(
    "run",
    help="Measure each ENGINE without a screen. Prints progress on standard error, then a table.\n\n"
    "Each engine runs alone in a fresh worker unless --together is given. Needs --tasks.\n\n"
    "\b\nWorkloads:\n"
    + WORKLOADS_HELP
    + "\n  module:function        your own: async def for event loops, def for threads. One that yields is a"
    "\n                         set-up: each worker runs it once; what it yields is what each task calls"
    "\n\n\b\nExpectations:\n" + EXPECT_HELP,
)
@click.argument(
    "names", metavar="ENGINE...", nargs=-1, shell_complete=completion.completer(completion.engine_names)
)
@click.option(
    "--tasks",
    type=COUNTS,
    required=True,
    help='Number of tasks, such as "10000", "10k" or "1M"; or several sizes to measure one after another, '
    'such as "1k,10k,100k". With several hosts, each of them holds this many.',
)
@click.option(
    "--repeats",
    type=REPEATS,
    default="1",
    help="Runs of each size; with more than one, the median, spread and 95 % interval are printed.",
)
@click.option(
    "--workload",
    type=WORKLOAD,
    default=UNTIL_STOPPED,
    help="What each task does; without a time, it sleeps until the end of the run.",
)
@arguments
@click.option("--seconds", type=SECONDS, default="3", help="How long to hold the tasks.")
@click.option("--refill/--no-refill", default=True, help="Replace tasks that end.")
@click.option("--trace/--no-trace", default=False, help="Trace allocations: about twice the RSS.")
@click.option(
    "--gc",
    type=MODE,
    default="default",
    metavar="|".join(MODES),
    help="Garbage collector: Python's default, frozen after each slice of new tasks, or off.",
)
@click.option(
    "--pool-threads",
    type=THREADS,
    cls=Described,
    show_default="Python's own",
    help="Number of threads in the pool.",
)
@click.option(
    "--anatomy",
    is_flag=True,
    help="While the tasks are held, look at what the memory of one consists of: objects, stack, kernel.",
)
@click.option("--together", is_flag=True, help="Measure all engines at the same time.")
@host_option
@cluster_option
@max_memory
@click.option(
    "--force",
    is_flag=True,
    help="Start even if the forecast says that the tasks will not fit. Growth still stops at the limit.",
)
@click.option(
    "--expect",
    type=Parsed("expectation", parse_expectation, completion.expectations),
    multiple=True,
    help="Exit with status 1 unless this holds: ENGINE.METRIC OP VALUE, such as "
    '"asyncio.rss_per_task < 2KiB". Can be repeated.',
)
@record
@click.option("--json", is_flag=True, help="Print one JSON object instead of the table.")
@click.option(
    "--chart", is_flag=True, help="Below the table, print the figures over time as plain text charts."
)
def command(
    names: Sequence[str],
    tasks: tuple[int, ...],
    repeats: int,
    seconds: float,
    pool_threads: int | None,
    anatomy: bool,
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
    settings = make_settings(threads=pool_threads, **workload)
    try:
        kinds = _engines(names)
        if 0 in tasks:
            raise ValueError("--tasks 0 leaves nothing to measure; ask for at least 1 task")
        expect = with_run_names(expect, names)
        if chart:
            check_chart(json)
        engines = engines_on_hosts(kinds, connect_hosts(host, cluster)[0])
        why_not = None if force else _why_too_many(engines, settings, max(tasks), together, max_memory)
        if why_not:
            raise ValueError(f"{why_not}, or use --force to start as many as fit")
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    recorder = open_recorder(record, engines)
    session = RunSession(engines, tasks, seconds, repeats, together, anatomy)
    labs, stopped = run_session(session, settings, max_memory, recorder)
    if stopped and (stopped != signal.SIGINT or not session.rows):
        exit_with(-stopped)  # nothing was measured, or no reader is left
    recording_error = recorder.problem if recorder is not None else ""
    _print_problems(session, recording_error)
    expected, verdicts = partial(expected_metrics, expect), judge(expect, session.rows)
    if json:
        found = session.as_json(settings.workload, expected)
        expectations = [verdict.as_json() for verdict in verdicts]
        rest = {"arguments": settings.arguments, "interrupted": bool(stopped), "expect": expectations}
        print_json({**found, **rest})
    else:
        print_table(session.rows, expected)
        for row in session.rows if anatomy else ():
            print_anatomy(row)
        print_verdicts(verdicts)
    if chart:
        print_charts(labs)
    if stopped:
        exit_with(-stopped)
    ok = all(row.holds(expected(row.own_name)) for row in session.rows)
    sys.exit(int(not ok or bool(recording_error) or not all(verdict.holds for verdict in verdicts)))


def _why_too_many(
    engines: Sequence[Engine], settings: Settings, tasks: int, together: bool, budget: int | None
) -> str | None:
    """Return in one line why so many tasks do not fit, given what one is measured to cost; else None."""
    if why_too_many(engines, settings, tasks, together, budget) is None:
        return None
    trials = measure_costs(engines, settings, MemoryBudget(budget).size, system_limits(), build=True)
    return why_too_many(engines, settings, tasks, together, budget, trials=trials)


def _engines(names: Sequence[str]) -> Sequence[Engine]:
    """Return the engines with these names.

    Raises:
        ValueError: one line that says what was expected.
    """
    if not names:
        raise ValueError(f"name one or more engines: {', '.join(row.name for row in CATALOG)}")
    engines = find_engines(names)
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name} is named twice; use --repeats to measure it again")
    return engines


def _print_problems(session: RunSession, recording_error: str) -> None:
    """Print the warnings and errors of a session, and of its recording.

    Raises:
        click.UsageError: no engine could run the workload.
    """
    reasons = [next(iter(row.problems().values()), "") for row in session.rows]
    if all(reason.startswith("workload ") for reason in reasons):
        raise click.UsageError(reasons[0])
    print_warnings(session.events, recording_error)
