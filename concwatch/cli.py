"""The commands; the one file that reads arguments."""

import asyncio
import gc
import json
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

import click

from concwatch.lab.catalog import CATALOG, Engine, find
from concwatch.lab.events import Event, plain
from concwatch.lab.lab import DEFAULT_HZ, Lab
from concwatch.lab.limits import memory_now
from concwatch.lab.machine import program_version
from concwatch.lab.settings import Settings
from concwatch.printing import ProgressLine, print_table
from concwatch.units import parse_count, parse_size
from concwatch.worker.collector import MODES
from concwatch.worker.workloads import FORMS, nearest, parse

if TYPE_CHECKING:
    from concwatch.lab.run import Result

BAD_INPUT = 2


def one_line(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Make of ``read`` an option's type; what its ValueError says is the whole error."""

    def convert(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise click.UsageError(str(error)) from None

    return convert


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 86_400:
        raise ValueError(f'"{text[:40]}" is not a time: expected seconds from 0 to 86,400')
    return seconds


def _rate(text: str) -> float:
    try:
        hz = float(text)
    except ValueError:
        hz = 0.0
    if not 0.5 <= hz <= 50:
        raise ValueError(f'"{text[:40]}" is not a rate: expected samples a second from 0.5 to 50')
    return hz


def _threads(text: str) -> int:
    count = parse_count(text, 100_000)
    if not count:
        raise ValueError("a pool of 0 threads runs nothing: expected a number from 1 to 100,000")
    return count


def _mode(text: str) -> str:
    if text not in MODES:
        raise ValueError(
            f'unknown collector mode "{text[:40]}": expected one of {", ".join(MODES)}{nearest(text, MODES)}'
        )
    return text


COUNT = one_line(parse_count)
SIZE = one_line(lambda text: parse_size(text, memory_now().available))
SECONDS = one_line(_seconds)
RATE = one_line(_rate)
THREADS = one_line(_threads)
MODE = one_line(_mode)
WORKLOAD = one_line(lambda text: parse(text).spec)
ENGINES = one_line(lambda text: find([name.strip() for name in text.split(",")]))

max_memory = click.option(
    "--max-memory",
    type=SIZE,
    metavar="SIZE",
    help='Memory that all workers may take together, such as "2GiB" or "60%" of what is available. '
    "At it growth stops; nothing dies.  [default: 80%]",
)


def _say_error(text: str) -> None:
    """Write ``text`` as one line, whatever a person typed into it."""
    click.echo(f"concwatch: {plain(' '.join(text.split()))}", err=True)


class Commands(click.Group):
    """Commands whose errors are one line: what, what was expected, and which help says more."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name the nearest."""
        if args[0] not in self.commands:
            word, known = args[0][:40], sorted(self.commands)
            raise click.UsageError(
                f'unknown command "{word}": expected one of {", ".join(known)}{nearest(word, known)}', ctx
            )
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run, and show a wrong argument as one line with exit status 2."""
        kwargs["standalone_mode"] = False
        kwargs["prog_name"] = "concwatch"
        try:
            sys.exit(super().main(*args, **kwargs) or 0)
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else "concwatch"
            _say_error(f"{error.format_message()} (see {command} --help)")
            sys.exit(BAD_INPUT)
        except click.ClickException as error:
            _say_error(error.format_message())
            sys.exit(BAD_INPUT)
        except (click.Abort, KeyboardInterrupt):
            sys.exit(130)


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
@click.option("--engines", type=ENGINES, metavar="a,b", help="Lanes to show, by engine.  [default: all]")
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
    gc.disable()  # until the first frame, which collections of what is being loaded would delay by a tenth
    from concwatch.ui.app import ConcwatchApp  # only here: it takes a fifth of a second
    from concwatch.ui.hangup import end_with_terminal

    end_with_terminal(sys.stderr.fileno())
    app = ConcwatchApp(
        lambda: Lab(engines or CATALOG, settings=Settings(trace=True), budget=max_memory, hz=rate)
    )
    app.run()
    sys.exit(app.return_code or 0)


@main.command("engines")
@click.option("--json", "as_json_", is_flag=True, help="One JSON list on standard output.")
def engines_command(as_json_: bool) -> None:
    """List every engine: what a task is there, whether it can run here, and if not what to install.

    Needs nothing.
    """
    rows = [
        {"engine": engine.name, "task": engine.task, "runs": missing is None, "missing": missing}
        for engine, missing in ((engine, engine.missing()) for engine in CATALOG)
    ]
    if as_json_:
        click.echo(json.dumps(rows, indent=2))
        return
    width = max(len(engine.name) for engine in CATALOG)
    for row in rows:
        state = (
            click.style("runs", fg="green")
            if row["runs"]
            else click.style(f"cannot: {row['missing']}", fg="red")
        )
        click.echo(f"{row['engine']:{width}}  {row['task']:42}  {state}")


RUN_HELP = "\n".join(f"  {form:22} {what}" for form, what, _ in FORMS.values())


@main.command(
    "run",
    help="Measure ENGINE… without a screen: a progress line on standard error, a table at the end.\n\n"
    "Each engine runs alone in a fresh worker, unless --together. Needs --tasks, and no terminal.\n\n"
    "\b\nWorkloads:\n"
    + RUN_HELP
    + "\n  module:function        your own; async def for event loops, def for threads",
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
    "--pool-threads", type=THREADS, metavar="N", help="Threads of the pool.  [default: Python's own]"
)
@click.option("--together", is_flag=True, help="All engines at the same time.")
@max_memory
@click.option(
    "--json", "as_json_", is_flag=True, help="One JSON object on standard output in place of the table."
)
def run_command(
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
    as_json_: bool,
) -> None:
    """Measure engines without a screen."""
    from concwatch.lab.run import Plan, as_json, run  # only here: the screen has no use for it

    try:
        if not names:
            raise ValueError(f"no ENGINE: expected one or more of {', '.join(row.name for row in CATALOG)}")
        engines = find(names)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    settings = Settings(workload, refill, trace, gc_mode, pool_threads)
    line = ProgressLine()

    def make_lab(group: Sequence[Engine]) -> Lab:
        return Lab(group, settings=settings, budget=max_memory)

    results, events = _run_until_signal(run(make_lab, engines, Plan(tasks, seconds), together, line.show))
    line.clear()
    refused = [result.reason for result in results if (result.reason or "").startswith("workload ")]
    if len(refused) == len(results):
        raise click.UsageError(str(refused[0]))
    for event in events:
        if event.weight != "info":
            click.echo(f"{event.lane or 'concwatch'}: {event.text}", err=True)
    if as_json_:
        click.echo(json.dumps(as_json(results, workload), indent=2))
    else:
        print_table(results)
    sys.exit(int(any(result.state == "failed" for result in results)))


def _run_until_signal(
    main_: "Coroutine[Any, Any, tuple[list[Result], list[Event]]]",
) -> "tuple[list[Result], list[Event]]":
    """Run a coroutine; SIGTERM and SIGHUP cancel it like Ctrl-C, so that workers are ended on the way out."""

    async def guarded() -> "tuple[list[Result], list[Event]]":
        task = asyncio.current_task()
        assert task is not None
        for name in ("SIGTERM", "SIGHUP"):
            if hasattr(signal, name) and sys.platform != "win32":
                number = getattr(signal, name)
                asyncio.get_running_loop().add_signal_handler(number, lambda: task.cancel())
        return await main_

    try:
        return asyncio.run(guarded())
    except asyncio.CancelledError:
        sys.exit(143)
