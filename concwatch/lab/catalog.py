"""Which engines exist, what each needs, and how its worker is started: data."""

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from concwatch.worker.workloads import nearest

ROOT = str(Path(__file__).resolve().parents[2])
"""The folder that holds the package ``concwatch``."""

# Why not "-m": that puts the working directory first on the path, where a user's own queue.py would be taken
# for the standard library's, and brings runpy with it. "-P" keeps it off from the start: Python 3.13 imports
# linecache before it runs what "-c" gives it. The workers' own bytecode is cached even where the
# environment says that none shall be: compiling it at every start would weigh 0.7 MB in the idle figure.
_START = (
    "import sys; sys.path.insert(0, {root!r}); "
    "kept = sys.dont_write_bytecode; sys.dont_write_bytecode = False; "
    "from concwatch.worker.serve import serve; serve({engine!r}, kept)"
)


class Engine(Struct, frozen=True):
    """One row of the catalog."""

    name: str
    task: str
    """What a task is there, for a person."""
    bytes_per_task: int
    """RSS in bytes that one sleeping task takes, until this machine has been measured."""
    threads: bool = False
    """Whether each task takes a thread of the system's, so that the limits on threads bind it."""
    needs: tuple[str, ...] = ()
    """Python packages that must be there."""
    install: str = ""
    """What to run when they are not."""
    traced_factor: float = 1.0
    """How much more a task weighs while tracing is on."""
    queues: bool = False
    """Whether tasks wait there for a thread."""
    shown: bool = True
    """Whether it has a lane on the screen without being asked for."""

    def command(self) -> list[str]:
        """Give the program and its arguments that start one worker."""
        return [sys.executable, "-P", "-c", _START.format(root=ROOT, engine=self.name)]

    def missing(self) -> str | None:
        """Say why this engine cannot run here and what to do, or None when what it needs is there.

        Whether that also works only a worker can tell: nothing is imported here.
        """
        for package in self.needs:
            if importlib.util.find_spec(package) is None:
                return f"needs {package}: {self.install}"
        return None

    def broken(self, reason: str) -> str:
        """Say that what this engine needs is there and does not work here: the reason, and what to try."""
        if not self.needs:
            return reason
        return f"broken {self.needs[0]}: {reason}; try pip install --force-reinstall {self.needs[0]}"


CATALOG: tuple[Engine, ...] = (
    Engine("threads", "one threading.Thread", 16_700, threads=True, traced_factor=1.1),
    Engine("pool", "one job for a ThreadPoolExecutor", 2_050, traced_factor=2.2, queues=True),
    Engine("asyncio", "one asyncio.Task on asyncio's own loop", 1_260, traced_factor=2.0),
    Engine(
        "uvloop",
        "one asyncio.Task on uvloop's loop",
        1_570,
        needs=("uvloop",),
        install="pip install uvloop" if sys.platform != "win32" else "there is none for Windows",
        traced_factor=1.9,
    ),
    Engine(
        "gevent",
        "one gevent.Greenlet",
        8_500,
        needs=("gevent",),
        install="pip install 'concwatch[gevent]'",
        traced_factor=1.3,
        shown=False,
    ),
    Engine("sequential", "one call after another on one thread", 1, queues=True, shown=False),
)

SHOWN: tuple[Engine, ...] = tuple(engine for engine in CATALOG if engine.shown)
"""The engines that have a lane on the screen without being asked for."""


def find(names: Sequence[str]) -> list[Engine]:
    """Look engines up by name, in the order asked for; all of them for no names.

    Raises:
        ValueError: one line that names the unknown one, what was expected, and the nearest match.
    """
    rows = {engine.name: engine for engine in CATALOG}
    for name in names:
        if name not in rows:
            raise ValueError(
                f'unknown engine "{name}": expected one of {", ".join(rows)}{nearest(name, rows)}'
            )
    return [rows[name] for name in dict.fromkeys(names)] or list(CATALOG)
