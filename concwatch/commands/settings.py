"""``concwatch settings``: every value of every command, and where it comes from."""

import errno
import json
import os
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import click
from click.core import ParameterSource

from concwatch.commands.configuration import (
    NAMED_BY,
    SCREEN,
    default_map,
    options_of,
    prefix,
    read_tables,
    refusals,
    settings_path,
    unknown_tables,
    unknown_variables,
    variable,
)
from concwatch.commands.telling import BAD_INPUT, say_error, say_json
from concwatch.lab.events import plain
from concwatch.saving import write_whole
from concwatch.units import UNKNOWN

SOURCES = {ParameterSource.ENVIRONMENT: "variable", ParameterSource.DEFAULT_MAP: "file"}


@dataclass(frozen=True)
class Row:
    """One option of one command, for a person or a program to read."""

    command: str
    key: str
    value: object
    """What it has when the command line does not give it; None for what is not set."""
    default_text: str | None
    """The default in words, for one that depends on the machine."""
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
@click.option("--json", is_flag=True, help="One JSON object on standard output.")
@click.option("--init", is_flag=True, help="Write a settings file with every option in it, as comments.")
@click.pass_context
def command(ctx: click.Context, json: bool, init: bool) -> None:
    """Print every value of every command, and where it comes from."""
    root = ctx.find_root()
    commands = {SCREEN: root.command}
    if isinstance(root.command, click.Group):
        for name in root.command.list_commands(root):
            commands[name] = root.command.get_command(root, name) or root.command
    path = settings_path()
    if init:
        _write(commands)
        return
    tables: dict[str, object] | None = None
    problems = []
    try:
        tables = read_tables()
    except click.ClickException as error:
        problems.append(error.message)
    problems += [*unknown_tables(tables or {}, commands), *unknown_variables(commands)]
    rows: list[Row] = []
    for name, own in commands.items():
        values, wrong = default_map(name, own, tables or {})
        below = click.Context(own, info_name=name, default_map=values, auto_envvar_prefix=prefix(name))
        problems += [*wrong, *refusals(below)]
        rows += _rows(name, below)
    problems = [" ".join(problem.split()) for problem in problems]
    there = os.path.lexists(path)
    if json:
        found = [asdict(row) for row in rows]
        say_json({"file": str(path), "there": there, "settings": found, "problems": problems})
    else:
        state = " (not read: see below)" if tables is None and there else "" if there else " (not there)"
        click.echo(plain(f"settings file: {path}{state}"))
        _print(rows, str(path))
    for problem in problems:
        say_error(problem)
    sys.exit(BAD_INPUT if problems else 0)


def _rows(name: str, ctx: click.Context) -> Iterator[Row]:
    """Yield what each option of a command has, once each has taken its value."""
    for key, option in options_of(ctx.command).items():
        value, source = option.consume_value(ctx, {})
        if option.is_flag:
            value = ctx.params.get(option.name or "")
        if not isinstance(value, str | bool | list | tuple):
            value = None  # click's mark for what is not set
        words = option.show_default if isinstance(option.show_default, str) else None
        text = words if source is ParameterSource.DEFAULT else None
        yield Row(name, key, value, text, SOURCES.get(source, "default"), variable(name, key))


def _print(rows: list[Row], file: str) -> None:
    width = max(len(row.key) for row in rows)
    values = max(len(_shown(row)) for row in rows)
    last = None
    for row in rows:
        if row.command != last:
            last = row.command
            click.secho(f"\n[{row.command}]", bold=True)
        where = {"file": file, "variable": row.variable}.get(row.source)
        origin = click.style(plain(where), fg="green") if where else click.style(row.source, dim=True)
        click.echo(f"{row.key:{width}}  {_shown(row):{values}}  {origin}")


def _shown(row: Row) -> str:
    if row.default_text or row.value in (None, (), []):
        return row.default_text or UNKNOWN
    if isinstance(row.value, bool):
        return str(row.value).lower()
    parts = row.value if isinstance(row.value, list | tuple) else [row.value]
    return plain(" ".join(", ".join(map(str, parts)).split()))


def _write(commands: Mapping[str, click.Command]) -> None:
    """Write the settings file with every option as a comment, where there is none."""
    path = settings_path()
    lines = ["# Settings of concwatch: remove the # before a key to set it."]
    for name, command in commands.items():
        lines += ["", f"[{name}]"]
        for key, option in options_of(command).items():
            lines += textwrap.wrap(option.help or "", 100, initial_indent="# ", subsequent_indent="# ")
            lines.append(f"#{key} = {_example(option)}")
    try:
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, "is there already")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, "\n".join([*lines, ""]))
    except OSError as error:
        raise click.UsageError(f"--init: {path}: {error.strerror}: expected a name for a new file") from None
    click.echo(plain(str(path)))


def _example(option: click.Option) -> str:
    """Return what an option has by default, or what it takes, as TOML."""
    if option.is_flag:
        return str(option.default is True).lower()
    text = json.dumps(option.default if isinstance(option.default, str) else option.metavar)
    words = f"  # default: {option.show_default}" if isinstance(option.show_default, str) else ""
    return f"[{text}]{words}" if option.multiple else f"{text}{words}"
