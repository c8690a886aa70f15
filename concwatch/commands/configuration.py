"""Options kept in a TOML file and in variables, for click's `default_map` and `auto_envvar_prefix`.

Each command has a table in the file, and each of its options a key there and a variable.
"""

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import click
from click.core import ParameterSource

from concwatch.files import read_file, read_toml
from concwatch.hosts.host import Host, read_hosts
from concwatch.text import unknown

SCREEN = "screen"
"""The table of the options that stand before any command."""

HOSTS = "hosts"
"""The table of tables that name hosts; also a command, whose own options stand there beside them."""

PREFIX = "CONCWATCH"

NAMED_BY = "CONCWATCH_SETTINGS"
"""The variable that names another file than the one in the user's configuration folder."""

Tables = Mapping[str, object]
"""What the settings file holds, unchecked."""


def settings_path() -> Path:
    """Return where the settings file is, or would be."""
    folder = click.get_app_dir("concwatch", roaming=False)
    return Path(os.environ.get(NAMED_BY) or Path(folder, "settings.toml"))


def read_tables() -> Tables:
    """Return what the settings file holds; nothing where there is no file and none is named.

    Raises:
        click.ClickException: one line that names the file and says why it cannot be read.
    """
    path, named = settings_path(), os.environ.get(NAMED_BY)
    if not (named or os.path.lexists(path)):
        return {}
    try:
        return read_toml(read_file(path), str(path))
    except OSError as error:
        by = f", named by {NAMED_BY}" if named else ""
        raise click.ClickException(f"{path}: {error.strerror}: expected a settings file{by}") from None
    except ValueError as error:
        raise click.ClickException(str(error)) from None


def hosts(tables: Tables) -> dict[str, Host]:
    """Return the hosts that the settings file names.

    Raises:
        ValueError: one line that says what was expected.
    """
    table = tables.get(HOSTS)
    rows = table.items() if isinstance(table, dict) else ()
    return read_hosts({name: value for name, value in rows if isinstance(value, dict)})


def prefix(name: str) -> str:
    """Return what the variables of a command begin with: click's `auto_envvar_prefix`."""
    return f"{PREFIX}_{name}".upper().replace("-", "_")


def variable(name: str, key: str) -> str:
    """Return the variable of an option."""
    return prefix(f"{name}_{key}")


def unknown_tables(tables: Tables, names: Collection[str]) -> Iterator[str]:
    """Yield a line for each key of the file that is not the table of a command."""
    for key, table in tables.items():
        if key not in names:
            yield f"{settings_path()}: {unknown('table', key, names)}"
        elif not isinstance(table, dict):
            yield f"{settings_path()}: {key}: expected a table: a line [{key}] with options below it"
    try:
        hosts(tables)
    except ValueError as error:
        yield f"{settings_path()}: {error}"


def unknown_variables(names: Collection[str]) -> Iterator[str]:
    """Yield a line for each variable with our prefix that belongs to no command."""
    for found in os.environ:
        ours = found.startswith(f"{PREFIX}_") and found != NAMED_BY
        if ours and not found.startswith(tuple(f"{prefix(name)}_" for name in names)):
            yield f"{found[:60]}: {unknown('command', found.split('_')[1].lower(), names)}"


