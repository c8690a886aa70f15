"""What options read: a text of a person's, or one line that says what was expected; as click's types."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from concwatch.charts.table import WINDOWS
from concwatch.commands import completion, configuration
from concwatch.commands.completion import Complete
from concwatch.files import why_not_writable
from concwatch.hosts import host as hosts
from concwatch.hosts.host import Host
from concwatch.lab.catalog import Engine, find
from concwatch.lab.pages import read_workload
from concwatch.lab.settings import LARGEST_TARGET
from concwatch.system.memory import memory_now
from concwatch.text import unknown
from concwatch.units import format_bytes, format_seconds, parse_count, parse_seconds, parse_size
from concwatch.worker.collector import MODES
from concwatch.worker.workloads import EXAMPLES

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


STANDARD_OUTPUT = "-"


class BadValue(click.BadParameter):
    """A refused value, whose message is the whole error."""

    def format_message(self) -> str:
        """Return the message."""
        return self.message


class Parsed(click.ParamType):  # type: ignore[type-arg]  # click 8.5 made it generic
    """The type of an option that ``read`` parses; the message of its ValueError is the whole error."""

    def __init__(
        self,
        name: str,
        read: Callable[[str], Any],
        known: Callable[[], Iterable[str]] = tuple,
        *,
        listed: bool = False,
    ) -> None:
        """Parse by ``read`` what help calls ``name``; a shell completes ``known`` words, one or a list."""
        self.name = name
        self._read = read
        self._complete: Complete = completion.words(known, listed=listed)

    def as_text(self) -> "Parsed":
        """Return a type that checks a text by the same rules and leaves it as it is, for others to parse."""

        def check(text: str) -> str:
            self._read(text)
            return text

        checked = copy(self)
        checked._read = check
        return checked

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        """Complete a text."""
        return self._complete(ctx, param, incomplete)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse a text."""
        try:
            return self._read(value)
        except ValueError as error:
            raise BadValue(str(error), ctx, param) from None

    def split_envvar_value(self, rv: str) -> list[str]:
        """Return the values of a repeatable option in a variable, where semicolons part them."""
        return [part.strip() for part in rv.split(";") if part.strip()]


