"""The commands by name: each is loaded when it is asked for, and an error of any is one line."""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from concwatch.commands.setting import SCREEN
from concwatch.commands.sources import Sources
from concwatch.commands.telling import BAD_INPUT, say_error
from concwatch.streams import is_unwritable, let_go
from concwatch.worker.workloads import nearest

NAMES = (
    "compare",
    "demo",
    "doctor",
    "engines",
    "experiment",
    "export",
    "recordings",
    "replay",
    "run",
    "serve",
    "settings",
)
"""Each has its file in this folder, and its `command` there."""

TELLS = "settings"
"""The command that runs whatever is wrong with the settings: it tells what."""


class Commands(click.Group):
    """Commands whose errors are one line: what, what was expected, and which help says more."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names."""
        return list(NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the command."""
        if cmd_name not in NAMES:
            return None
        found: click.Command = import_module(f"concwatch.commands.{cmd_name}").command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name the nearest."""
        word, known = args[0][:40], self.list_commands(ctx)
        if args[0] not in known:
            raise click.UsageError(
                f'unknown command "{word}": expected one of {", ".join(known)}{nearest(word, known)}', ctx
            )
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and command is not None:
            own = click.Context(command, info_name=name, parent=ctx, **command.context_settings)
            if runs(own, rest):
                ctx.default_map = {name: self._values(own, name)}
        return name, command, rest

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options, with what files and variables say of them if it is they that count."""
        if runs(ctx, args):
            ctx.default_map = self._values(ctx, SCREEN)
        return super().parse_args(ctx, args)

    def _values(self, ctx: click.Context, name: str) -> dict[str, object]:
        """Give what files and variables say of the options of a context's command."""
        sources = Sources.of(self.list_commands(ctx))
        problems = []
        try:
            sources = sources.read()
        except ValueError as error:
            problems.append(str(error))
        found = sources.find(name, ctx)
        for problem in (*problems, *sources.problems(), *found.problems):
            if name != TELLS:
                raise click.ClickException(problem)
        return found.default_map()

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run, and show a wrong argument as one line with exit status 2."""
        kwargs["standalone_mode"] = False
        kwargs["prog_name"] = "concwatch"
        try:
            sys.exit(super().main(*args, **kwargs) or 0)
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else "concwatch"
            say_error(f"{error.format_message()} (see {command} --help)")
            sys.exit(BAD_INPUT)
        except click.ClickException as error:
            say_error(error.format_message())
            sys.exit(BAD_INPUT)
        except (click.Abort, KeyboardInterrupt):
            sys.exit(130)
        except OSError as error:
            if not is_unwritable(error):
                raise
            let_go(sys.stdout.fileno())
            say_error(f"standard output: {error.strerror}: what was to be written there is lost")
            sys.exit(1)


def runs(ctx: click.Context, args: Sequence[str]) -> bool:
    """Tell whether these arguments run a context's command itself, not one below it, and not its help."""
    _, rest, order = ctx.command.make_parser(ctx).parse_args(list(args))
    below = bool(rest) and isinstance(ctx.command, click.Group)
    return not below and not any(option.is_eager for option in order)
