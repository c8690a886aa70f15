"""The commands by name: each is loaded when it is asked for, and an error of any is one line."""

import sys
from importlib import import_module
from typing import Any

import click

from concwatch.commands.telling import BAD_INPUT, say_error
from concwatch.worker.workloads import nearest

NAMES = ("engines", "experiment", "run")
"""Each has its file in this folder, and its `command` there."""


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
        if args[0] not in NAMES:
            word, known = args[0][:40], NAMES
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
            say_error(f"{error.format_message()} (see {command} --help)")
            sys.exit(BAD_INPUT)
        except click.ClickException as error:
            say_error(error.format_message())
            sys.exit(BAD_INPUT)
        except (click.Abort, KeyboardInterrupt):
            sys.exit(130)
