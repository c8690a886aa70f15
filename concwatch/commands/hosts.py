"""``concwatch hosts``: which hosts there are, and what is found on each."""

import sys
from collections.abc import Sequence

import click
from msgspec import to_builtins

from concwatch.commands import configuration
from concwatch.commands.options import CLUSTER_OPTION, connect
from concwatch.commands.signals import run_until_signal
from concwatch.commands.values import HOST, known_hosts
from concwatch.console import print_columns, print_json, print_lines
from concwatch.hosts.host import Host
from concwatch.hosts.survey import HostSurvey, survey_all
from concwatch.layout import Piece
from concwatch.units import UNKNOWN, format_bytes, format_seconds

HEADS = ("host", "delay", "cores", "memory", "free", "system", "python", "besides")


@click.command("hosts")
@click.argument("chosen", metavar="[HOST]...", nargs=-1, type=HOST)
@CLUSTER_OPTION
@click.option("--json", is_flag=True, help="One JSON list on standard output.")
def command(chosen: Sequence[Host | None], cluster: str | None, json: bool) -> None:
    """List the hosts of the settings, or each HOST: what is found there, or why it cannot be reached.

    A host is a command that reaches it, such as "ssh -T web1", or a name from the settings file:

    \b
      [hosts.web1]
      command = "ssh -T web1"
      python = "python3.12"       where python3 is not the one to use

    Nothing is installed there: what runs is sent, and ends with the connection.

    Exit status 1 if one cannot be reached.
    """
    try:
        named = chosen if chosen or cluster else list(known_hosts().values())
        hosts = [host for host in connect(named, cluster)[0] if host]
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    if not hosts:
        raise click.UsageError(
            f'no hosts: expected one, such as "ssh -T web1", or tables [hosts.NAME] in '
            f"{configuration.settings_path()}"
        )
    found, stopped = run_until_signal(survey_all(hosts))
    if found is None:
        sys.exit(128 + stopped)
    if json:
        print_json([_as_json(one) for one in found])
    else:
        _print(found)
    sys.exit(int(any(one.problem for one in found)))


def _as_json(one: HostSurvey) -> dict[str, object]:
    figures: dict[str, object] = to_builtins(one.figures) if one.figures else {}
    kept = ("system", "processor", "cores", "memory_total", "memory_available", "memory_group", "python")
    return {
        "name": one.host.name,
        "command": list(one.host.command),
        "problem": one.problem or None,
        **{key: figures.get(key) for key in kept},
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
        print_columns([HEADS, *map(_cells, reached)], (0, 5, 6, 7))
    for one in found:
        if one.problem:
            print_lines([(Piece(f"{one.host.name}  ", ""), Piece(one.problem, "bad"))])
