"""Tasks on uvloop's event loop."""

from __future__ import annotations

import uvloop

from concwatch.portable.agent.memory.memory_maps import HEAP, OTHER
from concwatch.portable.worker.engines.event_loop import EventLoopEngine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, ClassVar, Dict

    from concwatch.portable.worker.collector import Collector


class UvloopEngine(EventLoopEngine):
    """Runs each task as an ``asyncio.Task`` on uvloop's loop."""

    native: ClassVar[Dict[str, str]] = dict.fromkeys((HEAP, OTHER), "uvloop's and libuv's C memory")

    def __init__(self, send: Callable[..., None], collector: Collector) -> None:
        library = f"uvloop {uvloop.__version__}"  # type: ignore[attr-defined]  # public, but not exported
        super().__init__(send, collector, uvloop.new_event_loop, library)
