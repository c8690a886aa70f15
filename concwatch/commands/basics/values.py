"""The types of options, for click: each converts a string, or raises one line that says what was expected."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from concwatch.charts.symbols import CHOICES as SYMBOL_CHOICES
from concwatch.charts.table import WINDOWS
from concwatch.commands.basics import completion, configuration
from concwatch.commands.basics.completion import Complete
from concwatch.hosts import host as hosts
from concwatch.hosts.host import Host
from concwatch.monitor.lanes.servers import read_workload
from concwatch.monitor.metrics.settings import LARGEST_TARGET
from concwatch.monitor.workers.catalog import Engine, find_engines
from concwatch.portable.protocol.text import unknown_name
from concwatch.portable.protocol.units import (
    format_bytes,
    format_seconds,
    parse_count,
    parse_seconds,
    parse_size,
)
from concwatch.portable.protocol.workloads import END, FORMS
from concwatch.portable.worker.collector import MODES
from concwatch.system.files import why_not_writable
from concwatch.system.memory import memory_now

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


STANDARD_OUTPUT = "-"


class InvalidValue(click.BadParameter):
    """An invalid value. Unlike click's own, its message is the whole error."""

    def format_message(self) -> str:
        """Return the message."""
        return self.message


class Described(click.Option):
    """An option whose default is described in words by ``show_default``."""

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Return what the help adds in brackets, without click's own brackets around the words."""
        extra = super().get_help_extra(ctx)
        if isinstance(self.show_default, str):
            extra["default"] = self.show_default
        return extra


class Parsed(click.ParamType):  # type: ignore[type-arg]  # click 8.5 made it generic
    """A type whose values ``parse`` converts.

    Args:
        name: the placeholder in the help.
        parse: returns the value, or raises a ValueError whose message is the whole error.
        choices: returns the words that a shell completes.
        comma_separated: whether the value is a list of such words.
    """

    def __init__(
        self,
        name: str,
        parse: Callable[[str], Any],
        choices: Callable[[], Iterable[str]] = tuple,
        *,
        comma_separated: bool = False,
    ) -> None:
        self.name = name
        self._parse = parse
        self._complete: Complete = completion.completer(choices, comma_separated=comma_separated)

    def as_text(self) -> "Parsed":
        """Return a type that validates the string in the same way but does not convert it."""

        def validate(text: str) -> str:
            self._parse(text)
            return text

        text_type = copy(self)
        text_type._parse = validate
        return text_type

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        """Return the completions of a value."""
        return self._complete(ctx, param, incomplete)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert a string."""
        try:
            return self._parse(value)
        except ValueError as error:
            raise InvalidValue(str(error), ctx, param) from None

    def split_envvar_value(self, rv: str) -> list[str]:
        """Split the value of an environment variable at semicolons, for an option that can be repeated."""
        return [part.strip() for part in rv.split(";") if part.strip()]


class OutputFile(click.ParamType):  # type: ignore[type-arg]  # as above
    """The path of a file to write, or ``-`` for standard output."""

    name = "file"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        """Let the shell complete a file name."""
        return completion.complete_file(ctx, param, incomplete)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the path unchanged if the file can be written."""
        why_not = None if value == STANDARD_OUTPUT else why_not_writable(Path(value))
        if why_not:
            option = param.opts[-1] if param else ""
            problem = f'{option}: file "{value}" cannot be written ({why_not})'
            raise InvalidValue(problem, ctx, param)
        return value


def number_parser(
    minimum: float, maximum: float, problem: str, kind: type[int | float] = float
) -> Callable[[str], Any]:
    """Return a parser for numbers in a range. Its ValueError says ``"x" is {problem}``."""

    def parse(text: str) -> int | float:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not minimum <= value <= maximum:
            raise ValueError(f'"{text[:40]}" is {problem}')
        return value

    return parse


def _counts(text: str) -> tuple[int, ...]:
    try:
        return (parse_count(text),)  # "10,000" is one number, not two
    except ValueError:
        if "," not in text:
            raise
    counts = tuple(parse_count(part) for part in text.split(","))
    if len(set(counts)) < len(counts):
        raise ValueError(f'"{text[:40]}" has a number of tasks twice')
    return counts


def _blocked(text: str) -> float:
    expected = "not a time; expected seconds from 0.05 to 3,600, or off"
    return math.inf if text == "off" else float(number_parser(0.05, 3_600, expected)(text))


def _threads(text: str) -> int:
    count = parse_count(text, 100_000)
    if not count:
        raise ValueError("a pool of 0 threads runs nothing; it may have 1 to 100,000")
    return count


def _sizes(text: str) -> tuple[int, ...]:
    from concwatch.measure.experiments.experiment import (
        sizes_problem,  # imported late: the screen does not need it
    )

    sizes = tuple(parse_count(part) for part in text.split(","))
    problem = sizes_problem(sizes)
    if problem:
        raise ValueError(f'"{text[:40]}" is not a list of sizes: {problem}')
    return sizes


