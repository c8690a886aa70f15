"""Executors that have not been shut down, by the line that created them.

They are found by weak references, which a hook of their ``__init__`` creates. Their shutdown is not observed:
an attribute tells.
"""

from __future__ import annotations

from _weakref import ref

from ..basics.guard import guarded
from ..basics.names import printable
from ..basics.own_code import LINE_FUNCTIONS, creating_line
from .replacements import named_like

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Tuple

EXECUTORS_OF = {
    "concurrent.futures.thread": "ThreadPoolExecutor",
    "concurrent.futures.process": "ProcessPoolExecutor",
    "multiprocessing.pool": "Pool",
}
"""The classes of executors, by module; others are derived from them."""

STATES = ("_shutdown", "_shutdown_thread", "_state")
"""The attributes that tell whether an executor has been shut down."""

SHUT_DOWN = (True, "CLOSE", "TERMINATE")
"""The values of these attributes if it has."""

WORKERS = ("_threads", "_processes", "_pool")
"""The attributes that hold the threads or processes of an executor; one of a `Pool` is their number."""

MAX_LINES = 1_000
"""The most lines whose executors are counted."""

MAX_ENTRIES = 20
"""The most lines in a report."""


class _Executor(ref):  # type: ignore[type-arg]
    """A weak reference to an executor."""

    __slots__ = ("number", "source")

    number: int
    """The ``id`` of the executor."""
    source: Tuple[str, str]
    """Its class, and the line that created it."""


class Executors:
    """The executors of this process. Any thread may create some; no lock is ever held."""

    def __init__(self) -> None:
        self._known: Dict[int, _Executor] = {}
        self._created: Dict[Tuple[str, str], int] = {}
        """How many were created, by class and line."""

    def clear(self) -> None:
        """Forget all executors."""
        self._known.clear()
        self._created.clear()

    @guarded("executors")
    def add(self, executor: Any) -> None:
        """Add an executor that is about to be initialized. Never raises."""
        known = self._known.get(id(executor))
        if known is not None and known() is executor:  # its class calls the ``__init__`` of another one
            return
        source = (printable(type(executor).__name__), creating_line(4))
        if source not in self._created and len(self._created) >= MAX_LINES:
            return
        found = _Executor(executor, self._forget)
        found.number, found.source = id(executor), source
        self._known[found.number] = found
        self._created[source] = self._created.get(source, 0) + 1

    @guarded("executors")
    def _forget(self, known: _Executor) -> None:
        if self._known.get(known.number) == known:
            self._known.pop(known.number, None)

    def read(self) -> List[Dict[str, Any]]:
        """Return the ``executor_lines`` of a tick, those with the most executors first."""
        found: Dict[Tuple[str, str], Dict[str, Any]] = {}
        for known in list(self._known.values()):
            executor = known()
            if executor is None or _is_shut_down(executor):
                self._forget(known)
                continue
            entry = found.get(known.source)
            if entry is None:
                name, line = known.source
                entry = {"name": name, "line": line, "in": LINE_FUNCTIONS.get(line, "")}
                entry.update(count=0, workers=0, created=self._created[known.source])
                found[known.source] = entry
            entry["count"] += 1
            for name in WORKERS:
                workers: Any = getattr(executor, name, None)
                entry["workers"] += len(workers) if hasattr(workers, "__len__") else 0
        return sorted(found.values(), key=lambda entry: -entry["count"])[:MAX_ENTRIES]


EXECUTORS = Executors()
"""The executors of this process."""


def _is_shut_down(executor: Any) -> bool:
    return any(getattr(executor, name, None) in SHUT_DOWN for name in STATES)


def counting_executors(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return an ``__init__`` that adds an executor to the known ones, and does what ``original`` does."""

    def __init__(self: Any, *args: Any, **kw: Any) -> None:
        EXECUTORS.add(self)
        original(self, *args, **kw)

    return named_like(original, __init__)
