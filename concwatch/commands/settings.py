"""``concwatch settings``: every value of every command, and where it comes from."""

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import click

from concwatch.commands.setting import SCREEN, Setting, settings_of
from concwatch.commands.settings_file import NAMED_BY
from concwatch.commands.sources import Findings, Sources
from concwatch.commands.telling import BAD_INPUT, say_error, say_json
from concwatch.lab.events import plain
from concwatch.units import UNKNOWN


@dataclass(frozen=True)
class Row:
    """One option of one command, for a person or a program to read."""

    command: str
    key: str
    value: object
    """What it has when the command line does not give it; None for what is not set."""
    usual: str | None
    """What holds then, in words, where there is something to say."""
    source: str
    """``default``, ``file`` or ``variable``."""
    variable: str
    """The variable that sets it."""


@click.command(
    "settings",
    help="Print every option of every command: its value, and where that comes from.\n\n"
    "An option that the command line does not give comes from a variable, else from the settings file, else "
    "it has its default. Needs nothing.\n\n"
    "\b\nThe file is TOML, a table a command, a key an option:\n"
    "  [screen]                        the options of plain concwatch\n"
    '  engines = "threads,asyncio"\n'
    "  rate = 5\n"
    "  [run]\n"
    '  max-memory = "2GiB"\n'
    "  trace = true                    a flag is true or false\n"
    '  expect = ["asyncio.rss_per_task < 2KiB"]   a list for what can be repeated\n\n'
    "\b\nVariables are named after command and option:\n"
    "  CONCWATCH_SCREEN_RATE=5  CONCWATCH_RUN_MAX_MEMORY=2GiB  CONCWATCH_RUN_TRACE=yes\n"
    '  CONCWATCH_RUN_EXPECT="asyncio.failed <= 0; asyncio.rss_per_task < 2KiB"\n'
    f"  {NAMED_BY}=FILE names another file\n\n"
    "What is wrong in file or variables is a line each, and the exit status is then 2. Any other command "
    "checks what is its own before it runs.",
)
@click.option("--json", "as_json_", is_flag=True, help="One JSON object on standard output.")
@click.pass_context
def command(ctx: click.Context, as_json_: bool) -> None:
    """Print every value of every command, and where it comes from."""
    commands = dict(_contexts(ctx.find_root()))
    sources, problems = Sources.of([name for name in commands if name != SCREEN]), []
    try:
        sources = sources.read()
    except ValueError as error:
        problems.append(str(error))
    problems += [*sources.problems(), *sources.stray_variables()]
    rows: list[Row] = []
    for name, own in commands.items():
        found = sources.find(name, own)
        problems += found.problems
        rows += _rows(settings_of(name, own.command), found, own)
    problems = [" ".join(problem.split()) for problem in problems]
    if as_json_:
        say_json(
            {
                "file": str(sources.path),
                "there": os.path.lexists(sources.path),
                "settings": [asdict(row) for row in rows],
                "problems": problems,
            }
        )
    else:
        _print(rows, sources)
    for problem in problems:
        say_error(problem)
    sys.exit(BAD_INPUT if problems else 0)


def _contexts(root: click.Context) -> Iterator[tuple[str, click.Context]]:
    """Give a context of each command, by name, that of the screen first."""
    yield SCREEN, root
    if isinstance(root.command, click.Group):
        for name in root.command.list_commands(root):
            found = root.command.get_command(root, name)
            if found is not None:
                yield name, click.Context(found, info_name=name, parent=root)


def _rows(settings: dict[str, Setting], found: Findings, ctx: click.Context) -> Iterator[Row]:
    given = {one.setting.key: one for one in found.given}  # variables come after the file, so they count
    for key, setting in settings.items():
        one = given.get(key)
        value = one.value if one else _default(setting.option, ctx)
        usual = None if one else getattr(setting.option, "usual", None)
        yield Row(setting.command, key, value, usual, one.source if one else "default", setting.variable)


def _default(option: click.Option, ctx: click.Context) -> object:
    """Give what it has when nobody sets it; None for what then is not set, or worked out later."""
    default = option.get_default(ctx)
    if option.is_flag and not option.is_bool_flag:
        return default == option.flag_value
    return default if isinstance(default, str | int | float | list | tuple) else None


def _print(rows: list[Row], sources: Sources) -> None:
    there = os.path.lexists(sources.path)
    state = "" if sources.tables is not None else " (not read: see below)" if there else " (not there)"
    click.echo(plain(f"settings file: {sources.path}{state}"))
    width = max(len(row.key) for row in rows)
    values = max(len(row.usual or _shown(row.value)) for row in rows)
    last = None
    for row in rows:
        if row.command != last:
            last = row.command
            click.secho(f"\n[{row.command}]", bold=True)
        place = {"file": str(sources.path), "variable": row.variable}.get(row.source)
        origin = click.style(plain(place), fg="green") if place else click.style(row.source, dim=True)
        click.echo(f"{row.key:{width}}  {plain(row.usual or _shown(row.value)):{values}}  {origin}")


def _shown(value: object) -> str:
    match value:
        case None | () | []:
            return UNKNOWN
        case bool():
            return str(value).lower()
        case list() | tuple():
            return ", ".join(map(_shown, value))
        case _:
            return " ".join(str(value).split())
