"""One option as files and variables call it, and the values that they can give it."""

from collections.abc import Mapping
from dataclasses import dataclass

import click

from concwatch.worker.workloads import nearest

SCREEN = "screen"
"""What the options that stand before any command go by."""

PREFIX = "CONCWATCH_"

SWITCH = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}
"""What a variable may say of a flag."""

BETWEEN = ";"
"""What stands between the values of a repeatable option in a variable."""

Value = str | bool | list["Value"]
"""What an option's type reads: text, or true or false for a flag, or a list of values."""


def variable_prefix(command: str) -> str:
    """Say how the variables of a command begin."""
    return f"{PREFIX}{_constant(command)}_"


def _constant(name: str) -> str:
    return name.replace("-", "_").upper()


@dataclass(frozen=True)
class Setting:
    """One option of one command."""

    command: str
    """The command's name, or `SCREEN`."""
    key: str
    """Its long option, without the dashes before it."""
    option: click.Option

    @property
    def variable(self) -> str:
        """Name its variable."""
        return variable_prefix(self.command) + _constant(self.key)

    def from_toml(self, value: object) -> Value:
        """Read what stands in a file.

        Raises:
            ValueError: saying what was expected.
        """
        if not self.option.is_flag:
            return self._nested(value, self._depth)
        if not isinstance(value, bool):
            raise ValueError(f"{_shown(value)}: expected true or false")
        return value

    def from_text(self, text: str) -> Value:
        """Read what stands in a variable.

        Raises:
            ValueError: saying what was expected.
        """
        if self.option.is_flag:
            if text.strip().lower() not in SWITCH:
                raise ValueError(f'"{text[:40]}": expected one of {", ".join(SWITCH)}')
            return SWITCH[text.strip().lower()]
        if not self._depth:
            return text
        parts: list[Value] = [part.strip() for part in text.split(BETWEEN) if part.strip()]
        if self._depth == 1:
            return parts
        size = self.option.nargs
        return [parts[at : at + size] for at in range(0, len(parts), size)]

    def arguments(self, value: object) -> list[str]:
        """Write a value as it would be typed on the command line; of a flag the value may be its own."""
        if self.option.is_flag:
            on = value if self.option.is_bool_flag else value == self.option.flag_value
            return (self.option.opts if on else self.option.secondary_opts)[:1]
        if self.option.count:
            return [f"--{self.key}"] * int(str(value))
        parts = value if isinstance(value, list) else [value]
        if self.option.multiple:
            return [text for part in parts for text in (f"--{self.key}", *_texts(part))]
        return [f"--{self.key}", *_texts(value)]

    @property
    def _depth(self) -> int:
        """How many lists lie around a value: one if it can be repeated, one if it takes several."""
        return int(self.option.multiple) + int(self.option.nargs != 1)

    def _nested(self, value: object, depth: int) -> Value:
        usage = f"--{self.key} {self.option.metavar or self.option.type.name.upper()}"
        if depth:
            if not isinstance(value, list):
                raise ValueError(f'{_shown(value)}: expected a list, with what "{usage}" takes')
            return [self._nested(part, depth - 1) for part in value]
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f'{_shown(value)}: expected text or a number, as "{usage}" takes it')
        text = _text(value)
        if "\0" in text:
            raise ValueError(f'text with a null in it: expected what "{usage}" takes')
        return text


def _texts(value: object) -> list[str]:
    return [str(part) for part in value] if isinstance(value, list) else [str(value)]


def _text(value: str | int | float) -> str:
    try:
        return str(value)
    except ValueError:  # what was written in hexadecimal can have more digits than Python wants to write
        return "a number of thousands of digits"


_KINDS: dict[type, str] = {list: "a list", dict: "a table", bool: "true or false"}


def _shown(value: object) -> str:
    """Say what stands there: what kind it is, or for what is short the thing itself."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return f'"{_text(value)[:40]}"'
    return _KINDS.get(type(value), "a date or time")


def settings_of(name: str, command: click.Command) -> dict[str, Setting]:
    """Give what of a command can be set, by key.

    That is each of its options, save those that do something else than to run it, such as ``--help``.
    """
    found = {}
    for option in command.params:
        if isinstance(option, click.Option) and option.expose_value and not option.is_eager:
            long = [text for text in option.opts if text.startswith("--")]
            key = (long or [option.name or ""])[0].removeprefix("--").replace("_", "-")
            found[key] = Setting(name, key, option)
    return found


def unknown(key: str, settings: Mapping[str, Setting]) -> str:
    """Say that there is no such option, and which there are."""
    return f"unknown option: expected one of {', '.join(settings) or 'none'}{nearest(key[:40], settings)}"
