"""``concwatch settings``: print the value of every option and where it comes from."""

import json
import os
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
from click.core import ParameterSource

from concwatch.commands.basics import configuration
from concwatch.commands.basics.configuration import SCREEN, options_of, placeholder
from concwatch.commands.basics.console import BAD_INPUT, print_columns, print_error, print_json
from concwatch.commands.basics.settings_file import PATH_VARIABLE, settings_path
from concwatch.measure.layout import Piece
from concwatch.portable.protocol.text import flat, plain
from concwatch.portable.protocol.units import UNKNOWN
from concwatch.system.files import write_atomically

SOURCES = {ParameterSource.ENVIRONMENT: "variable", ParameterSource.DEFAULT_MAP: "file"}


SECRET = ("token",)
"""Options whose values are not shown."""

HIDDEN = "(hidden)"


@click.command(
    "settings",
    help="Print the value of every option of every command, and where it comes from.\n\n"
    "The command line overrides an environment variable, a variable overrides the settings file, and the "
    "file overrides the default.\n\n"
    "\b\nThe file is TOML, with a table for each command and a key for each option:\n"
    "  [screen]                        the options of plain concwatch\n"
    '  engines = "threads,asyncio"\n'
    "  rate = 5\n"
    "  [run]\n"
    '  max-memory = "2GiB"\n'
    "  trace = true                    a flag is true or false\n"
    '  expect = ["asyncio.rss_per_task < 2KiB"]   an option that can be repeated is a list\n\n'
    "\b\nEnvironment variables are named after command and option:\n"
    "  CONCWATCH_SCREEN_RATE=5  CONCWATCH_RUN_MAX_MEMORY=2GiB  CONCWATCH_RUN_TRACE=yes\n"
    '  CONCWATCH_RUN_EXPECT="asyncio.failed <= 0; asyncio.rss_per_task < 2KiB"\n'
    f"  {PATH_VARIABLE}=FILE names another settings file\n\n"
    "Errors in the file or in variables are printed, one per line, and the exit status is then 2. Other "
    "commands check their own settings before they run.",
)
@click.option("--json", is_flag=True, help="Print one JSON object.")
@click.option("--init", is_flag=True, help="Write a settings file with every option as a comment.")
@click.pass_context
def command(ctx: click.Context, json: bool, init: bool) -> None:
    """Print the value of every option and where it comes from."""
    group = ctx.find_root().command
    assert isinstance(group, click.Group)
    commands: dict[str, click.Command] = {SCREEN: group}
    commands |= {name: group.get_command(ctx, name) or group for name in group.list_commands(ctx)}
    path = settings_path()
    if init:
        _write(path, commands)
        return
    tables: configuration.Tables = {}
    exists, problems = os.path.lexists(path), []
    state = "" if exists else " (does not exist)"
    try:
        tables = configuration.read_tables()
    except click.ClickException as error:
        problems.append(error.message)
        state = " (not read: see below)" if exists else state
    problems += configuration.unknown_tables(tables, commands)
    problems += configuration.unknown_variables(commands)
    rows: list[dict[str, object]] = []
    for name, own in commands.items():
        resolved, wrong = configuration.resolve(name, own, tables)
        problems += wrong
        rows += _rows(name, resolved)
    problems = [flat(problem) for problem in problems]
    if json:
        print_json({"file": str(path), "there": exists, "settings": rows, "problems": problems})
    else:
        click.echo(plain(f"settings file: {path}{state}"))
        _print(rows, str(path))
    for problem in problems:
        print_error(problem)
    sys.exit(BAD_INPUT if problems else 0)


def _rows(name: str, ctx: click.Context) -> Iterator[dict[str, object]]:
    """Yield one row for each option of a command: its value without a command line, and its origin."""
    for key, option in options_of(ctx.command).items():
        value, source = option.consume_value(ctx, {})
        if option.is_flag:
            value = ctx.params.get(option.name or "")
        if key in SECRET and source is not ParameterSource.DEFAULT:
            value = HIDDEN
        words = option.show_default if source is ParameterSource.DEFAULT else None
        yield {
            "command": name,
            "key": key,
            "value": value if isinstance(value, str | bool | list) else None,  # click's UNSET
            "default": words if isinstance(words, str) else None,
            "source": SOURCES.get(source, "default"),
            "variable": configuration.variable(name, key),
        }


def _print(rows: list[dict[str, object]], file: str) -> None:
    lines: list[tuple[str | Piece, ...]] = []
    for row, before in zip(rows, [None, *rows], strict=False):
        if before is None or row["command"] != before["command"]:
            lines += [("", "", ""), (Piece(f"[{row['command']}]", "heading"), "", "")]
        origin = {"file": Piece(file, "good"), "variable": Piece(str(row["variable"]), "good")}
        found = origin.get(str(row["source"]), Piece("default", "quiet"))
        lines.append((str(row["key"]), _shown(row), found))
    print_columns(lines, range(3), header=False)


def _shown(row: Mapping[str, object]) -> str:
    match row["value"]:
        case bool() as on:
            return str(on).lower()
        case list() as parts:
            return ", ".join(map(str, parts))
        case value:
            return str(value or row["default"] or UNKNOWN)


def _write(path: Path, commands: Mapping[str, click.Command]) -> None:
    """Write a settings file with every option as a comment, unless the file exists."""
    lines = ["# Settings of concwatch: remove the # before a key to set it."]
    for name, command in commands.items():
        lines += ["", f"[{name}]"]
        for key, option in options_of(command).items():
            lines += textwrap.wrap(option.help or "", 100, initial_indent="# ", subsequent_indent="# ")
            lines.append(f"#{key} = {_example(option)}")
    if os.path.lexists(path):
        raise click.UsageError(f'--init: "{path}" already exists: edit it, or delete it first')
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, "\n".join([*lines, ""]))
    except OSError as error:
        problem = f'--init: file "{path}" cannot be written ({error.strerror})'
        raise click.UsageError(problem) from None
    click.echo(plain(str(path)))


def _example(option: click.Option) -> str:
    """Return the default of an option, or its placeholder, as TOML."""
    if option.is_flag:
        return str(option.default is True).lower()
    text = json.dumps(option.default if isinstance(option.default, str) else placeholder(option))
    words = f"  # default: {option.show_default}" if isinstance(option.show_default, str) else ""
    return f"[{text}]{words}" if option.multiple else f"{text}{words}"
