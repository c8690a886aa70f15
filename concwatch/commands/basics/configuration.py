"""Options set in the settings file or by environment variables.

They reach click as `default_map` and `auto_envvar_prefix`. Each command has a table in the file; each of its
options has a key in that table, and an environment variable.
"""

import os
from collections.abc import Collection, Iterator, Mapping

import click
from click.core import ParameterSource

from concwatch.commands.basics.settings_file import PATH_VARIABLE, PREFIX, settings_path
from concwatch.hosts.host import Host, read_hosts
from concwatch.portable.protocol.text import unknown_name
from concwatch.system.files import read_file, read_toml

SCREEN = "screen"
"""The table with the options of plain ``concwatch``."""

HOSTS = "hosts"
"""The table of named hosts, one table each. It is also a command, whose options are keys of this table."""

Tables = Mapping[str, object]
"""The content of the settings file, not validated."""


def read_tables() -> Tables:
    """Read the settings file. Return an empty mapping if there is none and the variable names none.

    Raises:
        click.ClickException: one line that names the file and says why it cannot be read.
    """
    path, named = settings_path(), os.environ.get(PATH_VARIABLE)
    if not (named or os.path.lexists(path)):
        return {}
    try:
        return read_toml(read_file(path), str(path))
    except OSError as error:
        why = f"; set by {PATH_VARIABLE}" if named else ""
        raise click.ClickException(f'settings file "{path}" cannot be read ({error.strerror}){why}') from None
    except ValueError as error:
        raise click.ClickException(str(error)) from None


def hosts(tables: Tables) -> dict[str, Host]:
    """Return the hosts of the settings file by name.

    Raises:
        ValueError: one line that names the wrong key and what was expected.
    """
    table = tables.get(HOSTS)
    rows = table.items() if isinstance(table, dict) else ()
    return read_hosts({name: value for name, value in rows if isinstance(value, dict)})


def prefix(name: str) -> str:
    """Return the prefix of a command's environment variables, for click's `auto_envvar_prefix`."""
    return f"{PREFIX}_{name}".upper().replace("-", "_")


def variable(name: str, key: str) -> str:
    """Return the name of an option's environment variable."""
    return prefix(f"{name}_{key}")


def unknown_tables(tables: Tables, names: Collection[str]) -> Iterator[str]:
    """Yield one line for each top-level key that is not a command's table, and for an invalid host."""
    for key, table in tables.items():
        if key not in names:
            yield f"{settings_path()}: {unknown_name('table', key, names)}"
        elif not isinstance(table, dict):
            yield f"{settings_path()}: {key} is not a table; options stand below a line [{key}]"
    try:
        hosts(tables)
    except ValueError as error:
        yield f"{settings_path()}: {error}"


def unknown_variables(names: Collection[str]) -> Iterator[str]:
    """Yield one line for each environment variable that begins with ``CONCWATCH_`` but names no command."""
    prefixes = tuple(f"{prefix(name)}_" for name in names)
    for name in os.environ:
        if name.startswith(f"{PREFIX}_") and name != PATH_VARIABLE and not name.startswith(prefixes):
            yield f"{name[:60]}: {unknown_name('command', name.split('_')[1].lower(), names)}"


