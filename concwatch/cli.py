"""The commands; the one file that reads arguments."""

import asyncio
import contextlib
import gc
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from concwatch.lab.catalog import CATALOG, SHOWN, Engine, find
from concwatch.lab.events import plain
from concwatch.lab.lab import DEFAULT_HZ, Lab
from concwatch.lab.limits import memory_now
from concwatch.lab.machine import program_version
from concwatch.lab.pages import read_workload
from concwatch.lab.settings import Settings
from concwatch.printing import (
    ExperimentProgress,
    ProgressLine,
    print_experiment,
    print_experiments,
    print_table,
)
from concwatch.units import parse_count, parse_size
from concwatch.worker.collector import MODES
from concwatch.worker.workloads import FORMS, nearest

if TYPE_CHECKING:
    from concwatch.experiments.runner import Choice, Runner

BAD_INPUT = 2

T = TypeVar("T")


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


def _repeats(text: str) -> int:
    if not (text.isdecimal() and 1 <= int(text) <= 100):
        raise ValueError(f'"{text[:40]}" is not a number of runs: expected a whole number from 1 to 100')
    return int(text)


def _sizes(text: str) -> tuple[int, ...]:
    from concwatch.experiments.loading import sizes_problem  # only here: the screen can do without

    sizes = tuple(parse_count(part) for part in text.split(","))
    problem = sizes_problem(sizes)
    if problem:
        raise ValueError(f'"{text[:40]}" are no sizes: {problem}')
    return sizes


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
REPEATS = one_line(_repeats)
SIZES = one_line(_sizes)
WORKLOAD = one_line(read_workload)
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


def _say_json(value: object) -> None:
    import json  # only here: the screen has no use for it

    click.echo(json.dumps(value, indent=2))


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
        _say_json(rows)
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

    try:
        done, stopped = _run_until_signal(run(make_lab, engines, Plan(tasks, seconds), together, line.show))
    except ValueError as error:  # the system would not start what serves the page of the workload http
        raise click.ClickException(str(error)) from None
    line.clear()
    if done is None:
        sys.exit(128 + stopped)
    results, events = done
    refused = [result.reason for result in results if (result.reason or "").startswith("workload ")]
    if len(refused) == len(results):
        raise click.UsageError(str(refused[0]))
    for event in events:
        if event.weight != "info":
            click.echo(f"{event.lane or 'concwatch'}: {event.text}", err=True)
    if as_json_:
        _say_json(as_json(results, workload))
    else:
        print_table(results)
    sys.exit(int(any(result.state == "failed" for result in results)))


def _run_until_signal(work: Coroutine[Any, Any, T]) -> tuple[T | None, int]:
    """Run a coroutine to its end, or until a signal cancels it, so that workers are ended on the way out.

    Every further signal cancels it once more.

    Returns:
        What it gave, or None when it was cancelled, and the number of the first signal, or 0.
    """
    caught: list[int] = []

    def stop(task: "asyncio.Task[Any]", number: int) -> None:
        caught.append(number)
        task.cancel()

    async def guarded() -> T:
        task = asyncio.current_task()
        assert task is not None
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            if hasattr(signal, name) and sys.platform != "win32":
                number = int(getattr(signal, name))
                asyncio.get_running_loop().add_signal_handler(number, stop, task, number)
        return await work

    try:
        return asyncio.run(guarded()), next(iter(caught), 0)
    except asyncio.CancelledError:
        return None, caught[0]
    except KeyboardInterrupt:  # where an event loop takes no signals
        return None, int(signal.SIGINT)


class RecordedCommand(click.Command):
    """A command that keeps how it was called, for who reads its result later."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the arguments as they were typed, then read them."""
        import shlex  # only here: the screen has no use for it

        ctx.obj = shlex.join([*ctx.command_path.split(), *args])
        return super().parse_args(ctx, args)