def _folder(text: str) -> Path:
    folder = Path(text).expanduser()
    if not text or (folder.exists() and not folder.is_dir()):
        raise ValueError(f'"{text}" is not a folder, and no folder can be created there')
    return folder


def _budget(text: str) -> int:
    memory = memory_now()
    size = parse_size(text, memory.available)
    if size > memory.total:
        total = format_bytes(memory.total)
        raise ValueError(f'"{text[:40]}" is more memory than this machine has ({total})')
    return size


def _argument(text: str) -> str:
    if END in text:
        raise ValueError("an argument cannot contain a null character")
    return text


def _engines(text: str) -> list[Engine]:
    return find_engines([name.strip() for name in text.split(",")])


def _tasks(text: str) -> dict[Engine, int]:
    counts = {}
    for part in text.split(","):
        name, equals, count = part.partition("=")
        if not equals:
            raise ValueError(f'"{text[:40]}" is not ENGINE=N, such as "asyncio=10k,threads=1k"')
        (engine,) = find_engines([name.strip()])
        if engine in counts:
            raise ValueError(f'"{text[:40]}" names {engine.name} twice')
        counts[engine] = parse_count(count.strip(), LARGEST_TARGET)
    return counts


def configured_hosts() -> dict[str, Host]:
    """Return the hosts of the settings by name.

    Raises:
        ValueError: one line that says what is wrong in the settings file.
    """
    try:
        return configuration.hosts(configuration.read_tables())
    except click.ClickException as error:
        raise ValueError(error.message) from None


MAX_LOCAL = 100
"""The most workers that a Dask cluster on this machine can have."""


def _cluster(text: str) -> str:
    local, colon, count = text.partition(":")
    if local == "local" and colon and count.isdecimal() and 1 <= int(count) <= MAX_LOCAL:
        return text
    if not re.fullmatch(r"[a-z]+://[^\s/]+:\d+", text):
        raise ValueError(
            f'"{text[:60]}" is not a cluster; expected the address of a Dask scheduler, such as '
            f"tcp://scheduler:8786, or local:N for N workers on this machine, from 1 to {MAX_LOCAL}"
        )
    return text


def _address(text: str) -> tuple[str, int]:
    """Parse ``[HOST:]PORT``."""
    host, _, port = text.strip().rpartition(":")
    if not port.isdecimal() or int(port) > 65_535:
        raise ValueError(
            f'"{text[:60]}" is not an address; expected a port or HOST:PORT, such as 9464 or 0.0.0.0:9464'
        )
    return host.strip("[]") or "127.0.0.1", int(port)


def _window(text: str) -> float:
    seconds = parse_seconds(text)
    if not WINDOWS[0] <= seconds <= WINDOWS[-1]:
        shortest, longest = format_seconds(WINDOWS[0]), format_seconds(WINDOWS[-1])
        raise ValueError(f'"{text[:40]}" is not a time window; expected {shortest} to {longest}')
    return seconds


def _themes() -> list[str]:
    from concwatch.ui.look.palette import ALL_THEMES  # imported late: it loads Textual

    return sorted(ALL_THEMES)


def _one_of(kind: str, choices: Callable[[], Sequence[str]]) -> Parsed:
    def parse(text: str) -> str:
        if text not in choices():
            raise ValueError(unknown_name(kind, text, choices()))
        return text

    return Parsed("name", parse, choices)


OUTPUT = OutputFile()
HOST = Parsed(
    "host", lambda text: hosts.find_host(text, configured_hosts()), lambda: [hosts.LOCAL, *configured_hosts()]
)
SIZE = Parsed("size", _budget)
ADDRESS = Parsed("address", _address)
BLOCKED = Parsed("s", _blocked, lambda: ["off"])
SECONDS = Parsed("seconds", number_parser(0, 86_400, "not a time; expected seconds from 0 to 86,400"))
RATE = Parsed("hz", number_parser(0.5, 50, "not a rate; expected samples per second from 0.5 to 50"))
COUNTS = Parsed("n[,n...]", _counts)
THREADS = Parsed("n", _threads)
MODE = _one_of("collector mode", lambda: MODES)
TASKS = Parsed(
    "engine=n,...", _tasks, lambda: [f"{name}=" for name in completion.engine_names()], comma_separated=True
)
THEME = _one_of("theme", _themes)
SYMBOLS = _one_of("set of symbols", lambda: SYMBOL_CHOICES)
WINDOW = Parsed("time", _window)
CLUSTER = Parsed("address", _cluster, lambda: ["local:4", "tcp://"])
PID = Parsed("pid", number_parser(1, 1 << 22, "not a PID; expected the PID of a process", int))
REPEATS = Parsed(
    "n", number_parser(1, 100, "not a number of runs; expected a whole number from 1 to 100", int)
)
SIZES = Parsed("n,...", _sizes)
WORKLOAD = Parsed(
    "workload", read_workload, lambda: [example for form in FORMS.values() for example in form.examples]
)
ARGUMENT = Parsed("value", _argument)
FOLDER = Parsed("folder", _folder)
ENGINES = Parsed("engine,...", _engines, completion.engine_names, comma_separated=True)
