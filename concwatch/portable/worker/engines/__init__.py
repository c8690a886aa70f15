"""The engines of the Python workers, each imported only by the worker that runs it."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict

    from concwatch.portable.worker.collector import Collector
    from concwatch.portable.worker.engines.base import BaseEngine


class EngineRow:
    """Where the class of an engine is, and what the catalog says of it."""

    __slots__ = ("_class", "_module", "bytes_per_task", "facts", "task")

    def __init__(self, module: str, class_: str, task: str, bytes_per_task: int, **facts: Any) -> None:
        """Create a row.

        Args:
            module: a module of this package.
            class_: a subclass of `BaseEngine` in it.
            task: what a task is.
            bytes_per_task: bytes of one sleeping task, RSS and kernel memory, for the forecast.
            facts: other fields of `concwatch.monitor.workers.catalog.Engine`.
        """
        self._module, self._class = module, class_
        self.task, self.bytes_per_task, self.facts = task, bytes_per_task, facts

    def load(self) -> Callable[[Callable[..., None], Collector], BaseEngine]:
        """Import what the engine needs, and return its class.

        Raises:
            ImportError: a package is missing, or this Python is too old.
        """
        oldest = self.facts.get("oldest_python", ())
        if sys.version_info < oldest:
            raise ImportError("needs Python {}.{} or newer".format(*oldest))
        module = __import__(f"{__name__}.{self._module}", fromlist=[self._class])
        return getattr(module, self._class)  # type: ignore[no-any-return]  # of any module


_UVLOOP = "pip install uvloop" if sys.platform != "win32" else "not available on Windows"
_GEVENT = "pip install 'concwatch[gevent]'"
_INTERPRETER = 48 << 20
"""Resolution of a pool of interpreters, each of which uses about 7 MiB."""

ENGINES: Dict[str, EngineRow] = {
    "threads": EngineRow("blocking", "ThreadsEngine", "one threading.Thread", 44_300, threads=True, traced_factor=1.04, churn=100, replaces=1_800),
    "pool": EngineRow("pool", "PoolEngine", "one job for a ThreadPoolExecutor", 2_050, traced_factor=2.2, queues=True),
    "asyncio": EngineRow("event_loop", "EventLoopEngine", "one asyncio.Task on asyncio's own loop", 1_260, traced_factor=2.0, replaces=13_000),
    "uvloop": EngineRow("uvloop_loop", "UvloopEngine", "one asyncio.Task on uvloop's loop", 1_570, needs=("uvloop",), install=_UVLOOP, traced_factor=1.9, replaces=15_000),
    "gevent": EngineRow("greenlets", "GeventEngine", "one gevent.Greenlet", 8_540, needs=("gevent",), install=_GEVENT, traced_factor=1.3, shown=False),
    "sequential": EngineRow("sequential", "SequentialEngine", "one call after another on one thread", 1, queues=True, shown=False),
    "asyncio-eager": EngineRow("event_loop", "EagerEngine", "one asyncio.Task that starts as it is created", 1_260, oldest_python=(3, 12), traced_factor=2.0, replaces=13_000, shown=False),
    "interpreters": EngineRow("interpreters", "InterpretersEngine", "one job for an InterpreterPoolExecutor", 2_200, oldest_python=(3, 14), queues=True, resolution=_INTERPRETER, shown=False),
}  # fmt: skip
"""The engines by name."""
