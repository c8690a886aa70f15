"""``concwatch engines``: list the engines, and build the workers of other languages."""

import sys
from collections.abc import Sequence
from functools import partial

import click

from concwatch.commands.basics import completion
from concwatch.commands.basics.console import BAD_INPUT, print_columns, print_error, print_json
from concwatch.commands.basics.exits import exit_with
from concwatch.commands.basics.signals import run_until_signal
from concwatch.measure.doctor.probe import probe_engines
from concwatch.measure.layout import WIDTH, Piece
from concwatch.monitor.workers.catalog import Engine, find_engines
from concwatch.monitor.workers.engine_notes import engine_notes
from concwatch.portable.protocol.units import format_bytes, format_seconds


@click.command("engines")
@click.argument(
    "names", metavar="[ENGINE...]", nargs=-1, shell_complete=completion.completer(completion.engine_names)
)
@click.option("--json", is_flag=True, help="Print one JSON list.")
@click.option("--build", is_flag=True, help="Build the workers now instead of on first use.")
@click.option("--clean", is_flag=True, help="Remove every built worker from the cache folder.")
def command(names: Sequence[str], json: bool, build: bool, clean: bool) -> None:
    """List the engines: what a task is, whether the engine can run here, and if not, what to install.

    With ENGINE, also describe how it is measured. "python:PATH" names the engines of another Python. To
    check an engine that needs a package, a worker is started and ended at once.

    The exit status is 1 if --build fails although the tools are installed.
    """
    if clean:
        _clean()
        return
    try:
        engines = find_engines(names)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if build:
        _, stopped = run_until_signal(_build([engine for engine in engines if engine.ways]))
        exit_with(-stopped)
    rows = [
        {
            "engine": engine.name,
            "task": engine.task,
            "language": engine.ways[0].language if engine.ways else "Python",
            "runs": reason is None,
            "missing": reason,
            "how": engine_notes(engine),
        }
        for engine, reason in zip(engines, probe_engines(engines), strict=True)
    ]
    if json:
        print_json(rows)
        return
    states = [
        Piece("runs", "good") if row["runs"] else Piece(f"unavailable ({row['missing']})", "bad")
        for row in rows
    ]
    cells = [(engine.name, engine.task, state) for engine, state in zip(engines, states, strict=True)]
    if not names:
        print_columns(cells, range(3), header=False)
    for line, row in zip(cells if names else (), rows, strict=False):
        print_columns([line], range(3), header=False)
        click.echo(f"\n{click.wrap_text(str(row['how']), WIDTH, '  ', '  ', preserve_paragraphs=True)}\n")


def _clean() -> None:
    from concwatch.portable.build import store  # imported late, as in `_build`

    try:
        count, size = store.clean()
    except OSError as error:
        print_error(f"{store.folder()}: {error.strerror or error}: some built workers could not be removed")
        sys.exit(BAD_INPUT)
    click.echo(f"{store.folder()}: {count} builds removed, {format_bytes(size)}")


def _echo(name: str, text: str) -> None:
    click.echo(f"{name}: {text}")


async def _build(engines: Sequence[Engine]) -> None:
    """Build one after another and print the result of each."""
    from concwatch.portable.build.builder import BuildError
    from concwatch.runtimes.building import build

    failed = False
    for engine in engines:
        missing = engine.missing()
        if missing:
            click.echo(f"{engine.name}: cannot be built: {missing}")
            continue
        try:
            built = await build(engine.ways, engine.name, partial(_echo, engine.name))
        except BuildError as error:
            failed = True
            print_error(f"{engine.name}: {error}")
        else:
            took = f"built in {format_seconds(built.seconds)}" if built.seconds else "already built"
            click.echo(f"{engine.name}: {took}")
    if failed:
        sys.exit(1)
