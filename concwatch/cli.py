"""The program's arguments: without a command they open the screen."""

import gc
import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from concwatch.commands.group import Commands
from concwatch.commands.options import SCREEN, connect, new_lab, on_hosts, open_recorder, options
from concwatch.commands.place import Kept, Place, check_place, keep
from concwatch.hosts.host import Host
from concwatch.lab.catalog import SHOWN, Engine
from concwatch.lab.settings import Settings
from concwatch.system.machine import program_version


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
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
    help="Show the version.",
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
    record: str | None,
    recordings: str,
    tasks: dict[Engine, int] | None,
    window: float | None,
    theme: str | None,
    **workload: Any,
) -> None:
    """Watch what one more task costs: threads, pool jobs, asyncio and uvloop tasks, live.

    Without a command this opens the screen, which needs a terminal. Press ? there for its keys.

    Options can be kept in a file or in variables: see concwatch settings --help.
    """
    if ctx.invoked_subcommand is not None:
        gc.enable()  # which `concwatch.__main__` left off; the screen has it on after its first frame
        _refuse_options(ctx)
        return
    check_place("concwatch run")
    place = Place()
    # Only here: the screen takes a fifth of a second.
    from concwatch.ui.app import Begin, ConcwatchApp
    from concwatch.ui.session_recording import SessionRecording

    tasks = tasks or {}
    hosts, dask = connect(host, cluster)
    lanes = on_hosts(list(dict.fromkeys((*(engines or SHOWN), *tasks))), hosts)
    joining = (lambda: dask.hosts) if dask else None
    settings = Settings(**workload)
    recording = SessionRecording(Path(recordings), open_recorder(record, lanes))
    kept = place.kept
    app = ConcwatchApp(
        lambda: new_lab(
            lanes, settings=settings, budget=max_memory, hz=rate, reconnect=reconnect, cluster=joining
        ),
        screenshots,
        make_run_lab=lambda rows, settings: new_lab(rows, settings=settings, budget=max_memory),
        recording=recording,
        begin=Begin(
            theme or place.theme,
            window or kept.window,
            {engine.name: count for engine, count in tasks.items()},
        ),
    )
    status = place.run(app)
    chosen = Kept(app.chosen_theme or kept.theme, app.window or kept.window)
    if chosen != kept and not place.page:
        keep(chosen)
    sys.exit(status)


def _refuse_options(ctx: click.Context) -> None:
    """Refuse options of the screen that are typed before a command.

    Raises:
        click.UsageError: one line that says where they belong.
    """
    command = ctx.invoked_subcommand
    for name in ctx.params:
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            wrong = f'--{name.replace("_", "-")} before "{command}" is for the screen'
            raise click.UsageError(f'{wrong}: expected options of "{command}" behind it', ctx)
