"""Hosts by name: what reaches them, and which Python is used there."""

import shlex
import shutil
from collections.abc import Mapping, Sequence

from msgspec import Struct

from concwatch.text import nearest, one_line

HERE = "local"
"""The name of this machine among hosts."""

PYTHON = "python3"


class Host(Struct, frozen=True):
    """A machine, container or user that a command reaches."""

    name: str
    command: tuple[str, ...]
    """What is put before a command so that it runs there: ``("ssh", "-T", "web1")``."""
    python: str = PYTHON
    """The Python that is used there."""


def _short_name(command: Sequence[str]) -> str:
    """Return what a person calls the host: the last word of its command that is no option."""
    words = [word for word in command[1:] if not word.startswith("-")] or [command[0]]
    return one_line(words[-1].rpartition("@")[2].rpartition("/")[2])[:40] or "host"


def _configured(name: str, table: object) -> Host:
    """Read the table of a host in the settings.

    Raises:
        ValueError: one line that says what was expected.
    """
    if not isinstance(table, Mapping) or not isinstance(table.get("command"), str):
        raise ValueError(f'hosts.{name}: expected a table with a command, such as command = "ssh -T {name}"')
    for key, value in table.items():
        if key not in ("command", "python"):
            raise ValueError(f'hosts.{name}: unknown key "{key}": expected command or python')
        if not isinstance(value, str) or not value.strip() or "\0" in value:
            raise ValueError(f"hosts.{name}: {key}: expected text")
    return Host(name, _split(table["command"]), table.get("python", PYTHON))


def _split(text: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f'"{text[:60]}" is no command: {error}') from None
    if not words:
        raise ValueError('an empty command: expected one that reaches a host, such as "ssh -T web1"')
    return words


def configured(tables: object) -> dict[str, Host]:
    """Return the hosts of the settings by name; ``tables`` is what stands there below ``hosts``.

    Raises:
        ValueError: one line that says what was expected.
    """
    if not isinstance(tables, Mapping):
        raise ValueError('hosts: expected tables, such as [hosts.web1] with command = "ssh -T web1"')
    return {name: _configured(name, table) for name, table in tables.items()}


def find(texts: Sequence[str], known: Mapping[str, Host]) -> list[Host | None]:
    """Return the hosts that a person names, each by a name of the settings or by its command.

    Args:
        texts: as they were typed; `HERE` is this machine, for which None is returned.
        known: the hosts of the settings.

    Raises:
        ValueError: one line: a host is unknown, or its command is not there, or named twice.
    """
    found: dict[str, Host | None] = {}
    for text in texts:
        name, host = _find(text.strip(), known)
        if name in found and found[name] == host:
            raise ValueError(f'"{text[:60]}": expected each host once')
        number = sum(other == name or other.startswith(f"{name}#") for other in found)
        if number and host is not None:
            name = f"{name}#{number + 1}"
            host = Host(name, host.command, host.python)
        found[name] = host
    return list(found.values())


def _find(text: str, known: Mapping[str, Host]) -> tuple[str, Host | None]:
    if text == HERE:
        return HERE, None
    if text in known:
        return text, known[text]
    command = _split(text)
    if shutil.which(command[0]) is None:
        raise ValueError(
            f'unknown host "{text[:60]}": expected {HERE}, a name from the settings, '
            f'or a command such as "ssh -T web1"{nearest(text, known)}'
        )
    return _short_name(command), Host(_short_name(command), command)
