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

from concwatch.commands.options import SCREEN, options
from concwatch.commands.signals import run_until_signal
from concwatch.commands.values import FOLDER, Parsed, number
from concwatch.console import print_error
from concwatch.system.child import concwatch_command
from concwatch.text import unknown

ENDING = 8.0
"""Seconds that open sessions get to end when the server ends."""


def _name(text: str) -> str:
    # In an address other names are written with these signs too: "xn--…" stands for letters beyond ASCII.
    if not re.fullmatch(r"[A-Za-z0-9._-]+", text):
        expected = "expected it as it stands in an address, without scheme and port, such as box.example.org"
        raise ValueError(f'"{text[:40]}" is no name: {expected}')
    return text


HERE: dict[str, dict[str, Any]] = {
    "--max-memory": {
        "help": 'Memory that the workers of one page may take together, such as "2GiB" or "60%".'
    },
    "--screenshots": {"help": "Where, on this machine, pages save pictures."},
    "--recordings": {"help": "Where, on this machine, pages put recordings.", "type": FOLDER},
}
"""What is other about options of the screen when it is a page."""


def _page_option(name: str) -> dict[str, Any]:
    """Return an option of the screen whose value stays a text once it is checked: each page reads it."""
    attributes = {**SCREEN[name], **HERE.get(name, {})}
    return {key: value.as_text() if key == "type" else value for key, value in attributes.items()}


PAGE = {name: _page_option(name) for name in SCREEN if name not in ("--record", "--host")}


OTHERS = ("watch", "attach", "replay")
"""Commands with a screen of their own."""


@click.command("serve", context_settings={"allow_interspersed_args": False})
@click.option("--host", default="127.0.0.1", metavar="HOST", help="Name or address to listen on.")
@click.option(
    "--name",
    type=Parsed("name", _name),
    multiple=True,
    help="One more name under which browsers may ask for pages, such as that of a reverse proxy. "
    "Can be repeated.",
)
@click.option(
    "--port",
    type=Parsed("n", number(0, 65_535, "no port: expected a number from 0 (any free one) to 65,535", int)),
    default="8000",
    help="Port; 0 takes any that is free.",
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
    arguments: tuple[str, ...],
    **screen: str | bool | None,
) -> None:
    """Show the screen in a browser, at the address that is printed.

    With a command behind it, each page shows that one's screen, such as: concwatch serve attach PID.
    Behind "--" stand options of the screen, --host among them: concwatch serve --port 80 -- --host web1.

    Each page is a session of its own, with its own lanes and workers, which end when the page is closed.
    What the keys s, S and r save is offered as a download, too. Ctrl-C ends all. Needs the extra "web", and
    no terminal.

    Whoever reaches the address can start tasks on this machine, so without --host only this machine can.
    """
    problem = _missing()
    if problem:
        raise click.ClickException(problem)
    options = list(_arguments(ctx, screen))
    if arguments and arguments[0].startswith("-"):
        _check_options(ctx, arguments)
    elif arguments and arguments[0] not in OTHERS:
        raise click.UsageError(unknown("command", arguments[0], OTHERS))
    elif arguments and options:
        command = arguments[0]
        raise click.UsageError(
            f'{options[0]} before "{command}" is for the screen: expected options of "{command}" behind it'
        )
    # Only here: this loads aiohttp.
    from concwatch.web.listening import listen, own_names, read_address, url

    try:
        listening = listen(host, port)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    with listening:
        here, port = listening.getsockname()[:2]
        found = read_address(here)
        only_here = found is not None and found.is_loopback
        if not only_here:
            print_error(f"warning: whoever reaches {here}, port {port}, can start tasks on this machine")
        known = {host, *name, *(() if only_here else own_names())}
        _, stopped = run_until_signal(_serve(listening, [*options, *arguments], known, url(here, port)))
    sys.exit(128 + stopped)


def _check_options(ctx: click.Context, arguments: Sequence[str]) -> None:
    """Parse options of the screen as each page will.

    Raises:
        click.UsageError: one line that says what is wrong with them.
    """
    screen = ctx.find_root().command
    words = click.Command.parse_args(screen, click.Context(screen, info_name="concwatch"), list(arguments))
    if words:
        raise click.UsageError(f'"{words[0]}" behind "--": expected options of the screen alone')


def _arguments(ctx: click.Context, screen: Mapping[str, str | bool | None]) -> Iterator[str]:
    """Yield the options of the screen that are set, as the program of each page is given them."""
    for name, value in screen.items():
        if ctx.get_parameter_source(name) is ParameterSource.DEFAULT:
            continue
        option = name.replace("_", "-")
        if isinstance(value, bool):
            yield f"--{option}" if value else f"--no-{option}"
        else:
            yield f"--{option}={value}"  # one word, since a value may begin with a dash


def _missing() -> str | None:
    if sys.platform == "win32":
        return '"serve" is not there on Windows: a session could outlive its page'
    if importlib.util.find_spec("textual_serve") is None:
        return "\"serve\" needs textual-serve: pip install 'concwatch[web]'"
    return None


async def _serve(listening: socket.socket, options: list[str], names: set[str], where: str) -> None:
    """Serve pages until this is cancelled."""
    from aiohttp import web

    from concwatch.web.log import log_in_one_line
    from concwatch.web.site import HEARTBEAT, Site

    log_in_one_line()
    site = Site(concwatch_command(*options), names, HEARTBEAT)
    runner = web.AppRunner(site.app(), access_log=None, shutdown_timeout=ENDING)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        click.echo(f"concwatch: open {where} in a browser; Ctrl-C ends it and every task that it started")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
