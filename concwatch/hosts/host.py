"""Hosts: their names, how to reach them, and which Python to use there."""

import shutil
from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct, structs

from concwatch.links.link import Arrival
from concwatch.portable.protocol.text import one_line, suggest

LOCAL = "local"
"""The name of this machine."""

PYTHON = "python3"


class Pipe(Protocol):
    """The standard streams of a bridge on a host."""

    echoed: float
    """When the last echo arrived."""

    @property
    def error_line(self) -> str:
        """The line of its standard error so far that best explains its exit."""
        ...

    def arrivals(self, now: float) -> Sequence[Arrival]:
        """Return what has arrived since the last call."""
        ...

    def send(self, type_: str, **fields: object) -> None:
        """Send one line."""
        ...

    def kill(self) -> None:
        """Kill the bridge."""
        ...


class Opener(Protocol):
    """Starts Python on a host that is not reached by a command."""

    def __call__(self, host: "Host", code: str, preamble: bytes) -> Pipe:
        """Run ``python -c code`` on the host and write ``preamble`` to its standard input."""
        ...


class Host(Struct, frozen=True):
    """A machine, container or user on which programs can be started."""

    name: str
    command: tuple[str, ...]
    """The prefix that runs a command on it: ``("ssh", "-T", "web1")``."""
    python: str = PYTHON
    """The Python to use there."""
    memory: int | None = None
    """Limit on the RSS of its lanes in bytes, if the cluster sets one."""
    opener: Opener | None = None
    """How it is reached, if not by its command."""


def _short_name(command: Sequence[str]) -> str:
    """Return the default name of a host: the last word of its command that is not an option."""
    words = [word for word in command[1:] if not word.startswith("-")] or [command[0]]
    return one_line(words[-1].rpartition("@")[2].rpartition("/")[2])[:40] or "host"


def _read_host(name: str, table: object) -> Host:
    """Parse a host's table in the settings; raise a ValueError of one line if it is invalid."""
    if not isinstance(table, Mapping) or not isinstance(table.get("command"), str):
        raise ValueError(f'hosts.{name} must be a table with a command, such as command = "ssh -T {name}"')
    for key, value in table.items():
        if key not in ("command", "python"):
            raise ValueError(f'hosts.{name}: unknown key "{key}"; expected command or python')
        if not isinstance(value, str) or not value.strip() or "\0" in value:
            raise ValueError(f"hosts.{name}: {key} must be text")
    return Host(name, _split(table["command"]), table.get("python", PYTHON))


def _split(text: str) -> tuple[str, ...]:
    import shlex  # not at the top: the first frame does not need it

    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f'"{text[:60]}" is not a command: {error}') from None
    if not words:
        raise ValueError('an empty command; expected one that reaches a host, such as "ssh -T web1"')
    return words


def read_hosts(tables: object) -> dict[str, Host]:
    """Return the hosts of the settings by name.

    Args:
        tables: the value of the key ``hosts`` in the settings file.

    Raises:
        ValueError: a table is invalid; the message is one line that says what was expected.
    """
    if not isinstance(tables, Mapping):
        raise ValueError('hosts; expected tables, such as [hosts.web1] with command = "ssh -T web1"')
    return {name: _read_host(name, table) for name, table in tables.items()}


def find_host(text: str, known: Mapping[str, Host]) -> Host | None:
    """Return the host that the user names; None for `LOCAL`.

    Args:
        text: a name from the settings, or a command prefix.
        known: the hosts of the settings.

    Raises:
        ValueError: there is no such host or command; the message is one line.
    """
    text = text.strip()
    if text == LOCAL:
        return None
    if text in known:
        return known[text]
    command = _split(text)
    if shutil.which(command[0]) is None:
        raise ValueError(
            f'unknown host "{text[:60]}"; expected {LOCAL}, a name from the settings, '
            f'or a command such as "ssh -T web1"{suggest(text, known)}'
        )
    return Host(_short_name(command), command)


def with_unique_names(hosts: Sequence[Host | None]) -> list[Host | None]:
    """Return the hosts with unique names: further hosts of the same name get ``#2``, ``#3``, ….

    Raises:
        ValueError: the same host is named twice; the message is one line.
    """
    found: dict[str, Host | None] = {}
    for host in hosts:
        name, number = host.name if host else LOCAL, 1
        while name in found:
            if host is None or found[name] in (host, structs.replace(host, name=name)):
                raise ValueError(f"{name} is named twice")
            number += 1
            name = f"{host.name}#{number}"
        found[name] = structs.replace(host, name=name) if host else None
    return list(found.values())
