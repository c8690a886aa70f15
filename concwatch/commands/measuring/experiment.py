"""``concwatch experiment``: repeat a published experiment on this machine."""

import asyncio
import contextlib
import shlex
import textwrap
from collections.abc import Sequence

import click

from concwatch.commands.basics import completion
from concwatch.commands.basics.configuration import as_arguments
from concwatch.commands.basics.console import print_columns, print_error, print_lines
from concwatch.commands.basics.exits import exit_with
from concwatch.commands.basics.lab import create_lab
from concwatch.commands.basics.options import cluster_option, connect_hosts, host_option, max_memory
from concwatch.commands.basics.progress import ExperimentProgress
from concwatch.commands.basics.signals import run_until_signal
from concwatch.commands.basics.values import OUTPUT, REPEATS, SIZES, Described
from concwatch.hosts.host import Host
from concwatch.measure.experiments.experiment_report import RunInfo, attribution
from concwatch.measure.experiments.formats import STANDARD_OUTPUT, check, save
from concwatch.measure.experiments.loading import load, shipped
from concwatch.measure.experiments.runner import CellState, Runner, Selection
from concwatch.measure.experiments.table import table_lines
from concwatch.measure.layout import Piece
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.workers.catalog import Engine
from concwatch.portable.protocol.units import format_forecast

AUTHOR_WIDTH = 23
"""Cells of the column of authors."""


class RecordedCommand(click.Command):
    """A command that records its own command line, which becomes part of the result."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. Record them together with those from settings file and variables."""
        typed = list(args)
        rest = super().parse_args(ctx, args)
        ctx.obj = shlex.join([*ctx.command_path.split(), *typed, *as_arguments(ctx)])
        return rest


@click.command("experiment", cls=RecordedCommand)
@click.argument(
    "name",
    metavar="[NAME|FILE.toml]",
    required=False,
    shell_complete=completion.completer(completion.experiment_names),
)
@click.option("--quick", is_flag=True, help="Measure only a few sizes, each once.")
@click.option(
    "--repeats", type=REPEATS, cls=Described, show_default="the experiment's own", help="Runs of each cell."
)
@click.option("--sizes", type=SIZES, help="Sizes to measure instead of the experiment's own, ascending.")
@host_option
@cluster_option
@max_memory
@click.option(
    "--json", type=OUTPUT, help="Write all results, including every run, to FILE as one JSON object."
)
@click.option("--markdown", type=OUTPUT, help="Write the tables to FILE as Markdown.")
@click.option("--csv", type=OUTPUT, help="Write the figures to FILE as CSV, one per line.")
@click.option(
    "--pyperf", type=OUTPUT, help="Write the times to FILE as pyperf benchmarks, for pyperf compare_to."
)
@click.pass_context
def command(
    ctx: click.Context,
    name: str | None,
    quick: bool,
    repeats: int | None,
    sizes: tuple[int, ...] | None,
    host: tuple[Host | None, ...],
    cluster: str | None,
    max_memory: int | None,
    json: str | None,
    markdown: str | None,
    csv: str | None,
    pyperf: str | None,
) -> None:
    """Run a published experiment on this machine and compare the figures with the published ones.

    Without NAME, this lists the experiments. FILE.toml is an experiment of your own.

    Progress is printed on standard error, the tables on standard output. If a FILE is "-", it replaces the
    tables on standard output. Ctrl-C ends the experiment: what has been measured is printed and saved,
    marked as partial.
    """
    files = {"json": json, "markdown": markdown, "csv": csv, "pyperf": pyperf}
    places = {name: file for name, file in files.items() if file is not None}
    try:
        selection = Selection(quick, repeats, sizes or (), tuple(connect_hosts(host, cluster)[0]) or (None,))
        if name is None:
            _list_experiments(selection, max_memory, bool(places))
            return
        runner = _make_runner(name, selection, max_memory)
        check(places, runner.experiment)
    except ValueError as error:
        raise click.UsageError(str(error), ctx) from None
    info = RunInfo.now(ctx.obj)
    _, stopped = run_until_signal(_follow(runner))

    text, problems = save(places, runner, info)
    # If the signal came from a closed terminal, nothing can be printed any more.
    with contextlib.suppress(OSError) if stopped else contextlib.nullcontext():
        for problem in problems:
            print_error(problem)
        click.echo(text, nl=False)
        if STANDARD_OUTPUT not in places.values():
            print_lines(table_lines(runner, info))
    failed = any(outcome.state is CellState.FAILED for outcome in runner.outcomes.values())
    exit_with(-stopped or int(failed or bool(problems)))


def _make_runner(name: str, selection: Selection, budget: int | None) -> Runner:
    """Load an experiment and return a runner for it.

    Raises:
        ValueError: one line that says why it cannot be loaded.
    """

    def make_lab(engines: Sequence[Engine], settings: Settings, **options: float) -> Lab:
        return create_lab(engines, settings=settings, budget=budget, **options)

    return Runner(load(name), selection, make_lab)


def _list_experiments(selection: Selection, budget: int | None, files: bool) -> None:
    names = [path.stem for path in shipped()]
    if files:
        raise ValueError(f"name an experiment to save: {', '.join(names)}")
    rows: list[list[str | Piece]] = []
    for name in names:
        runner = _make_runner(name, selection, budget)
        experiment, source = runner.experiment, runner.experiment.source
        by = textwrap.shorten(attribution(source), AUTHOR_WIDTH, placeholder="…") if source else "ours"
        time = format_forecast(runner.seconds_left)
        rows.append([Piece(experiment.name, "heading"), by, time, experiment.title])
    print_columns(rows, range(4), header=False)


async def _follow(runner: Runner) -> None:
    """Run an experiment and show its progress on standard error."""
    progress = asyncio.get_running_loop().create_task(ExperimentProgress(runner).follow())
    try:
        await runner.run()
    finally:
        progress.cancel()
        await asyncio.gather(progress, return_exceptions=True)
