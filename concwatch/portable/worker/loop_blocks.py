"""Reports what blocks the event loop while its tasks run a function of the user."""

from __future__ import annotations

import os
from threading import Event, Thread
from time import monotonic

from concwatch.portable.agent.blocking.blocks import Blocks
from concwatch.portable.agent.counting.counting import COUNTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict

_CONCWATCH = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


class LoopBlocks:
    """A thread that looks for blocks, as the agent does in a watched program.

    Args:
        loop: the event loop.
        collecting: returns the seconds spent in garbage collection so far.
        send: sends a report.
    """

    def __init__(self, loop: Any, collecting: Callable[[], float], send: Callable[..., None]) -> None:
        COUNTS.loops.add(loop)
        self._send = send
        self._blocks = Blocks(collecting, self._report)
        self._stopped = Event()
        Thread(target=self._run, name="blocks", daemon=True).start()

    def stop(self) -> None:
        """End the thread."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(max(0.0, self._blocks.due - monotonic())):
            self._blocks.step(monotonic())
        self._blocks.close()

    def _report(self, block: Dict[str, Any]) -> None:
        """Send a report, unless it is the engine that blocks the loop, such as by creating many tasks."""
        stack = block.get("stack", ())
        own = [index for index in block.get("own", ()) if not stack[index]["where"].startswith(_CONCWATCH)]
        if own or block["cause"] != "code":
            self._send("block", **{**block, "own": own, "group": None})
