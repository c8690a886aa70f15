"""``concwatch sweep``: find how many tasks at once are enough."""

import sys
from collections.abc import Sequence
from typing import Any

import click

from concwatch.commands.basics import completion
from concwatch.commands.basics.console import print_error, print_json
from concwatch.commands.basics.exits import exit_with
from concwatch.commands.basics.options import arguments, make_settings, max_memory, open_recorder, record
from concwatch.commands.basics.values import MODE, REPEATS, SECONDS, THREADS, WORKLOAD, Described, Parsed
from concwatch.commands.measuring.chart import check_chart, print_sweep_charts
from concwatch.commands.measuring.measuring_session import print_warnings, run_session
from concwatch.commands.measuring.sweep_table import print_sweep
from concwatch.measure.expect import COMPARISONS, MetricExpectation, check_one_of
from concwatch.measure.sweep.engine_sweep import HZ
from concwatch.measure.sweep.sweep_result import FIGURES
from concwatch.measure.sweep.sweep_session import SweepSession
from concwatch.monitor.metrics.unit import Unit
from concwatch.monitor.workers.catalog import CATALOG, LISTED_BY, find_engines
from concwatch.portable.protocol.units import parse_count
from concwatch.portable.worker.collector import MODES

MOST_TASKS, MOST_THREADS = 10_000, 100
"""Up to how many tasks, or threads of a pool, a sweep goes."""

QUEUED = 10
"""How many times as many tasks are live as a pool has threads at most, so that each has something to do."""


def _parse_tasks(text: str) -> int:
    tasks = int(parse_count(text))
    if tasks < 1:
        raise ValueError(f'"{text[:40]}" is too few; ask for at least 1 task')
    return tasks


def _figures_of(engine: str) -> dict[str, Unit]:
    if not engine:
        return {}
    check_one_of("engine", engine.partition("@")[0], [row.name for row in CATALOG], listed_by=LISTED_BY)
    return dict(FIGURES)


def parse_sweep_expectation(text: str) -> MetricExpectation:
    """Parse an expectation of a sweep, such as ``asyncio.knee >= 40``.

    Raises:
        ValueError: one line that names what is wrong and what was expected.
    """
    return MetricExpectation.parse(text, 'ENGINE.FIGURE OP VALUE, such as "asyncio.knee >= 40"', _figures_of)


def _session(
    names: Sequence[str],
    first: int,
    last: int | None,
    pool: bool,
    tasks: int | None,
    seconds: float,
    repeats: int,
) -> SweepSession:
    """Return what to sweep; ``pool`` says whether it is the threads of a pool that grow.

    Raises:
        ValueError: one line that says which option is wrong.
    """
    if not names:
        raise ValueError(f"name one or more engines: {', '.join(row.name for row in CATALOG)}")
    engines = find_engines(names)
    if tasks is not None and not pool:
        raise ValueError("--tasks has no effect on a sweep over tasks; use --to")
    last = last or (MOST_THREADS if pool else MOST_TASKS)
    if last < first:
        raise ValueError(f"--to {last} is less than --from {first}")
    return SweepSession(engines, first, last, seconds, repeats, (tasks or QUEUED * last) if pool else None)


@click.command(
    "sweep",
    help="Find how many tasks at once are enough for each ENGINE: the fewest that reach 95 % of the best "
    "throughput.\n\n"
    "The number of live tasks is doubled from --from to --to, and measured more finely where throughput "
    "bends. Each task that ends is replaced, so this is a closed loop: durations have no waiting outside. "
    "A sweep ends early when tasks fail, when a limit is met, or when throughput has fallen by half.\n\n"
    "\b\nExpectations:\n"
    f"  ENGINE.FIGURE OP VALUE, where OP is one of {' '.join(COMPARISONS)}, and FIGURE is one of\n"
    f"    {', '.join(FIGURES)}",
)
@click.argument(
    "names", metavar="ENGINE...", nargs=-1, shell_complete=completion.completer(completion.engine_names)
)
@click.option(
    "--workload",
    type=WORKLOAD,
    required=True,
    help="What each task does; see concwatch run --help. It has to end by itself.",
)
@arguments
@click.option("--from", type=Parsed("number", _parse_tasks), default="1", help="The fewest tasks.")
@click.option(
    "--to",
    type=Parsed("number", _parse_tasks),
    cls=Described,
    show_default="10k; 100 pool threads",
    help="The most.",
)
@click.option(
    "--over",
    type=click.Choice(["tasks", "pool-threads"]),
    default="tasks",
    help="What grows: the live tasks, or the threads of a pool while --tasks are live.",
)
@click.option(
    "--tasks",
    type=Parsed("number", _parse_tasks),
    cls=Described,
    show_default="ten times the most threads",
    help="With --over pool-threads: how many tasks are live.",
)
@click.option(
    "--seconds",
    type=SECONDS,
    default="3",
    help="The most seconds for each number of tasks; fewer if the throughput is known within 2 % before.",
)
@click.option("--repeats", type=REPEATS, default="1", help="Sweeps of each engine, for one result.")
@click.option(
    "--gc", type=MODE, default="default", metavar="|".join(MODES), help="Garbage collector, as in run."
)
@click.option(
    "--pool-threads",
    type=THREADS,
    cls=Described,
    show_default="Python's own",
    help="Number of threads in the pool.",
)
@max_memory
@click.option(
    "--expect",
    type=Parsed("expectation", parse_sweep_expectation, lambda: [f"{name} >=" for name in FIGURES]),
    multiple=True,
    help='Exit with status 1 unless this holds, such as "asyncio.knee >= 40". Can be repeated.',
)
@record
@click.option("--json", is_flag=True, help="Print one JSON object instead of the tables.")
@click.option(
    "--chart", is_flag=True, help="Below the tables, print throughput and p99 as plain text charts."
)
def command(
    names: Sequence[str],
    over: str,
    tasks: int | None,
    seconds: float,
    repeats: int,
    pool_threads: int | None,
    max_memory: int | None,
    expect: Sequence[MetricExpectation],
    record: str | None,
    json: bool,
    chart: bool,
    **workload: Any,
) -> None:
    """Find how many tasks at once are enough."""
    numbers = workload.pop("from"), workload.pop("to")  # the first is a keyword of Python
    settings = make_settings(threads=pool_threads, **workload)
    try:
        if chart:
            check_chart(json)
        session = _session(names, *numbers, over == "pool-threads", tasks, seconds, repeats)
        for each in expect:
            check_one_of("engine of this sweep", each.subject, names)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    recorder = open_recorder(record, session.engines)
    _, stopped = run_session(session, settings, max_memory, recorder, hz=HZ)
    recording_error = recorder.problem if recorder is not None else ""
    print_warnings(session.events, recording_error)
    results = session.results
    verdicts = [
        (each, result, result.figures[each.metric])
        for each in expect
        for result in results
        if result.engine == each.subject
    ]
    if json:
        expected = [each.as_json(value, engine=result.engine) for each, result, value in verdicts]
        rest = {"arguments": settings.arguments, "interrupted": bool(stopped), "expect": expected}
        print_json({**session.as_json(settings.workload), **rest})
    else:
        print_sweep(results)
    if chart:
        click.echo()
        print_sweep_charts(results, session.last)
    failed = [(each, value) for each, _, value in verdicts if not each.holds(value)]
    for each, value in failed:
        print_error(each.sentence(value, FIGURES[each.metric].text(value)))
    if stopped:
        exit_with(-stopped)
    broken = any(result.failed or not result.steps for result in results)
    sys.exit(int(bool(failed or recording_error or broken)))