class OutputFile(click.ParamType):  # type: ignore[type-arg]  # as above
    """The type of an option that names a file to be written, or ``-`` for standard output."""

    name = "file"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        """Complete the name of a file."""
        return completion.files(ctx, param, incomplete)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check that the file can be written."""
        why_not = None if value == STANDARD_OUTPUT else why_not_writable(Path(value))
        if why_not:
            option = param.opts[-1] if param else ""
            problem = f'{option}: "{value}": {why_not}: expected a file that can be written'
            raise BadValue(problem, ctx, param)
        return value


def number(least: float, most: float, problem: str, kind: type[int | float] = float) -> Callable[[str], Any]:
    """Return what reads a number from ``least`` to ``most``, or raises a ValueError: ``"x" is {problem}``."""

    def read(text: str) -> int | float:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise ValueError(f'"{text[:40]}" is {problem}')
        return value

    return read


def _counts(text: str) -> tuple[int, ...]:
    try:
        return (parse_count(text),)  # "10,000" is one number
    except ValueError:
        if "," not in text:
            raise
    counts = tuple(parse_count(part) for part in text.split(","))
    if len(set(counts)) < len(counts):
        raise ValueError(f'"{text[:40]}": expected each number of tasks once')
    return counts


def _threads(text: str) -> int:
    count = parse_count(text, 100_000)
    if not count:
        raise ValueError("a pool of 0 threads runs nothing: expected a number from 1 to 100,000")
    return count


def _sizes(text: str) -> tuple[int, ...]:
    from concwatch.experiments.experiment import sizes_problem  # only here: the screen can do without

    sizes = tuple(parse_count(part) for part in text.split(","))
    problem = sizes_problem(sizes)
    if problem:
        raise ValueError(f'"{text[:40]}" are no sizes: {problem}')
    return sizes


def _folder(text: str) -> Path:
    folder = Path(text).expanduser()
    if not text or (folder.exists() and not folder.is_dir()):
        raise ValueError(f'"{text}" is not a folder: expected one, or the name of one to be made')
    return folder


def _budget(text: str) -> int:
    memory = memory_now()
    size = parse_size(text, memory.available)
    if size > memory.total:
        has = format_bytes(memory.total)
        raise ValueError(f'"{text[:40]}" is more memory than this machine has: expected at most {has}')
    return size


def _engines(text: str) -> list[Engine]:
    return find([name.strip() for name in text.split(",")])


def _tasks(text: str) -> dict[Engine, int]:
    wanted = {}
    for part in text.split(","):
        name, equals, count = part.partition("=")
        if not equals:
            raise ValueError(f'"{text[:40]}": expected tasks by engine, such as "asyncio=10k,threads=1k"')
        (engine,) = find([name.strip()])
        if engine in wanted:
            raise ValueError(f'"{text[:40]}": expected {engine.name} once')
        wanted[engine] = parse_count(count.strip(), LARGEST_TARGET)
    return wanted


def known_hosts() -> dict[str, Host]:
    """Return the hosts of the settings, none where they cannot be read.

    Raises:
        ValueError: one line: what is wrong with them.
    """
    try:
        return configuration.hosts(configuration.read_tables())
    except click.ClickException as error:
        raise ValueError(error.message) from None


MOST_LOCAL = 100
"""Workers of a Dask cluster on this machine, at most."""


def _cluster(text: str) -> str:
    local, colon, count = text.partition(":")
    if local == "local" and colon and count.isdecimal() and 1 <= int(count) <= MOST_LOCAL:
        return text
    if not re.fullmatch(r"[a-z]+://[^\s/]+:\d+", text):
        raise ValueError(
            f'"{text[:60]}" is no cluster: expected the address of a Dask scheduler, such as '
            f"tcp://scheduler:8786, or local:N for N workers on this machine, from 1 to {MOST_LOCAL}"
        )
    return text


def _window(text: str) -> float:
    seconds = parse_seconds(text)
    if not WINDOWS[0] <= seconds <= WINDOWS[-1]:
        least, most = format_seconds(WINDOWS[0]), format_seconds(WINDOWS[-1])
        raise ValueError(f'"{text[:40]}" is no time window: expected from {least} to {most}')
    return seconds


def _themes() -> list[str]:
    from concwatch.ui.palette import ALL_THEMES  # only for who asks: it loads Textual

    return sorted(ALL_THEMES)


def _one_of(kind: str, known: Callable[[], Sequence[str]]) -> Parsed:
    def read(text: str) -> str:
        if text not in known():
            raise ValueError(unknown(kind, text, known()))
        return text

    return Parsed("name", read, known)


OUTPUT = OutputFile()
HOST = Parsed(
    "host", lambda text: hosts.find_host(text, known_hosts()), lambda: [hosts.LOCAL, *known_hosts()]
)
SIZE = Parsed("size", _budget)
SECONDS = Parsed("seconds", number(0, 86_400, "not a time: expected seconds from 0 to 86,400"))
RATE = Parsed("hz", number(0.5, 50, "not a rate: expected samples a second from 0.5 to 50"))
COUNTS = Parsed("n[,n...]", _counts)
THREADS = Parsed("n", _threads)
MODE = _one_of("collector mode", lambda: MODES)
TASKS = Parsed("engine=n,...", _tasks, lambda: [f"{name}=" for name in completion.engines()], listed=True)
THEME = _one_of("theme", _themes)
WINDOW = Parsed("time", _window)
CLUSTER = Parsed("address", _cluster, lambda: ["local:4", "tcp://"])
PID = Parsed("pid", number(1, 1 << 22, "no process: expected a PID", int))
REPEATS = Parsed("n", number(1, 100, "not a number of runs: expected a whole number from 1 to 100", int))
SIZES = Parsed("n,...", _sizes)
WORKLOAD = Parsed("workload", read_workload, lambda: EXAMPLES)
FOLDER = Parsed("folder", _folder)
ENGINES = Parsed("engine,...", _engines, completion.engines, listed=True)
