"""``concwatch demo``: play a demo and make pictures and films of it."""

import asyncio
import inspect
import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import click
from msgspec import structs

from concwatch.commands.basics import completion
from concwatch.commands.basics.console import print_error
from concwatch.commands.basics.display import take_terminal, why_no_screen
from concwatch.commands.basics.exits import exit_with
from concwatch.commands.basics.hangup import exit_with_terminal
from concwatch.commands.basics.lab import create_lab
from concwatch.commands.basics.options import cells, max_memory
from concwatch.commands.basics.signals import run_until_signal
from concwatch.commands.basics.values import THEME, Described, Parsed
from concwatch.commands.watching.watch_session import watched_in_background
from concwatch.demos import stage
from concwatch.demos.captures import FILM, FORMATS, Captures, check_formats
from concwatch.demos.demo import Demo, load, parse_size, shipped
from concwatch.demos.player import PlayResult, play
from concwatch.demos.quiet import wait_until_quiet
from concwatch.monitor.metrics.settings import ON_SCREEN, Settings
from concwatch.pictures.png import PicturesUnavailable
from concwatch.portable.protocol.text import unknown_name
from concwatch.portable.protocol.units import format_bytes
from concwatch.system.child import concwatch_command, shell_status
from concwatch.system.files import why_not_writable, write_atomically
from concwatch.ui.apps.app import ConcwatchApp
from concwatch.ui.apps.watch_app import WatchApp

FOLDER = "screenshots"
"""The default folder for pictures."""

MANUAL = "\n\n".join(f"\b\n{part}" for part in inspect.cleandoc(stage.__doc__ or "").split("\n\n"))
"""How to write a demo: the docstring of `stage`, with its line breaks kept by click."""


