"""The engines: what each needs, and how its worker is started."""

import importlib.util
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct, structs

from concwatch.hosts.host import Host
from concwatch.portable.build.runtime import Runtime
from concwatch.portable.machine.limits import MAPS_PER_THREAD, SystemLimit
from concwatch.portable.protocol.text import unknown_name
from concwatch.portable.worker.engines import ENGINES
from concwatch.runtimes.pythons import OLDEST, Interpreter, find_interpreter
from concwatch.runtimes.rows import RUNTIMES
from concwatch.system.child import ROOT

# "-m" would put the working directory first on the path, where a user's queue.py shadows the standard
# library's, and would import runpy. "-P" keeps the directory off the path from the start: Python 3.13
# imports linecache before it runs the code of "-c". The root is on the path for one import only, so that
# another Python does not find the packages of this one. The bytecode of the worker is cached even if the
# environment disables that: compiling it at every start would add 0.7 MB to the idle figure.
_START = (
    "import sys; sys.path[:] = [{root!r}, *filter(None, sys.path)]; "
    "kept = sys.dont_write_bytecode; sys.dont_write_bytecode = False; "
    "import concwatch; del sys.path[0]; "
    "from concwatch.portable.worker.serve import serve; serve({engine!r}, kept)"
)

AT = "@"
"""Separates the name of an engine from its Python or version."""

ON = " · "
"""Separates the name of an engine from its remote host."""

LISTED_BY = "concwatch engines"
"""The command that lists the engines."""

PYTHON = "python:"
"""Prefix of a Python whose engines are all selected."""

OTHER_PYTHONS = ("asyncio", "threads", "uvloop", "asyncio-eager", "interpreters")
"""The engines that another Python can run."""


class Engine(Struct, frozen=True):
    """One row of the catalog."""

    name: str
    task: str
    """What a task is, as text for the user."""
    bytes_per_task: int
    """Bytes of one sleeping task, RSS and kernel memory, until it has been measured on this machine."""
    threads: bool = False
    """Whether each task is a thread of the system, so that the limits on threads apply."""
    maps: int = MAPS_PER_THREAD
    """Memory maps of one of its threads."""
    needs: tuple[str, ...] = ()
    """Python packages that it requires."""
    oldest_python: tuple[int, int] = OLDEST
    """The oldest Python that it runs on."""
    install: str = ""
    """The command that installs them."""
    traced_factor: float = 1.0
    """Factor on the bytes of a task while tracing is on."""
    queues: bool = False
    """Whether tasks wait for a thread."""
    churn: int = 1_000
    """Tasks that end per second under the workload ``churn``: fewer where a new task costs much CPU time."""
    replaces: int = 10_000
    """The most tasks that end and are replaced per second, untraced, with 100,000 live, on two cores."""
    resolution: int = 256 << 10
    """Bytes that the runtime allocates at once, or for its first tasks alone.

    Divided by the live tasks, it is the resolution of bytes per task.
    """
    shown: bool = True
    """Whether it has a lane on the screen by default."""
    python: Interpreter | None = None
    """The Python that runs it; None for the current one."""
    environment: tuple[tuple[str, str], ...] = ()
    """Additional environment variables of its worker and its build."""
    ways: tuple[Runtime, ...] = ()
    """The ways to run an engine in another language, the best first."""
    host: Host | None = None
    """The remote host that it runs on; None for this machine."""

    @property
    def own_name(self) -> str:
        """The name without its host."""
        return self.name.partition(ON)[0]

    @property
    def kind(self) -> str:
        """The name without its Python or version, and without its host."""
        return self.own_name.partition(AT)[0]

    def on(self, host: Host | None) -> "Engine":
        """Return the same engine on a remote host, with the same version of Python; None for this machine."""
        if host is None:
            return self
        if self.python is not None:
            label = self.python.label
            host = structs.replace(host, python=label if label[0].isalpha() else f"python{label}")
        return structs.replace(self, name=f"{self.own_name}{ON}{host.name}", host=host, python=None)

    def command(self) -> list[str]:
        """Return the command that starts a worker of an engine that need not be built."""
        program = [self.python.executable, *self.python.safe_path] if self.python else [sys.executable, "-P"]
        return [*program, "-c", _START.format(root=ROOT, engine=self.kind)]

    def with_variables(self, variables: tuple[tuple[str, str], ...]) -> "Engine":
        """Return the same engine with additional environment variables for its worker and its build."""
        return structs.replace(
            self,
            environment=(*self.environment, *variables),
            ways=tuple(way.with_variables(variables) for way in self.ways),
        )

    def missing(self) -> str | None:
        """Return why this engine cannot run and what to do, or None if what it needs is installed.

        Nothing is imported or run: whether it works only shows when a worker starts.
        """
        if self.host:
            return None  # only known once a worker starts
        if not self.python and sys.version_info < self.oldest_python:
            version = "{}.{}".format(*self.oldest_python)
            return f"needs Python {version} or newer; name one, as in {self.name}{AT}{version}"
        for package in self.needs:
            if importlib.util.find_spec(package) is None:
                return f"needs {package}: {self.install}"
        reasons = [way.missing() for way in self.ways]
        return reasons[0] if reasons and None not in reasons else None

    def bound_by(self, limits: Iterable[SystemLimit]) -> list[SystemLimit]:
        """Return the limits on threads that apply to its tasks, each with what one task uses of it."""
        if not self.threads:
            return []
        return [
            SystemLimit(limit.name, limit.value, limit.used, self.maps, limit.where)
            if limit.name == "vm.max_map_count"
            else limit
            for limit in limits
        ]

    def broken(self, reason: str) -> str:
        """Return the text for an engine that fails although what it needs is installed, with what to try."""
        if not self.needs:
            return reason
        if self.host:
            return f"{reason}; on {self.host.name}: {self.install}"
        return f"broken {self.needs[0]}: {reason}; try pip install --force-reinstall {self.needs[0]}"


