"""``concwatch run``: measure without a screen."""

import signal
import sys
import textwrap
from collections.abc import Sequence

import click

from concwatch.commands.chart import check_chart, print_charts
from concwatch.commands.options import COUNT, MODE, SECONDS, THREADS, WORKLOAD, max_memory, one_line
from concwatch.commands.record import open_recorder, record
from concwatch.commands.signals import run_until_signal
from concwatch.commands.telling import say_error, say_json
from concwatch.commands.usual import UsualOption
from concwatch.lab.catalog import CATALOG, Engine, find
from concwatch.lab.expect import (
    COMPARISONS,
    FIGURES,
    UNITS,
    Expectation,
    Unit,
    about_engines,
    judge,
    read_expectation,
)
from concwatch.lab.lab import Lab
from concwatch.lab.room import why_too_many
from concwatch.lab.run import Plan, as_json, run
from concwatch.lab.settings import Settings
from concwatch.printing import ProgressLine, print_table, print_verdicts, tell
from concwatch.worker.collector import MODES
from concwatch.worker.workloads import FORMS

RUN_HELP = "\n".join(f"  {form:22} {what}" for form, what, _ in FORMS.values())


def _figures(unit: Unit) -> str:
    names = ", ".join(name for name, own in FIGURES.items() if own is unit)
    return textwrap.indent(textwrap.fill(names, 72), "    ")


EXPECT_HELP = "\n".join(
    [
        f"  ENGINE.FIGURE OP VALUE, where OP is one of {' '.join(COMPARISONS)}, and FIGURE is,",
        *(f"  in {what} ({unit.example}):\n{_figures(unit)}" for what, unit in UNITS.items()),
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
@click.argument("names", metavar="ENGINE...", nargs=-1)
@click.option(
    "--tasks", type=COUNT, required=True, metavar="N", help='How many, such as "10000", "10k", "1M".'
)
@click.option(
    "--workload", type=WORKLOAD, default="sleep:10", show_default=True, metavar="W", help="What each does."
)
@click.option(
    "--seconds", type=SECONDS, default="3", show_default=True, metavar="S", help="How long to hold them."
)
@click.option("--refill/--no-refill", default=True, show_default=True, help="Replace tasks that end.")
@click.option(
    "--trace/--no-trace", default=False, show_default=True, help="Trace allocations: about twice the RSS."
)
@click.option(
    "--gc",
    "gc_mode",
    type=MODE,
    default="default",
    show_default=True,
    metavar="|".join(MODES),
    help="Garbage collector: as it is; frozen after each slice of growth; off.",
)
@click.option(
    "--pool-threads",
    type=THREADS,
    metavar="N",
    cls=UsualOption,
    usual="Python's own",
    help="Threads of the pool.",
)
@click.option("--together", is_flag=True, help="All engines at the same time.")
@max_memory
@click.option(
    "--force",
    is_flag=True,
    help="Start also what will not fit by the forecast. Growth stops at the wall all the same.",
)
@click.option(
    "--expect",
    type=one_line(read_expectation),
    multiple=True,
    metavar="EXPECTATION",
    help='Exit with status 1 unless it holds: ENGINE.FIGURE OP VALUE, such as "asyncio.rss_per_task < 2KiB". '
    "Can be repeated.",
)
@record
@click.option(
    "--json", "as_json_", is_flag=True, help="One JSON object on standard output in place of the table."
)
@click.option("--chart", is_flag=True, help="Below the table, its figures over time as charts in plain text.")
def command(
    names: Sequence[str],
    tasks: int,
    workload: str,
    seconds: float,
    refill: bool,
    trace: bool,
    gc_mode: str,
    pool_threads: int | None,
    together: bool,
    max_memory: int | None,
    force: bool,
    expect: Sequence[Expectation],
    record: str | None,
    as_json_: bool,
    chart: bool,
) -> None:
    """Measure engines without a screen."""
    try:
        if not names:
            raise ValueError(f"no ENGINE: expected one or more of {', '.join(row.name for row in CATALOG)}")
        engines = find(names)
        expect = about_engines(expect, [engine.name for engine in engines])
        if chart:
            check_chart(as_json_)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    settings = Settings(workload, refill, trace, gc_mode, pool_threads)
    why_not = None if force else why_too_many(engines, settings, tasks, together, max_memory)
    if why_not:
        raise click.UsageError(why_not)
    line = ProgressLine()
    recorder = open_recorder(record, engines)
    labs: list[Lab] = []

    def make_lab(group: Sequence[Engine]) -> Lab:
        lab = Lab(group, settings=settings, budget=max_memory)
        labs.append(lab)
        if recorder is not None:
            recorder.follow(lab)
        return lab

    why = "broke off"
    try:
        done, stopped = run_until_signal(run(make_lab, engines, Plan(tasks, seconds), together, line.show))
        why = f"ended by {signal.Signals(stopped).name}" if stopped else "done"
    except ValueError as error:  # the system would not start what serves the page of the workload http
        raise click.ClickException(str(error)) from None
    finally:
        if recorder is not None:
            recorder.stop(why)
    line.clear()
    if done is None:
        sys.exit(128 + stopped)
    results, events = done
    refused = [result.reason for result in results if (result.reason or "").startswith("workload ")]
    if len(refused) == len(results):
        raise click.UsageError(str(refused[0]))
    for event in events:
        if event.weight != "info":
            tell(f"{event.lane or 'concwatch'}: {event.text}")
    if recorder is not None and recorder.problem not in ("", *(event.text for event in events)):
        say_error(recorder.problem)
    verdicts = judge(expect, results)
    if as_json_:
        say_json({**as_json(results, workload), "expect": [verdict.as_json() for verdict in verdicts]})
    else:
        print_table(results)
        print_verdicts(verdicts)
    if chart:
        print_charts(labs)
    failed = any(result.state == "failed" for result in results)
    lost = recorder is not None and recorder.problem != ""
    sys.exit(int(failed or lost or not all(verdict.holds for verdict in verdicts)))
