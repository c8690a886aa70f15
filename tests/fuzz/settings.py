"""The settings file, read for every command."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import click

from concwatch.cli import main
from concwatch.commands.group import NAMES
from concwatch.commands.setting import SCREEN
from concwatch.commands.sources import Sources
from concwatch.toml_files import read_toml
from tests.fuzz.target import one_line, refused

FILE = "settings.toml"


@cache
def contexts() -> Mapping[str, click.Context]:
    """Give a context of each command, and of the screen."""
    root = click.Context(main, info_name="concwatch")
    found = {SCREEN: root}
    for name in NAMES:
        command = main.get_command(root, name)
        assert command is not None
        found[name] = click.Context(command, info_name=name, parent=root)
    return found


def check_settings(data: bytes) -> None:
    """Read the file, and what it says of each command."""
    try:
        tables = read_toml(data, FILE)
    except ValueError as error:
        refused(error)
        return
    sources = Sources((SCREEN, *NAMES), {}, Path(FILE), tables)
    for problem in sources.problems():
        one_line(" ".join(problem.split()))  # as they are printed
    for name, ctx in contexts().items():
        found = sources.find(name, ctx)
        for problem in found.problems:
            one_line(" ".join(problem.split()))
        assert isinstance(found.default_map(), dict)