def _built(name: str, task: str, bytes_per_task: int, resolution: int, replaces: int, **how: Any) -> Engine:
    """Return the row of an engine in another language; ``resolution`` is in KiB."""
    row = Engine(name, task, bytes_per_task, replaces=replaces, shown=False, ways=RUNTIMES[name], **how)
    return structs.replace(row, resolution=resolution << 10)


CATALOG: tuple[Engine, ...] = (
    *(Engine(name, row.task, row.bytes_per_task, **row.facts) for name, row in ENGINES.items()),
    _built("rust-threads", "one Rust std::thread", 37_500, 64, 10_000, threads=True, maps=4),
    _built("tokio", "one tokio task", 456, 128, 150_000),
    _built("async-std", "one async-std task", 370, 128, 50_000),
    _built("go", "one goroutine", 3_155, 128, 100_000),
    _built("java-threads", "one Java platform thread", 46_700, 2048, 3_000, threads=True, maps=2, churn=100),
    _built("java-virtual", "one Java virtual thread", 950, 4096, 60_000),
    _built("csharp", "one C# async method", 900, 1024, 20_000),
    _built("csharp-timers", "one bare C# Task.Delay", 575, 1024, 20_000),
    _built("node", "one Node.js async function", 1_150, 1024, 80_000),
    _built("node-timers", "one bare Node.js timer", 750, 1024, 120_000),
    _built("elixir", "one Elixir Task.async", 3_350, 256, 40_000),
    _built("erlang", "one Erlang process", 2_965, 256, 60_000),
)  # fmt: skip

PYTHONS: tuple[Engine, ...] = tuple(engine for engine in CATALOG if not engine.ways)
"""The engines that run in Python."""

SHOWN: tuple[Engine, ...] = tuple(engine for engine in CATALOG if engine.shown)
"""The engines that have a lane on the screen by default."""

_ROWS = {engine.name: engine for engine in CATALOG}

