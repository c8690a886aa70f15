"""Options that several commands share, and the labs, hosts and recorders created from them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from concwatch.charts.symbols import CHOICES as SYMBOL_CHOICES
from concwatch.commands.basics.values import (
    ARGUMENT,
    CLUSTER,
    ENGINES,
    FOLDER,
    HOST,
    MODE,
    RATE,
    SIZE,
    SYMBOLS,
    TASKS,
    THEME,
    WINDOW,
    WORKLOAD,
    Described,
)
from concwatch.hosts import host as hosts
from concwatch.hosts.host import Host
from concwatch.monitor.lanes.lab import DEFAULT_HZ
from concwatch.monitor.metrics.settings import ON_SCREEN, Settings
from concwatch.monitor.workers.catalog import SHOWN, Engine
from concwatch.portable.protocol.workloads import USER, is_function
from concwatch.portable.worker.collector import MODES

if TYPE_CHECKING:
    from concwatch.hosts.cluster import Cluster
    from concwatch.recordings.recorder import Recorder

Command = TypeVar("Command", bound=Callable[..., Any])

SCREEN: dict[str, dict[str, Any]] = {
    "--engines": {
        "type": ENGINES,
        "cls": Described,
        "show_default": ",".join(engine.name for engine in SHOWN),
        "help": "The engines to show, one lane each.",
    },
    "--host": {
        "type": HOST,
        "multiple": True,
        "help": 'Run lanes on this host: a command that reaches it, such as "ssh -T web1" or "docker exec -i '
        f'api", a name from the settings, or "{hosts.LOCAL}". Can be repeated.',
    },
    "--cluster": {
        "type": CLUSTER,
        "help": "Run lanes on each worker of a Dask cluster: the address of its scheduler, such as "
        '"tcp://scheduler:8786", or "local:4" to start four Dask workers on this machine.',
    },
    "--reconnect": {
        "is_flag": True,
        "help": "Reconnect to a host automatically when the connection is lost.",
    },
    "--max-memory": {
        "type": SIZE,
        "cls": Described,
        "show_default": "80%",
        "help": "Memory (RSS and kernel memory) that all workers together may use, such as "
        '"2GiB" or "60%" of the available memory. '
        "When it is reached, no more tasks start; live tasks continue.",
    },
    "--rate": {"type": RATE, "default": f"{DEFAULT_HZ:g}", "help": "Samples per second."},
    "--screenshots": {
        "type": FOLDER,
        "default": "screenshots",
        "help": "Folder in which the keys s and S save screenshots; created when needed.",
    },
    "--cells": {
        "is_flag": True,
        "help": "Save screenshots with charts as the terminal shows them, not as vectors.",
    },
    "--record": {
        "metavar": "FILE",
        "help": 'Record the session to FILE, a new file; compressed if the name ends in ".gz".',
    },
    "--recordings": {
        "metavar": "FOLDER",
        "default": "recordings",
        "help": "Folder in which the key r saves recordings.",
    },
    "--tasks": {"type": TASKS, "help": 'Tasks to start with, such as "asyncio=10k,threads=1k".'},
    "--workload": {
        "type": WORKLOAD,
        "default": ON_SCREEN,
        "help": "What each task does; see concwatch run --help.",
    },
    "--arg": {
        "type": ARGUMENT,
        "multiple": True,
        "help": "An argument for the function of the workload module:function, as a string. Can be repeated.",
    },
    "--refill/--no-refill": {"default": True, "help": "Replace tasks that end."},
    "--trace/--no-trace": {"default": True, "help": "Trace Python's allocations (tracemalloc)."},
    "--gc": {
        "type": MODE,
        "metavar": "|".join(MODES),
        "default": "default",
        "help": "Mode of the garbage collector.",
    },
    "--window": {
        "type": WINDOW,
        "cls": Described,
        "show_default": "the last choice, else 60 s",
        "help": 'Longest time that the charts show, such as "30s" or "10min".',
    },
    "--theme": {"type": THEME, "cls": Described, "show_default": "the last choice", "help": "Colour theme."},
    "--symbols": {
        "type": SYMBOLS,
        "metavar": "|".join(SYMBOL_CHOICES),
        "cls": Described,
        "show_default": "the last choice, else auto",
        "help": "Characters that charts are drawn with; auto: the best that the terminal supports.",
    },
}
"""The options of the screen: the arguments of `click.option` by name."""

ONE_HOST = (
    'Another host: a command that reaches it, such as "ssh -T web1", or a name from the settings. The agent '
    "is sent there and removed at the end."
)

host_option = click.option("--host", **SCREEN["--host"])
cluster_option = click.option("--cluster", **SCREEN["--cluster"])
max_memory = click.option("--max-memory", **SCREEN["--max-memory"])


def _examining(option: str) -> dict[str, Any]:
    """Return an option of `SCREEN` for commands that examine hosts and start no lanes."""
    about: str = SCREEN[option]["help"]
    return {**SCREEN[option], "help": about.replace("Run lanes on", "Examine", 1)}


examined_host = click.option("--host", **_examining("--host"))
examined_cluster = click.option("--cluster", **_examining("--cluster"))
screenshots = click.option("--screenshots", **SCREEN["--screenshots"])
cells = click.option("--cells", **SCREEN["--cells"])
record = click.option("--record", **SCREEN["--record"])
arguments = click.option("--arg", **SCREEN["--arg"])


def make_settings(workload: str, arg: Sequence[str], **others: Any) -> Settings:
    """Return the settings of lanes with the values of options.

    Args:
        workload: the value of ``--workload``.
        arg: those of ``--arg``.
        others: other fields of `Settings`.

    Raises:
        click.UsageError: one line: the workload takes no arguments.
    """
    if arg and not is_function(workload):
        raise click.UsageError(f'--arg has no effect on the workload "{workload}", only on {USER}')
    return Settings(workload, arguments=tuple(arg), **others)


def options(table: Mapping[str, Mapping[str, Any]]) -> Callable[[Command], Command]:
    """Return a decorator that adds the options of a table such as `SCREEN` to a command."""

    def decorate(command: Command) -> Command:
        for name, attributes in reversed(list(table.items())):
            command = click.option(name, **attributes)(command)
        return command

    return decorate


def engines_on_hosts(engines: Sequence[Engine], chosen: Sequence[Host | None]) -> list[Engine]:
    """Return each engine on each of the hosts, or on this machine if there are none."""
    return [engine.on(host) for engine in engines for host in chosen or (None,)]


def connect_hosts(
    chosen: Sequence[Host | None], address: str | None
) -> "tuple[list[Host | None], Cluster | None]":
    """Return the chosen hosts and those of the cluster, and the cluster; None for no cluster.

    The connection to the cluster is closed when the command ends.

    Raises:
        click.UsageError: one line: a host is named twice, or the cluster cannot be reached.
    """
    cluster = None
    if address is not None:
        try:
            from concwatch.hosts.cluster import Cluster  # imported late: it loads Dask, 0.5 s
        except ImportError:
            raise click.UsageError("--cluster needs distributed: pip install 'concwatch[dask]'") from None
        try:
            cluster = Cluster(address)
        except ValueError as error:
            raise click.UsageError(f"--cluster {error}") from None
        click.get_current_context().call_on_close(cluster.close)
    try:
        return hosts.with_unique_names([*chosen, *(cluster.hosts if cluster else ())]), cluster
    except ValueError as error:
        raise click.UsageError(f"--host: {error}") from None


def open_recorder(file: str | None, engines: Sequence[Engine]) -> "Recorder | None":
    """Create a recorder that writes to ``file``, or return None for None.

    Raises:
        click.UsageError: one line: the file exists or cannot be written.
    """
    if file is None:
        return None
    from concwatch.recordings.recorder import (  # imported late: few sessions are recorded
        Recorder,
        command_line,
    )
    from concwatch.recordings.writers import open_writer

    path = Path(file)
    try:
        return Recorder(path, open_writer(path), command_line(), engines)
    except ValueError as error:
        raise click.UsageError(f"--record: {error}") from None
