"""The group of all commands: loads each on demand, applies the settings, prints each error as one line."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

import click
from click.core import augment_usage_errors

from concwatch.commands.basics import configuration
from concwatch.commands.basics.completion import VARIABLE
from concwatch.commands.basics.configuration import SCREEN
from concwatch.commands.basics.console import BAD_INPUT, clean_exit, discard_output, print_error
from concwatch.commands.basics.exits import INTERRUPTED, UNREAD, exit_with
from concwatch.commands.basics.settings_file import PREFIX
from concwatch.portable.protocol.text import unknown_name
from concwatch.web.in_page import in_page

ROOMS = {
    "attach": "watching",
    "compare": "measuring",
    "completion": "basics",
    "dashboard": "watching",
    "demo": "screens",
    "doctor": "measuring",
    "engines": "measuring",
    "experiment": "measuring",
    "export": "playing",
    "flame": "watching",
    "hosts": "measuring",
    "metrics": "measuring",
    "recordings": "playing",
    "replay": "playing",
    "run": "measuring",
    "serve": "screens",
    "settings": "basics",
    "sweep": "measuring",
    "watch": "watching",
}
"""The package below this one with the module of each command, which has its name and defines `command`."""

NAMES = tuple(ROOMS)

ALIASES = {"figures": "metrics"}
"""Former names of commands, which are not listed."""

LENIENT = "settings"
"""The command that runs even if the settings are wrong, since it prints what is wrong."""


class Commands(click.Group):
    """Commands whose errors are one line: what is wrong, what was expected, and which help says more."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        if cmd_name not in NAMES:
            return None
        found: click.Command = import_module(f"concwatch.commands.{ROOMS[cmd_name]}.{cmd_name}").command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command and apply its settings.

        Raises:
            click.UsageError: there is no such command; the message suggests the nearest.
        """
        args = [ALIASES.get(args[0], args[0]), *args[1:]]
        if args[0] not in NAMES:
            raise click.UsageError(unknown_name("command", args[0], NAMES), ctx)
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and command is not None and not ctx.resilient_parsing:
            own = click.Context(command, info_name=name, parent=ctx, **command.context_settings)
            if is_run(own, rest):
                ctx.default_map = {name: self._default_map(name, command)}
                ctx.auto_envvar_prefix = PREFIX
        return name, command, rest

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options. Apply the settings of the screen if no command follows.

        Not in a page of ``serve``, which gets all its options on the command line.
        """
        if not ctx.resilient_parsing and is_run(ctx, args) and not in_page():
            ctx.default_map = self._default_map(SCREEN, self)
            ctx.auto_envvar_prefix = configuration.prefix(SCREEN)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands with the first sentence of each help, not shortened."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(limit=1_000)) for name, one in commands if one])

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parse the arguments, which may already print something, such as the help."""
        with _exit_on_broken_pipe():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _exit_on_broken_pipe():
            return super().invoke(ctx)

    def _default_map(self, name: str, command: click.Command) -> dict[str, object]:
        """Return the settings of a command for click's `default_map`.

        Raises:
            click.ClickException: one line that says what is wrong in the file or the command's variables.
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
        """Run and exit. A wrong argument is one line on standard error and exit status 2."""
        kwargs["standalone_mode"] = False
        kwargs["prog_name"] = "concwatch"
        kwargs["complete_var"] = VARIABLE
        try:
            with clean_exit():
                sys.exit(super().main(*args, **kwargs) or 0)
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else "concwatch"
            print_error(f"{configuration.message_with_origin(error)} (see {command} --help)")
            sys.exit(BAD_INPUT)
        except click.ClickException as error:
            print_error(error.format_message())
            sys.exit(BAD_INPUT)
        except click.Abort:
            exit_with(INTERRUPTED)


@contextmanager
def _exit_on_broken_pipe() -> Iterator[None]:
    """Exit silently, by SIGPIPE, if the reader of standard output has gone.

    Click would exit with 1, which has other meanings for some commands.
    """
    try:
        yield
    except BrokenPipeError:
        discard_output(sys.stdout.fileno())  # Python would fail to flush the rest at exit, and print an error
        exit_with(UNREAD)


def is_run(ctx: click.Context, args: Sequence[str]) -> bool:
    """Return whether the arguments run the command itself, not a subcommand and not its help.

    Raises:
        click.UsageError: an option is unknown or has no value; its context is that of the command.
    """
    if not args:  # parsing nothing would delay the first frame by a third of a millisecond
        return True
    with augment_usage_errors(ctx):
        _, rest, order = ctx.command.make_parser(ctx).parse_args(list(args))
    subcommand = bool(rest) and isinstance(ctx.command, click.Group)
    return not subcommand and not any(option.is_eager for option in order)
