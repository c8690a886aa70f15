"""The options of the screen and of several commands, and what they are made into: labs, hosts, recorders."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from concwatch.commands.values import (
    CLUSTER,
    ENGINES,
    FOLDER,
    HOST,
    MODE,
    RATE,
    SIZE,
    TASKS,
    THEME,
    WINDOW,
    WORKLOAD,
)
from concwatch.hosts import host as hosts
from concwatch.hosts.host import Host
from concwatch.lab.catalog import SHOWN, Engine
from concwatch.lab.lab import DEFAULT_HZ
from concwatch.lab.settings import ON_SCREEN
from concwatch.worker.collector import MODES

if TYPE_CHECKING:
    from concwatch.hosts.cluster import Cluster
    from concwatch.lab.lab import Lab
    from concwatch.recordings.recorder import Recorder

Command = TypeVar("Command", bound=Callable[..., Any])

SCREEN: dict[str, dict[str, Any]] = {
    "--engines": {
        "type": ENGINES,
        "show_default": ",".join(engine.name for engine in SHOWN),
        "help": "Lanes to show, by engine.",
    },
    "--host": {
        "type": HOST,
        "multiple": True,
        "help": 'Where lanes run: a command that reaches it, such as "ssh -T web1" or "docker exec -i api", '
        f'a name from the settings, or "{hosts.LOCAL}". Can be repeated.',
    },
    "--cluster": {
        "type": CLUSTER,
        "help": "Also on each worker of a Dask cluster: the address of its scheduler, such as "
        '"tcp://scheduler:8786", or "local:4" to start one of four workers here.',
    },
    "--reconnect": {
        "is_flag": True,
        "help": "Connect to a host again by itself when the connection is lost.",
    },
    "--max-memory": {
        "type": SIZE,
        "show_default": "80%",
        "help": 'Memory that all workers may take together, such as "2GiB" or "60%" of what is available. '
        "At it growth stops; nothing dies.",
    },
    "--rate": {"type": RATE, "default": f"{DEFAULT_HZ:g}", "help": "Samples a second."},
    "--screenshots": {
        "type": FOLDER,
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
    "--tasks": {"type": TASKS, "help": 'Tasks to start with, such as "asyncio=10k,threads=1k".'},
    "--workload": {
        "type": WORKLOAD,
        "default": ON_SCREEN,
        "help": "What each task does; see concwatch run --help.",
    },
    "--refill/--no-refill": {"default": True, "help": "Replace tasks that end."},
    "--trace/--no-trace": {"default": True, "help": "Trace Python's allocations."},
    "--gc": {"type": MODE, "metavar": "|".join(MODES), "default": "default", "help": "Garbage collector."},
    "--window": {
        "type": WINDOW,
        "show_default": "the one chosen last, else 60 s",
        "help": 'Time that the charts grow to show, such as "30s" or "10min".',
    },
    "--theme": {"type": THEME, "show_default": "the one chosen last", "help": "Colours."},
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
        return hosts.with_unique_names([*chosen, *(cluster.hosts if cluster else ())]), cluster
    except ValueError as error:
        raise click.UsageError(f"--host: {error}") from None


def open_recorder(file: str | None, engines: Sequence[Engine]) -> "Recorder | None":
    """Make the file of a recording, if one is wanted; it begins with the first lab that is followed.

    Raises:
        click.UsageError: one line: there can be no such file.
    """
    if file is None:
        return None
    from concwatch.recordings.recorder import Recorder, command_line  # only here: few sessions are recorded
    from concwatch.recordings.writers import open_writer

    path = Path(file)
    try:
        return Recorder(path, open_writer(path), command_line(), engines)
    except ValueError as error:
        raise click.UsageError(f"--record: {error}") from None


def new_lab(engines: Sequence[Engine], **options: Any) -> "Lab":
    """Return a command's lab, with `Lab`'s options; tests have the root context's ``obj`` make it."""
    from concwatch.lab.lab import Lab  # 15 ms that commands without one need not wait for

    make: Callable[..., Lab] = click.get_current_context().find_root().obj or Lab
    return make(engines, **options)
