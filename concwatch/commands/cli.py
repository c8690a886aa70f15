"""The command ``concwatch``: without a subcommand it opens the screen."""

import gc
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from concwatch.commands.basics.display import Display, check_display
from concwatch.commands.basics.lab import create_lab
from concwatch.commands.basics.options import (
    SCREEN,
    connect_hosts,
    engines_on_hosts,
    make_settings,
    open_recorder,
    options,
)
from concwatch.commands.group import Commands
from concwatch.commands.screens.screen import ADVICE, ScreenOptions, open_screen
from concwatch.hosts.host import Host
from concwatch.monitor.workers.catalog import SHOWN, Engine
from concwatch.system.machine import program_version


def _show_version(ctx: click.Context, _: click.Parameter, requested: bool) -> None:
    if requested:
        click.echo(f"concwatch, version {program_version()}")
        ctx.exit()


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@options(SCREEN)
@click.pass_context
def main(
    ctx: click.Context,
    /,
    engines: list[Engine] | None,
    host: tuple[Host | None, ...],
    cluster: str | None,
    reconnect: bool,
    max_memory: int | None,
    rate: float,
    screenshots: Path,
    cells: bool,
    record: str | None,
    recordings: str,
    tasks: dict[Engine, int] | None,
    window: float | None,
    theme: str | None,
    symbols: str | None,
    **workload: Any,
) -> None:
    """See live what one more task costs, and which tasks of your program leak or block its event loop.

    Without a command, this opens the screen, which needs a terminal. Press ? for its keys.

    Options can also be set in a file or with environment variables: see concwatch settings --help.
    """
    if ctx.invoked_subcommand is not None:
        gc.enable()  # `concwatch.__main__` disables it; the screen enables it after its first frame
        _refuse_options(ctx)
        return
    check_display(ADVICE)
    display = Display()
    tasks = tasks or {}
    hosts, dask = connect_hosts(host, cluster)
    lanes = engines_on_hosts(list(dict.fromkeys((*(engines or SHOWN), *tasks))), hosts)
    chosen = ScreenOptions(
        lanes=lanes,
        settings=make_settings(**workload),
        tasks=tasks,
        max_memory=max_memory,
        rate=rate,
        reconnect=reconnect,
        joining=(lambda: dask.hosts) if dask else None,
        screenshots=screenshots,
        cells=cells,
        recordings=Path(recordings),
        recorder=open_recorder(record, lanes),
        window=window,
        theme=theme or "",
        symbols=symbols or "",
    )
    open_screen(display, chosen, create_lab)


def _refuse_options(ctx: click.Context) -> None:
    """Raise a click.UsageError if an option of the screen was given before a command."""
    command = ctx.invoked_subcommand
    for name in ctx.params:
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            wrong = f'--{name.replace("_", "-")} is an option of the screen, not of "{command}"'
            raise click.UsageError(f'{wrong}; expected only options of "{command}", after it', ctx)