@main.command("experiment", cls=RecordedCommand)
@click.argument("name", metavar="[NAME|FILE.toml]", required=False)
@click.option("--quick", is_flag=True, help="A quick look: few sizes, each once.")
@click.option(
    "--repeats", type=REPEATS, metavar="N", help="Runs of each cell.  [default: as the experiment says]"
)
@click.option("--sizes", type=SIZES, metavar="1,10,1k", help="Sizes in place of the experiment's, ascending.")
@max_memory
@click.option("--json", "json_", metavar="FILE", help="Everything, every run included, as one JSON object.")
@click.option("--markdown", metavar="FILE", help="The tables as Markdown.")
@click.option("--csv", metavar="FILE", help="A line a figure.")
@click.option("--pyperf", metavar="FILE", help="The times as pyperf benchmarks, for pyperf compare_to.")
@click.pass_context
def experiment_command(
    ctx: click.Context,
    name: str | None,
    quick: bool,
    repeats: int | None,
    sizes: tuple[int, ...] | None,
    max_memory: int | None,
    json_: str | None,
    markdown: str | None,
    csv: str | None,
    pyperf: str | None,
) -> None:
    """Run a published experiment here, and hold the figures against the published ones.

    Without NAME this lists them. A FILE.toml is an experiment of your own.

    Needs no terminal: progress goes to standard error, the tables to standard output, unless a FILE is "-",
    which takes their place. Ctrl-C ends it; what has been measured is printed and saved, marked as partial.
    """
    from concwatch.experiments.outputs import outputs, save  # only here: the screen has no use for it
    from concwatch.experiments.report import Occasion
    from concwatch.experiments.runner import Choice, State

    places = {"json": json_, "markdown": markdown, "csv": csv, "pyperf": pyperf}
    choice = Choice(quick, repeats, sizes or ())
    try:
        if name is None:
            _list_experiments(choice, max_memory, any(place is not None for place in places.values()))
            return
        runner = _make_runner(name, choice, max_memory)
        wanted = outputs(places, runner.experiment)
    except ValueError as error:
        raise click.UsageError(str(error), ctx) from None
    occasion = Occasion.now(ctx.obj)
    _, stopped = _run_until_signal(_follow(runner))

    texts, problems = save(wanted, runner, occasion)
    # Where a terminal that went away has ended it, there is nowhere left to print to.
    with contextlib.suppress(OSError) if stopped else contextlib.nullcontext():
        for problem in problems:
            _say_error(problem)
        for text in texts:
            click.echo(text, nl=False)
        if not any(output.standard for output in wanted):
            print_experiment(runner, occasion)
    failed = any(outcome.state is State.FAILED for outcome in runner.outcomes.values())
    sys.exit(128 + stopped if stopped else int(failed or bool(problems)))


def _make_runner(name: str, choice: "Choice", budget: int | None) -> "Runner":
    """Prepare to run the experiment called ``name``.

    Raises:
        ValueError: one line that says why there is none.
    """
    from concwatch.experiments.loading import load
    from concwatch.experiments.runner import Runner

    def make_lab(engines: Sequence[Engine], settings: Settings) -> Lab:
        return Lab(engines, settings=settings, budget=budget)

    return Runner(load(name), choice, make_lab)


def _list_experiments(choice: "Choice", budget: int | None, files: bool) -> None:
    from concwatch.experiments.loading import shipped

    names = [path.stem for path in shipped()]
    if files:
        raise ValueError(f"no NAME, so nothing to save: expected one of {', '.join(names)}")
    print_experiments([_make_runner(name, choice, budget) for name in names])


async def _follow(runner: "Runner") -> None:
    """Run an experiment, and tell on standard error how far it is."""
    progress = ExperimentProgress(runner)
    telling = asyncio.get_running_loop().create_task(progress.follow())
    try:
        await runner.run()
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
        with contextlib.suppress(OSError):  # the terminal may be gone; the result is saved all the same
            progress.end()