def options_of(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command that settings can set, by long name without the dashes."""
    return {
        option.opts[-1].removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option) and option.expose_value and not option.is_eager
    }


def placeholder(option: click.Option) -> str:
    """Return the placeholder of an option's value in its help, such as ``FILE``."""
    return option.metavar or option.type.name.upper()


def default_map(name: str, command: click.Command, tables: Tables) -> tuple[dict[str, object], list[str]]:
    """Return click's `default_map` for a command, and one line for each unknown or invalid setting."""
    options, values, problems = options_of(command), {}, []
    table = tables.get(name)
    where = f"{settings_path()}: [{name}]"
    for written, value in table.items() if isinstance(table, dict) else ():
        if name == HOSTS and isinstance(value, dict):
            continue
        key = written.replace("_", "-")
        if key not in options:
            problems.append(f"{where} {unknown_name('option', key, options)}")
            continue
        try:
            values[options[key].name or ""] = _as_typed(options[key], value)
        except ValueError as error:
            problems.append(f"{where} {key} {error}")
    for variable_name in os.environ:
        key = variable_name.removeprefix(f"{prefix(name)}_").lower().replace("_", "-")
        if variable_name.startswith(f"{prefix(name)}_") and key not in options:
            problems.append(f"{variable_name[:60]}: {unknown_name('option', key, options)}")
    return values, problems


def _as_typed(option: click.Option, value: object) -> object:
    """Return a value of the file in the form of the command line: a string, a bool, or a list of strings.

    Raises:
        ValueError: the rest of a sentence that begins with the name of the option.
    """
    if option.is_flag:
        if not isinstance(value, bool):
            raise ValueError("is not true or false")
        return value
    parts = value if isinstance(value, list) else [value]
    if isinstance(value, list) != option.multiple or any(
        type(part) not in (str, int, float) for part in parts
    ):
        kind = "a list" if option.multiple else "text or a number"
        raise ValueError(f'is not {kind}, as for "{option.opts[-1]} {placeholder(option)}"')
    try:
        texts = [str(part) for part in parts]
    except ValueError:  # Python refuses to write thousands of digits
        raise ValueError("has too many digits") from None
    if any("\0" in text for text in texts):
        raise ValueError("contains a null character")
    return texts if option.multiple else texts[0]


def origin(ctx: click.Context, key: str, option: click.Option) -> str | None:
    """Return where the value of an option was set, file and key or variable; None if not in the settings."""
    name = SCREEN if isinstance(ctx.command, click.Group) else ctx.info_name or ""
    source = ctx.get_parameter_source(option.name or "")
    if source is ParameterSource.ENVIRONMENT:
        return variable(name, key)
    return f"{settings_path()}: [{name}] {key}" if source is ParameterSource.DEFAULT_MAP else None


def message_with_origin(error: click.UsageError) -> str:
    """Return the message of an error; if it is about a value of the settings, with where that was set."""
    message, ctx = error.format_message(), error.ctx
    param = error.param if isinstance(error, click.BadParameter) else None
    if ctx is None:
        return message
    origins = []
    for key, option in options_of(ctx.command).items():
        where = origin(ctx, key, option)
        if where and option is param:
            return f"{where}: {error.message}"
        # An error found after parsing has no `param`, but names the option or quotes its value.
        named = (f"--{key}:", f"--{key} ", *(f'"{text}"' for text in _texts(ctx, option)))
        if where and param is None and any(text in message for text in named):
            origins.append(where)
    return f"{message}; set by {', '.join(origins)}" if origins else message


def _texts(ctx: click.Context, option: click.Option) -> list[str]:
    """Return the values, as strings, that file or variable set for an option."""
    value = option.consume_value(ctx, {})[0]
    return [str(part) for part in value] if isinstance(value, list) else [str(value)]


def resolve(name: str, command: click.Command, tables: Tables) -> tuple[click.Context, list[str]]:
    """Return a context with a command's values if no argument is given, and one line for each problem."""
    values, problems = default_map(name, command, tables)
    ctx = click.Context(command, info_name=name, default_map=values, auto_envvar_prefix=prefix(name))
    for option in options_of(command).values():
        try:
            option.handle_parse_result(ctx, {}, [])
        except click.MissingParameter:
            pass
        except click.UsageError as error:
            problems.append(message_with_origin(error))
    return ctx, problems


def as_arguments(ctx: click.Context) -> list[str]:
    """Return the arguments that would set what file and variables have set for a command."""
    arguments: list[str] = []
    for key, option in options_of(ctx.command).items():
        if origin(ctx, key, option) is None:
            continue
        if option.is_flag:
            arguments += (option.opts if ctx.params[option.name or ""] else option.secondary_opts)[:1]
        else:
            arguments += [word for text in _texts(ctx, option) for word in (f"--{key}", text)]
    return arguments