ALIASES = {
    "golang": "go", "goroutines": "go", "goroutine": "go", "threading": "threads",
    "threadpool": "pool", "coroutines": "asyncio", "async": "asyncio", "greenlets": "gevent", "rust": "tokio",
    "java": "java-virtual", "virtual-threads": "java-virtual", "nodejs": "node", "dotnet": "csharp",
    "c#": "csharp",
}  # fmt: skip
"""Other names of engines."""


def _split(name: str) -> tuple[str, str]:
    """Return the kind of an engine, and the Python or version after the ``@``; empty if there is none."""
    kind, _, variant = ALIASES.get(name, name).partition(AT)
    return ALIASES.get(kind, kind), variant


def _of_version(kind: str, version: str) -> Engine:
    if not re.fullmatch(r"\d+(\.\d+)*", version):
        raise ValueError(f"{kind}{AT}{version[:60]} has no version, such as {kind}{AT}21")
    row = _ROWS[kind]
    ways = tuple(way.of_version(version) for way in row.ways)
    return structs.replace(row, name=f"{kind}{AT}{version}", ways=ways)


def _on_python(kind: str, python: str) -> Engine:
    interpreter = find_interpreter(python)
    row = _ROWS[kind]
    if interpreter.version < row.oldest_python:
        oldest, version = (".".join(map(str, each)) for each in (row.oldest_python, interpreter.version))
        raise ValueError(
            f"{kind}{AT}{python[:200]} needs Python {oldest} or newer; {interpreter.executable} is {version}"
        )
    for package in row.needs:
        if package not in interpreter.packages:
            raise ValueError(
                f"{kind}{AT}{python[:200]}: {package} is not installed in {interpreter.executable}"
            )
    name = f"{kind}{AT}{interpreter.label}"
    task = row.task.replace("asyncio.", f"Python {interpreter.label}'s asyncio.")
    return structs.replace(row, name=name, task=task, needs=(), python=interpreter)


def _find(name: str) -> list[Engine]:
    kind, variant = _split(name)
    if name.startswith(PYTHON):
        python = name.removeprefix(PYTHON)
        other = find_interpreter(python)
        rows = (_ROWS[kind] for kind in OTHER_PYTHONS)
        return [
            _on_python(row.name, python)
            for row in rows
            if {*row.needs} <= {*other.packages} and row.oldest_python <= other.version
        ]
    if AT in name and kind in OTHER_PYTHONS:
        return [_on_python(kind, variant)]
    if AT in name and kind in RUNTIMES:
        return [_of_version(kind, variant)]
    if AT in name or kind not in _ROWS:
        raise ValueError(unknown_name("engine", name, _ROWS, LISTED_BY))
    return [_ROWS[kind]]


def catalog_row(name: str) -> Engine:
    """Return the catalog's row of an engine, ignoring what follows the ``@``.

    Raises:
        ValueError: one line that names what was expected.
    """
    kind, _ = _split(name)
    return _ROWS[kind] if kind in (*OTHER_PYTHONS, *RUNTIMES) else _find(name)[0]


def find_engines(names: Sequence[str]) -> list[Engine]:
    """Return the engines of the given names, in that order; the whole catalog for no names.

    ``asyncio@3.13``, or any path or command after the ``@``, is that engine on another Python,
    ``java-virtual@21`` is an engine on that version of its runtime, and ``python:PATH`` selects all engines
    that a Python can run.

    Raises:
        ValueError: one line: the unknown name, what was expected and the nearest match; or two different
            Pythons of the same version.
    """
    found: dict[str, Engine] = {}
    for row in (row for name in names for row in _find(name)):
        other = found.setdefault(row.name, row)
        if row.python and other.python and row.python.prefix != other.python.prefix:
            raise ValueError(
                f"{row.python.executable} and {other.python.executable} are the same version; "
                f'name one of them, since both lanes would be called "{row.name}"'
            )
    return list(found.values()) or list(CATALOG)
