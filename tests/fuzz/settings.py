"""The settings file, read for every command."""

from functools import cache

import click

from concwatch.cli import main
from concwatch.commands.configuration import SCREEN, resolve, unknown_tables
from concwatch.commands.group import NAMES
from concwatch.files import read_toml
from tests.fuzz.target import one_line, refused


@cache
def commands() -> dict[str, click.Command]:
    """Return each command by its name, and the screen."""
    root = click.Context(main, info_name="concwatch")
    found = {SCREEN: main, **{name: main.get_command(root, name) for name in NAMES}}
    return {name: command for name, command in found.items() if command is not None}


def check_settings(data: bytes) -> None:
    """Read the file, and what it says of each command."""
    try:
        tables = read_toml(data, "settings.toml")
    except ValueError as error:
        refused(error)
        return
    for problem in unknown_tables(tables, commands()):
        one_line(" ".join(problem.split()))  # as they are printed
    for name, command in commands().items():
        for problem in resolve(name, command, tables)[1]:
            one_line(" ".join(problem.split()))
