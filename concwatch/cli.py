"""The program's arguments: without a command they open the screen."""

import gc
import sys

import click

from concwatch.commands.group import Commands
from concwatch.commands.options import ENGINES, RATE, max_memory
from concwatch.commands.telling import BAD_INPUT
from concwatch.lab.catalog import SHOWN, Engine
from concwatch.lab.lab import DEFAULT_HZ, Lab
from concwatch.lab.machine import program_version
from concwatch.lab.settings import Settings


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"concwatch, version {program_version()}")
        ctx.exit()


@click.group(
    cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version.",
)
@click.option(
    "--engines",
    type=ENGINES,
    metavar="a,b",
    help=f"Lanes to show, by engine.  [default: {','.join(engine.name for engine in SHOWN)}]",
)
@max_memory
@click.option(
    "--rate", type=RATE, default=str(DEFAULT_HZ), metavar="HZ", help="Samples a second.  [default: 10]"
)
@click.pass_context
def main(ctx: click.Context, engines: list[Engine] | None, max_memory: int | None, rate: float) -> None:
    """Watch what one more task costs: threads, pool jobs, asyncio and uvloop tasks, live.

    Without a command this opens the screen, which needs a terminal. Press ? there for its keys.
    """
    if ctx.invoked_subcommand is not None:
        gc.enable()  # which `concwatch.__main__` left off; the screen has it on after its first frame
        for name in ctx.params:
            if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
                option = "--" + name.replace("_", "-")
                raise click.UsageError(
                    f'{option} before "{ctx.invoked_subcommand}" is for the screen: '
                    f'expected options of "{ctx.invoked_subcommand}" behind it',
                    ctx,
                )
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        click.echo(
            "concwatch: the screen needs a terminal on standard input and standard error; "
            'without one use "concwatch run"',
            err=True,
        )
        sys.exit(BAD_INPUT)
    from concwatch.ui.app import ConcwatchApp  # only here: it takes a fifth of a second
    from concwatch.ui.hangup import end_with_terminal

    end_with_terminal(sys.stderr.fileno())
    app = ConcwatchApp(
        lambda: Lab(engines or SHOWN, settings=Settings(trace=True), budget=max_memory, hz=rate),
        make_run_lab=lambda rows, settings: Lab(rows, settings=settings, budget=max_memory),
    )
    app.run()
    sys.exit(app.return_code or 0)
