"""``concwatch serve``: the screen in a browser."""

import asyncio
import importlib.util
import re
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click
from click.core import ParameterSource

from concwatch.commands.basics.console import print_error, print_note
from concwatch.commands.basics.exits import exit_with
from concwatch.commands.basics.options import SCREEN, options
from concwatch.commands.basics.signals import run_until_signal
from concwatch.commands.basics.values import FOLDER, Parsed, number_parser
from concwatch.portable.protocol.text import unknown_name
from concwatch.system.child import concwatch_command

NO_TOKEN = "none"
"""The value of ``--token`` that admits everybody."""

SHUTDOWN_TIMEOUT = 8.0
"""Seconds that open sessions get to end when the server ends."""


def _name(text: str) -> str:
    # These characters are enough: names with letters beyond ASCII are encoded as "xn--…".
    if not re.fullmatch(r"[A-Za-z0-9._-]+", text):
        expected = "expected the host name of an address, without scheme and port, such as box.example.org"
        raise ValueError(f'"{text[:40]}" is not a host name; {expected}')
    return text


def _token(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._~-]+", text):
        raise ValueError("not a token; expected letters, digits and . _ ~ - only, or none")
    return text


PAGE_ATTRIBUTES: dict[str, dict[str, Any]] = {
    "--max-memory": {
        "help": 'Memory that all workers of one page together may use, such as "2GiB" or "60%".'
    },
    "--screenshots": {"help": "Folder on this machine in which pages save screenshots."},
    "--recordings": {"help": "Folder on this machine in which pages save recordings.", "type": FOLDER},
}
"""The attributes of options that differ from those of the screen."""


def _page_option(name: str) -> dict[str, Any]:
    """Return an option of the screen whose value is validated but stays a string, to be passed to pages."""
    attributes = {**SCREEN[name], **PAGE_ATTRIBUTES.get(name, {})}
    return {key: value.as_text() if key == "type" else value for key, value in attributes.items()}


PAGE = {name: _page_option(name) for name in SCREEN if name not in ("--record", "--host")}


OTHER_SCREENS = ("watch", "attach", "replay")
"""Other commands that show a screen."""


@click.command("serve", context_settings={"allow_interspersed_args": False})
@click.option("--host", default="127.0.0.1", metavar="HOST", help="Host name or address to listen on.")
@click.option(
    "--name",
    type=Parsed("name", _name),
    multiple=True,
    help="Another host name under which browsers may request pages, such as that of a reverse proxy. "
    "Can be repeated.",
)
@click.option(
    "--port",
    type=Parsed(
        "n", number_parser(0, 65_535, "not a port; expected a number from 0 (any free port) to 65,535", int)
    ),
    default="8000",
    help="Port to listen on; 0 for any free port.",
)
@click.option(
    "--token",
    type=Parsed("text|none", _token),
    metavar="TEXT|none",
    help="The token in the address; by default a new one at each start. With none, any user of this machine "
    "can open the screen. Other users can read command lines, so set it in the settings file.",
)
@options(PAGE)
@click.argument(
    "arguments", metavar="[-- OPTION...|watch|attach|replay ...]", nargs=-1, type=click.UNPROCESSED
)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    host: str,
    port: int,
    name: tuple[str, ...],
    token: str | None,
    arguments: tuple[str, ...],
    **screen: str | bool | None,
) -> None:
    """Show the screen in a browser. Prints the address to open.

    Each page is a session with its own lanes and workers, which end when the page is closed. Screenshots
    and recordings (keys s, S and r) can also be downloaded. Ctrl-C ends everything. Needs the extra "web".

    The options below apply to the screen of each page. Its --host option goes after "--":
    concwatch serve --port 80 -- --host web1. To show the screen of another command, put that command last:
    concwatch serve attach PID.

    Anyone who opens the address can run code on this machine as you. The address contains a token; requests
    without it are refused, unless the browser has got a cookie for it. Unless --host is given, only this
    machine can reach it.
    """
    problem = _missing()
    if problem:
        raise click.ClickException(problem)
    options = list(_arguments(ctx, screen))
    if arguments and arguments[0].startswith("-"):
        _check_options(ctx, arguments)
    elif arguments and arguments[0] not in OTHER_SCREENS:
        raise click.UsageError(unknown_name("command", arguments[0], OTHER_SCREENS))
    elif arguments and options:
        command = arguments[0]
        raise click.UsageError(
            f'{options[0]} is not an option of "{command}"; expected only options of "{command}", after it'
        )
    # Imported late: this loads aiohttp.
    from concwatch.web.door import new_token
    from concwatch.web.listening import listen, own_names, read_address, url

    try:
        listening = listen(host, port)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    with listening:
        here, port = listening.getsockname()[:2]
        found = read_address(here)
        only_here = found is not None and found.is_loopback
        secret = None if token == NO_TOKEN else token or new_token()
        if not only_here:
            who = "anyone" if secret is None else "anyone with the token"
            print_error(
                f"warning: {who} who can reach {here}, port {port}, can run code on this machine as you"
            )
        known = {host, *name, *(() if only_here else own_names())}
        served = _serve(listening, [*options, *arguments], known, url(here, port), secret)
        _, stopped = run_until_signal(served)
    exit_with(-stopped)


def _check_options(ctx: click.Context, arguments: Sequence[str]) -> None:
    """Raise a click.UsageError unless the options of the screen are valid."""
    screen = ctx.find_root().command
    words = click.Command.parse_args(screen, click.Context(screen, info_name="concwatch"), list(arguments))
    if words:
        raise click.UsageError(f'"{words[0]}" after "--"; expected only options of the screen')


def _arguments(ctx: click.Context, screen: Mapping[str, str | bool | None]) -> Iterator[str]:
    """Yield the arguments for the program of each page: the options of the screen that are set."""
    for name, value in screen.items():
        if ctx.get_parameter_source(name) is ParameterSource.DEFAULT:
            continue
        option = name.replace("_", "-")
        if isinstance(value, bool):
            yield f"--{option}" if value else f"--no-{option}"
        else:
            yield f"--{option}={value}"  # one argument, since a value may begin with a dash


def _missing() -> str | None:
    if sys.platform == "win32":
        return '"serve" does not run on Windows, where a session could outlive its page'
    if importlib.util.find_spec("textual_serve") is None:
        return "\"serve\" needs textual-serve: pip install 'concwatch[web]'"
    return None


async def _serve(
    listening: socket.socket, options: list[str], names: set[str], where: str, token: str | None
) -> None:
    """Serve pages until cancelled."""
    from aiohttp import web

    from concwatch.web.door import with_token
    from concwatch.web.log import log_in_one_line
    from concwatch.web.site import HEARTBEAT, Site

    log_in_one_line(print_note)
    site = Site(concwatch_command(*options), names, HEARTBEAT, token)
    runner = web.AppRunner(site.app(), access_log=None, shutdown_timeout=SHUTDOWN_TIMEOUT)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        address = with_token(where, token)
        click.echo(f"concwatch: open {address} in a browser; Ctrl-C ends it and all of its tasks")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
