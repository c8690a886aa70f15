"""Where a command's options get their values from when the command line does not give them.

Everything follows from the commands' own options: each command has a table of the settings file, and each
option a key in it and a variable. A variable goes before the file, and the command line before both.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import click

from concwatch.commands.setting import PREFIX, SCREEN, Setting, Value, settings_of, unknown, variable_prefix
from concwatch.commands.settings_file import NAMED_BY, read_settings_file, settings_path
from concwatch.worker.workloads import nearest


@dataclass(frozen=True)
class Given:
    """A value that a file or a variable gives."""

    setting: Setting
    value: Value
    source: Literal["file", "variable"]
    where: str
    """Where to mend it: the file with table and key, or the variable."""

    def is_named_in(self, message: str) -> bool:
        """Tell whether an error is about it: whether the option's name or its value can be read there.

        A value in quotation marks has to be all that they hold: ``0`` is not read in ``"failed <= 0"``.
        """
        values = self.value if isinstance(self.value, list) else [self.value]
        words = [f"--{self.setting.key}", *(word for word in values if isinstance(word, str) and word)]
        unquoted = re.sub('"[^"]*"', '""', message)
        return any(
            f'"{word}"' in message or re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", unquoted)
            for word in words
        )


@dataclass
class Findings:
    """What was found for one command."""

    given: list[Given] = field(default_factory=list)
    """What its options accept, those from the file first."""
    problems: list[str] = field(default_factory=list)
    """What is wrong with the rest, a line each: where, what, and what was expected."""

    def default_map(self) -> dict[str, object]:
        """Give click's map of values to take before an option's default, by the name of the parameter.

        Of several flags that share a parameter, each with a value of its own, the one that is on counts.
        """
        found: dict[str, object] = {}
        for one in self.given:
            option = one.setting.option
            name = option.name or ""
            if not option.is_flag or option.is_bool_flag:
                found[name] = one.value
            elif one.value:
                found[name] = option.flag_value
            elif found.get(name) == option.flag_value:
                del found[name]
        return found


@dataclass(frozen=True)
class Sources:
    """What the file and the variables say, of all commands."""

    names: Sequence[str]
    """Of all commands, `SCREEN` first."""
    environ: Mapping[str, str]
    path: Path
    """Of the file."""
    tables: Mapping[str, object] | None = None
    """What stands in the file; None when there is none."""

    @classmethod
    def of(cls, commands: Sequence[str], environ: Mapping[str, str] = os.environ) -> "Sources":
        """Say where to look for settings of these commands; `read` looks."""
        own = {name: text for name, text in environ.items() if name.startswith(PREFIX) and text}
        return cls((SCREEN, *commands), own, settings_path(own))

    def read(self) -> "Sources":
        """Give the same, with what stands in the file.

        Raises:
            ValueError: one line that names the file and says why it cannot be read.
        """
        tables = read_settings_file(self.path, NAMED_BY in self.environ)
        return Sources(self.names, self.environ, self.path, tables)

    def find(self, name: str, ctx: click.Context) -> Findings:
        """Give what was found for one command, of which this is a context, and what is wrong with it."""
        found = Findings()
        mine = [variable for variable in self.environ if self._command_of(variable) == name]
        table = (self.tables or {}).get(name)
        if not mine and not isinstance(table, dict):
            return found
        settings = settings_of(name, ctx.command)
        for one in (*self._from_file(settings, name, table), *self._from_variables(settings, name, mine)):
            problem = one if isinstance(one, str) else why_not(ctx, one)
            if problem is not None:
                found.problems.append(problem)
            elif isinstance(one, Given):
                found.given.append(one)
        return found

    def problems(self) -> Iterator[str]:
        """Name the tables and variables that belong to no command, and what is no table."""
        for key, table in (self.tables or {}).items():
            if key not in self.names:
                expected = ", ".join(f"[{name}]" for name in self.names)
                yield (
                    f"{self.path}: {key[:40]}: unknown command: expected one of the tables "
                    f"{expected}{nearest(key[:40], self.names)}"
                )
            elif not isinstance(table, dict):
                yield f"{self.path}: {key}: expected a table: a line [{key}] with options below it"

    def stray_variables(self) -> Iterator[str]:
        """Name the variables that belong to no command."""
        for variable in self.environ:
            if variable != NAMED_BY and self._command_of(variable) is None:
                word = variable.removeprefix(PREFIX).partition("_")[0].lower()
                yield (
                    f"{variable[:60]}: unknown command: expected one of {', '.join(self.names)} "
                    f"behind {PREFIX}{nearest(word[:40], self.names)}"
                )

    def _command_of(self, variable: str) -> str | None:
        """Tell whose a variable is: of two commands that begin alike, that with the longer name."""
        owners = [name for name in self.names if variable.startswith(variable_prefix(name))]
        return max(owners, key=len, default=None)

    def _from_file(self, settings: Mapping[str, Setting], name: str, table: object) -> Iterator[Given | str]:
        if not isinstance(table, dict):
            return  # told by `problems`
        seen: dict[str, str] = {}
        for written, value in table.items():
            key, where = written.replace("_", "-"), f"{self.path}: [{name}] {written[:40]}"
            if key not in settings:
                yield f"{where}: {unknown(key, settings)}"
            elif key in seen:
                yield f'{where}: a second value: expected one, and there is "{seen[key]}"'
            else:
                seen[key] = written
                try:
                    yield Given(settings[key], settings[key].from_toml(value), "file", where)
                except ValueError as error:
                    yield f"{where}: {error}"

    def _from_variables(
        self, settings: Mapping[str, Setting], name: str, mine: Sequence[str]
    ) -> Iterator[Given | str]:
        by_variable = {setting.variable: setting for setting in settings.values()}
        for variable in mine:
            setting = by_variable.get(variable)
            if setting is None:
                key = variable.removeprefix(variable_prefix(name)).lower().replace("_", "-")
                yield f"{variable[:60]}: {unknown(key, settings)}"
                continue
            try:
                yield Given(setting, setting.from_text(self.environ[variable]), "variable", variable)
            except ValueError as error:
                yield f"{variable}: {error}"


def as_arguments(ctx: click.Context) -> list[str]:
    """Write what files and variables gave a command as it would be typed behind its name."""
    values = ctx.default_map or {}
    return [
        text
        for setting in settings_of("", ctx.command).values()
        if ctx.get_parameter_source(setting.option.name or "") is click.core.ParameterSource.DEFAULT_MAP
        for text in setting.arguments(values[setting.option.name or ""])
    ]


def why_not(ctx: click.Context, given: Given) -> str | None:
    """Say what its option has against a value, or None."""
    option = given.setting.option
    if option.is_flag:
        return None
    try:
        value = option.type_cast_value(ctx, given.value)
        if option.callback is not None:
            option.callback(ctx, option, value)
    except click.ClickException as error:
        return f"{given.where}: {error.message}"
    return None
