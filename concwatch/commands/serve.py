"""``concwatch serve``: the screen in a browser."""

import asyncio
import importlib.util
import re
import socket
import sys
from collections.abc import Callable
from typing import Any

import click

from concwatch.commands.options import ENGINES, FOLDER, RATE, SIZE, Parsed
from concwatch.commands.signals import run_until_signal
from concwatch.console import print_error
from concwatch.lab.catalog import SHOWN
from concwatch.lab.lab import DEFAULT_HZ
from concwatch.system.child import concwatch_command

ENDING = 8.0
"""Seconds that open sessions get to end when the server ends."""


def _port(text: str) -> int:
    if not (text.isdecimal() and int(text) <= 65_535):
        raise ValueError(f'"{text[:40]}" is no port: expected a number from 0 (any free one) to 65,535')
    return int(text)


def _name(text: str) -> str:
    # In an address other names are written with these signs too: "xn--…" stands for letters beyond ASCII.
    if not re.fullmatch(r"[A-Za-z0-9._-]+", text):
        expected = "expected it as it stands in an address, without scheme and port, such as box.example.org"
        raise ValueError(f'"{text[:40]}" is no name: {expected}')
    return text


def _checked(
    read: Callable[[str], Any],
) -> Callable[[click.Context, click.Parameter, str | None], str | None]:
    """Have ``read`` refuse what makes no sense, and give the text itself: each session reads it anew."""

    def check(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
        if text is not None:
            read(text)
        return text

    return check


@click.command("serve")
@click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="HOST", help="Name or address to listen on."
)
@click.option(
    "--name",
    type=Parsed(_name),
    multiple=True,
    metavar="NAME",
    help="One more name under which browsers may ask for pages, such as that of a reverse proxy. "
    "Can be repeated.",
)
@click.option(
    "--port",
    type=Parsed(_port),
    default="8000",
    show_default=True,
    metavar="N",
    help="Port; 0 takes any that is free.",
)
@click.option(
    "--engines",
    callback=_checked(ENGINES),
    metavar="a,b",
    show_default=",".join(engine.name for engine in SHOWN),
    help="Lanes to show, by engine.",
)
@click.option(
    "--max-memory",
    callback=_checked(SIZE),
    metavar="SIZE",
    show_default="80%",
    help='Memory that the workers of one page may take together, such as "2GiB" or "60%".',
)
@click.option(
    "--rate",
    callback=_checked(RATE),
    metavar="HZ",
    show_default=f"{DEFAULT_HZ:g}",
    help="Samples a second.",
)
@click.option(
    "--screenshots",
    callback=_checked(FOLDER),
    metavar="FOLDER",
    show_default="screenshots",
    help="Where, on this machine, pages save pictures.",
)
@click.option(
    "--recordings",
    callback=_checked(FOLDER),
    metavar="FOLDER",
    show_default="recordings",
    help="Where, on this machine, pages put recordings.",
)
def command(host: str, port: int, name: tuple[str, ...], **screen: str | None) -> None:
    """Show the screen in a browser, at the address that is printed.

    Each page is a session of its own, with its own lanes and workers, which end when the page is closed.
    Ctrl-C ends all. Needs the extra "web", and no terminal.

    Whoever reaches the address can start tasks on this machine, so without --host only this machine can.
    """
    problem = _missing()
    if problem:
        raise click.ClickException(problem)
    # Only here: this loads aiohttp.
    from concwatch.web.listening import address, is_loopback, listen, own_names, url

    try:
        listening = listen(host, port)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    # One word each: a value that begins with a dash is a value all the same.
    handed_on = [f"--{key.replace('_', '-')}={value}" for key, value in screen.items() if value is not None]
    with listening:
        here = address(listening)
        only_here = is_loopback(here[0])
        if not only_here:
            print_error(
                f"warning: whoever reaches {here[0]}, port {here[1]}, can start tasks on this machine"
            )
        known = {host, *name, *(() if only_here else own_names())}
        _, stopped = run_until_signal(_serve(listening, handed_on, known, url(*here)))
    sys.exit(128 + stopped)


def _missing() -> str | None:
    if sys.platform == "win32":
        return '"serve" is not there on Windows: a session could outlive its page'
    if importlib.util.find_spec("textual_serve") is None:
        return "\"serve\" needs textual-serve: pip install 'concwatch[web]'"
    return None


async def _serve(listening: socket.socket, options: list[str], names: set[str], where: str) -> None:
    """Serve pages until this is cancelled."""
    from aiohttp import web

    from concwatch.web.log import tell_in_one_line
    from concwatch.web.site import HEARTBEAT, Site

    tell_in_one_line()
    site = Site(concwatch_command(*options), names, HEARTBEAT)
    runner = web.AppRunner(site.app(), access_log=None, shutdown_timeout=ENDING)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        click.echo(f"concwatch: open {where} in a browser; Ctrl-C ends it and every task that it started")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