def _read_formats(text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in FORMATS:
            raise ValueError(unknown_name("format", name, FORMATS))
    return tuple(dict.fromkeys(names))


@click.command("demo", epilog=MANUAL)
@click.argument(
    "name",
    metavar="[NAME|FILE.py]",
    required=False,
    shell_complete=completion.completer(completion.demo_names),
)
@click.option(
    "--all",
    "every",
    envvar="CONCWATCH_DEMO_ALL",
    is_flag=True,
    help="Play every shipped demo, to make the pictures of the README.",
)
@click.option(
    "--out", metavar="DIR", cls=Described, show_default=FOLDER, help="Folder for the pictures and films."
)
@click.option(
    "--format",
    "formats",
    envvar="CONCWATCH_DEMO_FORMAT",
    type=Parsed("format,...", _read_formats),
    metavar=",".join(FORMATS),
    cls=Described,
    show_default="svg; with --all png, and gif for demos with a film",
    help="What to save: svg and png are pictures of each shot; gif is a film of the whole demo.",
)
@click.option(
    "--size",
    type=Parsed("size", parse_size),
    metavar="120x40",
    cls=Described,
    show_default="the demo's own",
    help="Columns and rows of the screen.",
)
@click.option("--theme", type=THEME, cls=Described, show_default="the demo's own", help="Colour theme.")
@click.option("--screen", is_flag=True, help="Show the demo on the terminal, even with --out or --format.")
@click.option(
    "--force",
    is_flag=True,
    help="Make pictures and films though other programs are busy; only svg is made without waiting.",
)
@cells
@max_memory
@click.pass_context
def command(
    ctx: click.Context,
    name: str | None,
    every: bool,
    out: str | None,
    formats: tuple[str, ...] | None,
    size: tuple[int, int] | None,
    theme: str | None,
    screen: bool,
    force: bool,
    cells: bool,
    max_memory: int | None,
) -> None:
    """Play a demo: a short Python file drives the real program and real workers.

    Without NAME, this lists the shipped demos. FILE.py is a demo of your own; its code is run.

    The demo is shown on the terminal unless --out, --format, --size or --all is given. On the terminal,
    files are written only with --out or --format. Each step is printed as a line. The exit status is 1 if a
    step fails.
    """
    try:
        if name is None and not every:
            _list(ctx)
            return
        if every and name is not None:
            raise ValueError("NAME and --all cannot be combined")
        if screen and (size or every):
            raise ValueError("--screen cannot be used with --size or --all")
        without = shlex.join(["concwatch", "demo", name or "--all", "--out", out or FOLDER])
        no_screen = why_no_screen(f'use "{without}"')
        if screen and no_screen:
            raise ValueError(f"--screen: {no_screen}")
        demos = [load(path.stem) for path in shipped()] if name is None else [load(name)]
        on_screen = screen or not (no_screen or out or formats or size or every)
        writes = bool(out or formats or not on_screen)
        formats_of = {
            demo.name: (formats or _default_formats(demo, every)) if writes else () for demo in demos
        }
        for several in formats_of.values():
            check_formats(several)
        folder = _folder(out or FOLDER) if writes else Path(FOLDER)
    except (ValueError, PicturesUnavailable) as error:
        raise click.UsageError(str(error), ctx) from None
    if every:
        options = [f"--out={folder}"]
        options += [f"--size={size[0]}x{size[1]}"] if size else []
        options += [f"--max-memory={max_memory}"] if max_memory is not None else []
        options += [f"--theme={theme}"] if theme else []
        options += ["--cells"] if cells else []
        options += ["--force"] if force else []
        worst, stopped = run_until_signal(_play_in_processes(formats_of, options))
        exit_with(-stopped or worst or 0)
    if not force and set(formats_of[demos[0].name]) - {"svg"}:
        _wait_until_quiet()
    demo = structs.replace(demos[0], theme=theme) if theme else demos[0]
    captures = Captures(demo.name, demo.title, formats_of[demo.name], cells)
    played = _perform(demo, captures, folder, size, max_memory, on_screen)
    if played.problem:
        print_error(played.problem)
    written = played.completed and _write(captures, folder)
    exit_with(played.status or int(not written))


async def _play_in_processes(formats_of: Mapping[str, Sequence[str]], options: Sequence[str]) -> int:
    """Play demos one after another, each in a process of its own, and its film in another.

    The pictures show the memory of the program itself, which must not include that of earlier demos.

    Returns:
        The highest exit status.
    """
    status = 0
    for name, several in formats_of.items():
        for film in (False, True):
            formats = ",".join(kind for kind in several if (kind == FILM) == film)
            if formats:
                arguments = concwatch_command("demo", name, f"--format={formats}", *options)
                player = await asyncio.create_subprocess_exec(*arguments, stdin=asyncio.subprocess.DEVNULL)
                try:
                    status = max(status, shell_status(await player.wait()))
                finally:
                    if player.returncode is None:  # cancelled by a signal
                        player.terminate()
                        await player.wait()
    return status


def _wait_until_quiet() -> None:
    """Wait until other programs use few of the cores; exit if they do not stop."""
    busy, stopped = run_until_signal(wait_until_quiet(partial(click.echo, err=True)))
    if busy:
        print_error(busy)
    if busy or stopped:
        exit_with(-stopped or 1)


def _list(ctx: click.Context) -> None:
    """Print the shipped demos.

    Raises:
        ValueError: an option was given that needs a demo.
    """
    for param in ctx.command.params:
        if ctx.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE:
            raise ValueError(f"{param.opts[0]} needs a demo: NAME, FILE.py or --all")
    demos = [load(path.stem) for path in shipped()]
    width = max(len(demo.name) for demo in demos)
    for demo in demos:
        click.echo(f"{click.style(f'{demo.name:{width}}', bold=True)}  {demo.title}")
        click.echo(f"{'':{width}}  {demo.about}")


def _default_formats(demo: Demo, every: bool) -> Sequence[str]:
    return ("svg",) if not every else ("png", FILM) if demo.filmed else ("png",)


def _folder(name: str) -> Path:
    """Return the folder called ``name``, created if it does not exist.

    Raises:
        ValueError: one line that says why it cannot be written to.
    """
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        problem = why_not_writable(folder / "demo.svg")
    except (OSError, ValueError) as error:
        problem = str(getattr(error, "strerror", None) or error)
    if problem:
        raise ValueError(f'folder "{folder}" cannot be written to ({problem})')
    return folder


def _perform(
    demo: Demo,
    captures: Captures,
    folder: Path,
    size: tuple[int, int] | None,
    budget: int | None,
    on_screen: bool,
) -> PlayResult:
    """Play one demo and print its steps."""
    if on_screen:
        exit_with_terminal(*take_terminal())
    lines: list[str] = []  # printed at the end if the app has the terminal until then
    emit = lines.append if on_screen else partial(click.echo, file=sys.stdout)  # the app replaces sys.stdout
    if demo.watch:
        with watched_in_background(demo.watch) as (watching, _, output):
            show = play(
                demo, WatchApp(watching, output, folder), captures, emit, on_screen=on_screen, size=size
            )
            played, stopped = run_until_signal(show)
    else:
        app = ConcwatchApp(
            lambda: create_lab(
                demo.engines, settings=Settings(workload=ON_SCREEN, trace=True), budget=budget, trials=True
            ),
            lambda rows, settings, **more: create_lab(rows, settings=settings, budget=budget, **more),
            folder,
        )
        played, stopped = run_until_signal(play(demo, app, captures, emit, on_screen=on_screen, size=size))
    for line in lines:
        click.echo(line)
    return played or PlayResult(problem=f"{demo.path.name}: ended by a signal", status=-stopped)


def _write(captures: Captures, folder: Path) -> bool:
    """Write the files, each completely or not at all. Return whether all were written."""
    try:
        for name, content in captures.files():
            write_atomically(folder / name, content)
            click.echo(f"saved {folder / name}, {format_bytes((folder / name).stat().st_size)}", err=True)
    except OSError as error:
        print_error(f'folder "{folder}" cannot be written to ({error.strerror})')
        return False
    return True
