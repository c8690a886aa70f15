"""``concwatch hosts``: list hosts and what is installed on each."""

import sys
from collections.abc import Sequence

import click
from msgspec import to_builtins

from concwatch.commands.basics.console import print_columns, print_json, print_lines
from concwatch.commands.basics.exits import exit_with
from concwatch.commands.basics.options import connect_hosts, examined_cluster
from concwatch.commands.basics.settings_file import settings_path
from concwatch.commands.basics.signals import run_until_signal
from concwatch.commands.basics.values import HOST, configured_hosts
from concwatch.hosts.host import Host
from concwatch.hosts.survey import HostSurvey, survey_all
from concwatch.measure.layout import Piece
from concwatch.portable.protocol.units import UNKNOWN, format_bytes, format_seconds

HEADER = ("host", "delay", "cores", "memory", "free", "system", "python", "also installed")


@click.command("hosts")
@click.argument("chosen", metavar="[HOST]...", nargs=-1, type=HOST)
@examined_cluster
@click.option("--json", is_flag=True, help="Print one JSON list.")
def command(chosen: Sequence[Host | None], cluster: str | None, json: bool) -> None:
    """List each HOST, or all hosts of the settings: what is installed there, or why it cannot be reached.

    A HOST is a command that reaches it, such as "ssh -T web1", or a name from the settings file:

    \b
      [hosts.web1]
      command = "ssh -T web1"
      python = "python3.12"       if not python3

    Nothing needs to be installed there but Python: the program is sent, and ends with the connection.

    The exit status is 1 if a host cannot be reached.
    """
    try:
        named = chosen if chosen or cluster else list(configured_hosts().values())
        hosts = [host for host in connect_hosts(named, cluster)[0] if host]
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    if chosen and not hosts:
        raise click.UsageError('"local" is this machine; name another host')
    if not hosts:
        raise click.UsageError(
            f'no host is named; give one, such as "ssh -T web1", or a table [hosts.NAME] in {settings_path()}'
        )
    found, stopped = run_until_signal(survey_all(hosts))
    if found is None:
        exit_with(-stopped)
    if json:
        print_json([_as_json(one) for one in found])
    else:
        _print(found)
    sys.exit(int(any(one.problem for one in found)))


def _as_json(one: HostSurvey) -> dict[str, object]:
    figures: dict[str, object] = to_builtins(one.figures) if one.figures else {}
    keys = ("system", "processor", "cores", "memory_total", "memory_available", "memory_group", "python")
    return {
        "name": one.host.name,
        "command": list(one.host.command),
        "problem": one.problem or None,
        **{key: figures.get(key) for key in keys},
        "walls": figures.get("walls", []),
        "pythons": list(one.found.pythons) if one.found else [],
        "tools": list(one.found.tools) if one.found else [],
        "delay": one.delay,
    }


def _cells(one: HostSurvey) -> Sequence[str]:
    figures, found = one.figures, one.found
    assert figures is not None
    assert found is not None
    return (
        one.host.name,
        UNKNOWN if one.delay is None else format_seconds(one.delay),
        str(figures.cores),
        format_bytes(figures.memory_total),
        format_bytes(figures.memory_available) + (" (control group)" if figures.memory_group else ""),
        f"{figures.system} {figures.processor}",
        figures.python,
        " ".join((*found.pythons, *found.tools)),
    )


def _print(found: Sequence[HostSurvey]) -> None:
    reached = [one for one in found if not one.problem]
    if reached:
        print_columns([HEADER, *map(_cells, reached)], (0, 5, 6, 7))
    for one in found:
        if one.problem:
            print_lines([(Piece(f"{one.host.name}  ", ""), Piece(one.problem, "bad"))])