def options_of(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command that can be kept, by their long name without the dashes."""
    return {
        option.opts[-1].removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option) and option.expose_value and not option.is_eager
    }


def takes(option: click.Option) -> str:
    """Return what an option takes, as its help has it."""
    return option.metavar or option.type.name.upper()


def default_map(name: str, command: click.Command, tables: Tables) -> tuple[dict[str, object], list[str]]:
    """Return click's `default_map` of a command, and a line for each wrong key and unknown variable of it."""
    options, values, problems = options_of(command), {}, []
    table = tables.get(name)
    for written, value in table.items() if isinstance(table, dict) else ():
        if name == HOSTS and isinstance(value, dict):
            continue
        key, where = written.replace("_", "-"), f"{settings_path()}: [{name}]"
        if key not in options:
            problems.append(f"{where} {unknown('option', key, options)}")
            continue
        try:
            values[options[key].name or ""] = _as_typed(options[key], value)
        except ValueError as error:
            problems.append(f"{where} {key}: {error}")
    own = f"{prefix(name)}_"
    for found in os.environ:
        key = found.removeprefix(own).lower().replace("_", "-")
        if found.startswith(own) and key not in options:
            problems.append(f"{found[:60]}: {unknown('option', key, options)}")
    return values, problems


def _as_typed(option: click.Option, value: object) -> object:
    """Return a value of the file as the command line would give it: text, true or false, or a list of texts.

    Raises:
        ValueError: saying what was expected.
    """
    if option.is_flag:
        if not isinstance(value, bool):
            raise ValueError("expected true or false")
        return value
    parts = value if isinstance(value, list) else [value]
    if isinstance(value, list) != option.multiple or any(
        type(part) not in (str, int, float) for part in parts
    ):
        kind = "a list" if option.multiple else "text or a number"
        raise ValueError(f'expected {kind}, as "{option.opts[-1]} {takes(option)}" takes')
    texts = [str(part) for part in parts]
    if any("\0" in text for text in texts):
        raise ValueError("expected text without a null in it")
    return texts if option.multiple else texts[0]


def place(ctx: click.Context, key: str, option: click.Option) -> str | None:
    """Return where a value that counts was set: the file with table and key, or the variable; else None."""
    name = SCREEN if isinstance(ctx.command, click.Group) else ctx.info_name or ""
    source = ctx.get_parameter_source(option.name or "")
    if source is ParameterSource.ENVIRONMENT:
        return variable(name, key)
    return f"{settings_path()}: [{name}] {key}" if source is ParameterSource.DEFAULT_MAP else None


def located(error: click.UsageError) -> str:
    """Return the message of an error, with where the value was set that it is about."""
    message, ctx = error.format_message(), error.ctx
    param = error.param if isinstance(error, click.BadParameter) else None
    if ctx is None:
        return message
    places = []
    for key, option in options_of(ctx.command).items():
        where = place(ctx, key, option)
        if where and option is param:
            return f"{where}: {error.message}"
        # It was found out later: the message names the option, or quotes the value.
        named = (f"--{key}:", f"--{key} ", *(f'"{text}"' for text in _texts(ctx, option)))
        if where and param is None and any(text in message for text in named):
            places.append(where)
    return f"{message}; set by {', '.join(places)}" if places else message


def _texts(ctx: click.Context, option: click.Option) -> list[str]:
    """Return the texts that file or variable give an option."""
    value = option.consume_value(ctx, {})[0]
    return [str(part) for part in value] if isinstance(value, list) else [str(value)]


def resolve(name: str, command: click.Command, tables: Tables) -> tuple[click.Context, list[str]]:
    """Return a context with what a command has without arguments, and a line for each thing that is wrong."""
    values, problems = default_map(name, command, tables)
    ctx = click.Context(command, info_name=name, default_map=values, auto_envvar_prefix=prefix(name))
    for option in options_of(command).values():
        try:
            option.handle_parse_result(ctx, {}, [])
        except click.MissingParameter:
            pass
        except click.UsageError as error:
            problems.append(located(error))
    return ctx, problems


def as_arguments(ctx: click.Context) -> list[str]:
    """Return what file and variables gave a command as it would be typed behind its name."""
    arguments: list[str] = []
    for key, option in options_of(ctx.command).items():
        if place(ctx, key, option) is None:
            continue
        if option.is_flag:
            arguments += (option.opts if ctx.params[option.name or ""] else option.secondary_opts)[:1]
        else:
            arguments += [word for text in _texts(ctx, option) for word in (f"--{key}", text)]
    return arguments
