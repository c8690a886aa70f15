"""What the commands' options read: a text of a person's, or one line that says what was expected."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from concwatch.charts.table import WINDOWS
from concwatch.commands import completion, configuration
from concwatch.commands.completion import words
from concwatch.hosts import host as hosts
from concwatch.hosts.host import Host
from concwatch.lab.catalog import SHOWN, Engine, find
from concwatch.lab.lab import DEFAULT_HZ
from concwatch.lab.pages import read_workload
from concwatch.lab.settings import LARGEST_TARGET, ON_SCREEN
from concwatch.system.memory import memory_now
from concwatch.text import unknown
from concwatch.units import format_bytes, format_seconds, parse_count, parse_seconds, parse_size
from concwatch.worker.collector import MODES

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from concwatch.hosts.cluster import Cluster
    from concwatch.lab.lab import Lab
    from concwatch.recordings.recorder import Recorder


Command = TypeVar("Command", bound=Callable[..., Any])


class BadValue(click.BadParameter):
    """A refused value, whose message is the whole error."""

    def format_message(self) -> str:
        """Return the message."""
        return self.message


class Parsed(click.ParamType):  # type: ignore[type-arg]  # click 8.5 made it generic
    """The type of an option that ``read`` parses; the message of its ValueError is the whole error."""

    name = "text"

    def __init__(
        self, read: Callable[[str], Any], known: Callable[[], Iterable[str]] = tuple, *, listed: bool = False
    ) -> None:
        """Parse by ``read``; a shell completes the words that ``known`` returns, one or a list of them."""
        self._read = read
        self._complete = words(known, listed=listed)

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


def _host(text: str) -> Host | None:
    return hosts.find(text, known_hosts())


def known_hosts() -> dict[str, Host]:
    """Return the hosts of the settings, none where they cannot be read.

    Raises:
        ValueError: one line: what is wrong with them.
    """
    try:
        return configuration.hosts(configuration.read_tables())
    except click.ClickException as error:
        raise ValueError(error.message) from None


def on_hosts(engines: Sequence[Engine], chosen: Sequence[Host | None]) -> list[Engine]:
    """Return each engine on each of the hosts; on this machine for none."""
    return [engine.on(host) for engine in engines for host in chosen or (None,)]


def connect(chosen: Sequence[Host | None], address: str | None) -> "tuple[list[Host | None], Cluster | None]":
    """Return the hosts that are chosen and those of a cluster, each with a name of its own, and the cluster.

    The connection ends with the command.

    Raises:
        click.UsageError: one line: a host is named twice, or there is no such cluster.
    """
    cluster = None
    if address is not None:
        try:
            from concwatch.hosts.cluster import Cluster  # only here: it loads Dask, half a second
        except ImportError:
            raise click.UsageError("--cluster needs distributed: pip install 'concwatch[dask]'") from None
        try:
            cluster = Cluster(address)
        except ValueError as error:
            raise click.UsageError(f"--cluster {error}") from None
        click.get_current_context().call_on_close(cluster.close)
    try:
        return hosts.apart([*chosen, *(cluster.hosts if cluster else ())]), cluster
    except ValueError as error:
        raise click.UsageError(f"--host: {error}") from None


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

    return Parsed(read, known)


MOST_LOCAL = 100
"""Workers of a Dask cluster on this machine, at most."""

HOST = Parsed(_host, lambda: [hosts.HERE, *known_hosts()])
SIZE = Parsed(_budget)
SECONDS = Parsed(number(0, 86_400, "not a time: expected seconds from 0 to 86,400"))
RATE = Parsed(number(0.5, 50, "not a rate: expected samples a second from 0.5 to 50"))
COUNTS = Parsed(_counts)
THREADS = Parsed(_threads)
MODE = _one_of("collector mode", lambda: MODES)
TASKS = Parsed(_tasks, lambda: [f"{name}=" for name in completion.engines()], listed=True)
THEME = _one_of("theme", _themes)
WINDOW = Parsed(_window)
REPEATS = Parsed(number(1, 100, "not a number of runs: expected a whole number from 1 to 100", int))
SIZES = Parsed(_sizes)
WORKLOAD = Parsed(read_workload, completion.workloads)
FOLDER = Parsed(_folder)
ENGINES = Parsed(
    lambda text: find([name.strip() for name in text.split(",")]), completion.engines, listed=True
)

SCREEN: dict[str, dict[str, Any]] = {
    "--engines": {
        "type": ENGINES,
        "metavar": "a,b",
        "show_default": ",".join(engine.name for engine in SHOWN),
        "help": "Lanes to show, by engine.",
    },
    "--host": {
        "type": HOST,
        "multiple": True,
        "metavar": "HOST",
        "help": 'Where lanes run: a command that reaches it, such as "ssh -T web1" or "docker exec -i api", '
        f'a name from the settings, or "{hosts.HERE}". Can be repeated.',
    },
    "--cluster": {
        "type": Parsed(_cluster, lambda: ["local:4", "tcp://"]),
        "metavar": "ADDRESS",
        "help": "Also on each worker of a Dask cluster: the address of its scheduler, such as "
        '"tcp://scheduler:8786", or "local:4" to start one of four workers here.',
    },
    "--reconnect": {
        "is_flag": True,
        "help": "Connect to a host again by itself when the connection is lost.",
    },
    "--max-memory": {
        "type": SIZE,
        "metavar": "SIZE",
        "show_default": "80%",
        "help": 'Memory that all workers may take together, such as "2GiB" or "60%" of what is available. '
        "At it growth stops; nothing dies.",
    },
    "--rate": {"type": RATE, "metavar": "HZ", "default": f"{DEFAULT_HZ:g}", "help": "Samples a second."},
    "--screenshots": {
        "type": FOLDER,
        "metavar": "FOLDER",
        "default": "screenshots",
        "help": "Where the keys s and S save pictures; made when it is needed.",
    },
    "--record": {
        "metavar": "FILE",
        "help": 'Record the session into FILE, a new file; compressed if its name ends in ".gz".',
    },
    "--recordings": {
        "metavar": "FOLDER",
        "default": "recordings",
        "help": "Where the key r puts recordings.",
    },
    "--tasks": {
        "type": TASKS,
        "metavar": "ENGINE=N,...",
        "help": 'Tasks to start with, such as "asyncio=10k,threads=1k".',
    },
    "--workload": {
        "type": WORKLOAD,
        "metavar": "W",
        "default": ON_SCREEN,
        "help": "What each task does; see concwatch run --help.",
    },
    "--refill/--no-refill": {"default": True, "help": "Replace tasks that end."},
    "--trace/--no-trace": {"default": True, "help": "Trace Python's allocations."},
    "--gc": {"type": MODE, "metavar": "|".join(MODES), "default": "default", "help": "Garbage collector."},
    "--window": {
        "type": WINDOW,
        "metavar": "TIME",
        "show_default": "the one chosen last, else 60 s",
        "help": 'Time that the charts grow to show, such as "30s" or "10min".',
    },
    "--theme": {"type": THEME, "metavar": "NAME", "show_default": "the one chosen last", "help": "Colours."},
}
"""The options of the screen: what `click.option` takes, by name."""

ONE_HOST = (
    'Where: a command that reaches a host, such as "ssh -T web1", or a name from the settings. The agent is '
    "sent there, and nothing is left behind."
)

HOST_OPTION = click.option("--host", **SCREEN["--host"])
CLUSTER_OPTION = click.option("--cluster", **SCREEN["--cluster"])
max_memory = click.option("--max-memory", **SCREEN["--max-memory"])
screenshots = click.option("--screenshots", **SCREEN["--screenshots"])
record = click.option("--record", **SCREEN["--record"])


def options(table: Mapping[str, Mapping[str, Any]]) -> Callable[[Command], Command]:
    """Return what gives a command the options of a table such as `SCREEN`."""

    def decorate(command: Command) -> Command:
        for name, attributes in reversed(list(table.items())):
            command = click.option(name, **attributes)(command)
        return command

    return decorate


def open_recorder(file: str | None, engines: Sequence[Engine]) -> "Recorder | None":
    """Make the file of a recording, if one is wanted; it begins with the first lab that is followed.

    Raises:
        click.UsageError: one line: there can be no such file.
    """
    if file is None:
        return None
    from concwatch.recordings.recorder import Recorder, called  # only here: few sessions are recorded
    from concwatch.recordings.writers import open_writer

    path = Path(file)
    try:
        return Recorder(path, open_writer(path), called(), engines)
    except ValueError as error:
        raise click.UsageError(f"--record: {error}") from None


def new_lab(engines: Sequence[Engine], **options: Any) -> "Lab":
    """Return the lab of a command: on this machine, or made by the root context's ``obj``, as tests have it.

    Args:
        engines: one for each lane.
        options: keyword arguments of `Lab`.
    """
    from concwatch.lab.lab import Lab  # 15 ms that commands without one need not wait for

    make: Callable[..., Lab] = click.get_current_context().find_root().obj or Lab
    return make(engines, **options)
