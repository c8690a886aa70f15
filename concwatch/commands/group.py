"""The commands by name: each is loaded when it is asked for, and an error of any is one line."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

import click

from concwatch.commands import configuration
from concwatch.commands.completion import VARIABLE
from concwatch.commands.configuration import SCREEN
from concwatch.console import BAD_INPUT, UNREAD, discard_output, is_unwritable, print_error
from concwatch.text import unknown
from concwatch.ui.in_page import in_page

NAMES = (
    "attach",
    "compare",
    "completion",
    "demo",
    "doctor",
    "engines",
    "experiment",
    "export",
    "figures",
    "hosts",
    "recordings",
    "replay",
    "run",
    "serve",
    "settings",
    "watch",
)
"""Each has its file in this folder, and its `command` there."""

LENIENT = "settings"
"""The command that runs even if the settings are wrong, since it prints what is."""


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
            raise click.UsageError(unknown("command", args[0], NAMES), ctx)
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and command is not None and not ctx.resilient_parsing:
            own = click.Context(command, info_name=name, parent=ctx, **command.context_settings)
            if runs(own, rest):
                ctx.default_map = {name: self._default_map(name, command)}
                ctx.auto_envvar_prefix = configuration.PREFIX
        return name, command, rest

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options, with their settings where no command follows.

        A page of ``serve`` has all its options on the command line: it goes by the settings of ``serve``.
        """
        if not ctx.resilient_parsing and runs(ctx, args) and not in_page():
            ctx.default_map = self._default_map(SCREEN, self)
            ctx.auto_envvar_prefix = configuration.prefix(SCREEN)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each command does, its first sentence whole."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(limit=1_000)) for name, one in commands if one])

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the arguments; what they ask for, such as help, may be printed already."""
        with _until_unread():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run; what is written may be unread."""
        with _until_unread():
            return super().invoke(ctx)

    def _default_map(self, name: str, command: click.Command) -> dict[str, object]:
        """Return what the file says of a command's options.

        Raises:
            click.ClickException: one line: what is wrong with the file or the command's variables.
        """
        names = (SCREEN, *NAMES)
        if name == LENIENT:
            with suppress(click.ClickException):
                return configuration.default_map(name, command, configuration.read_tables())[0]
            return {}
        for problem in configuration.unknown_variables(names):
            print_error(f"warning: {problem}")
        tables = configuration.read_tables()
        values, problems = configuration.default_map(name, command, tables)
        for problem in (*configuration.unknown_tables(tables, names), *problems):
            raise click.ClickException(problem)
        return values

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run, and show a wrong argument as one line with exit status 2."""
        kwargs["standalone_mode"] = False
        kwargs["prog_name"] = "concwatch"
        kwargs["complete_var"] = VARIABLE
        try:
            sys.exit(super().main(*args, **kwargs) or 0)
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else "concwatch"
            print_error(f"{configuration.located(error)} (see {command} --help)")
            sys.exit(BAD_INPUT)
        except click.ClickException as error:
            print_error(error.format_message())
            sys.exit(BAD_INPUT)
        except (click.Abort, KeyboardInterrupt):
            sys.exit(130)
        except OSError as error:
            if not is_unwritable(error):
                raise
            discard_output(sys.stdout.fileno())
            print_error(f"standard output: {error.strerror}: what was to be written there is lost")
            sys.exit(1)


@contextmanager
def _until_unread() -> Iterator[None]:
    """End quietly, with a status of its own, when nobody reads standard output any more.

    Click would end with 1, which of some commands means that something fails.
    """
    try:
        yield
    except BrokenPipeError:
        discard_output(sys.stdout.fileno())  # Python would try to write the rest as it ends, and complain
        raise click.exceptions.Exit(UNREAD) from None


def runs(ctx: click.Context, args: Sequence[str]) -> bool:
    """Return whether these arguments run a context's command itself, not one below it, and not its help."""
    _, rest, order = ctx.command.make_parser(ctx).parse_args(list(args))
    below = bool(rest) and isinstance(ctx.command, click.Group)
    return not below and not any(option.is_eager for option in order)
