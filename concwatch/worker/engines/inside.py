"""What runs inside each interpreter of a pool: its task, and what ends that from outside."""

from __future__ import annotations

import os
import select
from time import monotonic

from concwatch.worker.engines.bodies import BODIES, Cancelled, find_body
from concwatch.worker.workloads import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, Optional, Tuple

    from concwatch.worker.engines.bodies import Bodies

LONGEST_WAIT = 1_000_000.0


class PipeBaton:
    """Ends blocked tasks in whichever interpreter: each byte in one pipe ends the task that reads it.

    A lock cannot be shared between interpreters, a file descriptor can. ``end`` is the pipe's reading end,
    which does not block.
    """

    def __init__(self, end: int) -> None:
        self._end = end

    def sleep(self, seconds: float) -> None:
        """Sleep that long; raises `Cancelled` if this task is the one to end."""
        deadline = monotonic() + seconds
        while seconds > 0 and select.select((self._end,), (), (), min(seconds, LONGEST_WAIT))[0]:
            self.check()
            seconds = deadline - monotonic()

    def check(self) -> None:
        """End this task, by `Cancelled`, if one is to end and no other has taken that upon itself."""
        try:
            os.read(self._end, 1)
        except BlockingIOError:
            return
        raise Cancelled

    def wait(self) -> None:
        """Sleep until ended; raises `Cancelled` then."""
        while True:
            self.sleep(LONGEST_WAIT)


BODIES_HERE: Bodies = {**BODIES, "sleep": PipeBaton.sleep, "hold": PipeBaton.wait}

_found: Dict[Tuple[int, str, Optional[str]], Callable[[], object]] = {}
"""What the last task called, kept: most tasks are of one workload."""


def run(end: int, spec: str, url: Optional[str]) -> Tuple[str, float, float]:
    """Run one task; return how it ended, when it began, and when it ended (seconds, monotonic).

    Args:
        end: the pipe that a `PipeBaton` reads.
        spec: the workload.
        url: where ``http`` fetches.
    """
    key = (end, spec, url)
    if key not in _found:
        workload = parse(spec)
        workload.url = url
        _found.clear()
        _found[key] = find_body(workload, PipeBaton(end), BODIES_HERE)
    begun = monotonic()
    try:
        _found[key]()
    except Cancelled:
        return "cancelled", begun, monotonic()
    return "completed", begun, monotonic()
