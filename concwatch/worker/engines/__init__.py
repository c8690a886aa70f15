"""The engines of the Python workers, each imported only by the worker that runs it."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict

    from concwatch.worker.collector import Collector
    from concwatch.worker.engines.base import BaseEngine

    Make = Callable[[Callable[..., None], Collector], BaseEngine]


def _threads() -> Make:
    from concwatch.worker.engines.blocking import ThreadsEngine

    return ThreadsEngine


def _pool() -> Make:
    from concwatch.worker.engines.pool import PoolEngine

    return PoolEngine


def _asyncio() -> Make:
    import asyncio

    from concwatch.worker.engines.event_loop import EventLoopEngine

    return lambda send, collector: EventLoopEngine(send, collector, asyncio.new_event_loop)


def _uvloop() -> Make:
    import uvloop

    from concwatch.worker.engines.event_loop import EventLoopEngine

    library = f"uvloop {uvloop.__version__}"  # type: ignore[attr-defined]  # public, but not exported
    return lambda send, collector: EventLoopEngine(send, collector, uvloop.new_event_loop, library)


def _gevent() -> Make:
    from concwatch.worker.engines.greenlets import GeventEngine

    return GeventEngine


def _sequential() -> Make:
    from concwatch.worker.engines.sequential import SequentialEngine

    return SequentialEngine


def _asyncio_eager() -> Make:
    _expect_python(3, 12)
    import asyncio

    from concwatch.worker.engines.event_loop import EagerEngine

    return lambda send, collector: EagerEngine(send, collector, asyncio.new_event_loop)


def _interpreters() -> Make:
    _expect_python(3, 14)
    from concwatch.worker.engines.interpreters import InterpretersEngine

    return InterpretersEngine


def _expect_python(major: int, minor: int) -> None:
    if sys.version_info < (major, minor):
        raise ImportError(f"needs Python {major}.{minor} or newer")


ENGINES: Dict[str, Callable[[], Make]] = {
    "threads": _threads,
    "pool": _pool,
    "asyncio": _asyncio,
    "uvloop": _uvloop,
    "gevent": _gevent,
    "sequential": _sequential,
    "asyncio-eager": _asyncio_eager,
    "interpreters": _interpreters,
}
"""Name → a function that imports what the engine needs and returns its constructor."""
