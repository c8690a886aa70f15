"""Report what lasts in this process besides the blocks of its loops: deadlocks of threads, and shutdowns."""

from __future__ import annotations

from time import thread_time

from ..basics.guard import guarded
from ..basics.part import Part
from ..blocking.stack_signal import StackSignal
from ..counting.awaits import Pools, Wait
from ..hooking.left_over import shutdowns
from .deadlocks import Deadlocks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple

    Places = List[Dict[str, Any]]
    """Where threads or tasks wait."""

INTERVAL = 1.0
"""Seconds between two looks."""

SHARE = 0.002
"""The share of the time that these may take."""

MAX_PLACES = 20
"""The most places in a report."""

LEAST = 1.0
"""The least seconds of what is reported."""


class LastingSearch(Part):
    """Looks for what lasts, and reports it.

    Args:
        send: called with the fields of each report.
    """

    def __init__(self, send: Callable[[Dict[str, Any]], None]) -> None:
        self.due = 0.0
        self._send = send
        self._signal, self._told = StackSignal(), None  # type: StackSignal, Optional[int]
        """What makes the process write its stack while this cannot run, and the signal that was reported."""
        self._deadlocks = Deadlocks()
        self._numbers = 0
        self._reports: Dict[object, Dict[str, Any]] = {}
        """The last report of each thing that lasts."""

    def connect(self, descriptor: int) -> None:
        """Have stacks written to the socket with this descriptor."""
        self._signal.install(descriptor)
        self._told = None

    @guarded("deadlocks and shutdowns")
    def step(self, now: float) -> None:
        """Look for what lasts; what has ended since is reported too."""
        began_look = thread_time()
        self.due = now + INTERVAL
        found: Dict[object, Tuple[str, float, Places]] = {}
        for threads, began, places in self._deadlocks.look(now):
            found[threads] = "deadlock", began, places
        for began, tasks in shutdowns():
            found[began] = "shutdown", began, _places_of(tasks) if now >= began + LEAST else []
        tasks = []
        for key in set(self._reports) - set(found):
            self._send({**self._reports.pop(key), "ended": True})
        for key, (kind, began, places) in found.items():
            if now >= began + LEAST:
                self._report(key, kind, now - began, places)
        self.due = now + max(INTERVAL, (thread_time() - began_look) / SHARE)

    def _report(self, key: object, kind: str, seconds: float, places: Places) -> None:
        if key not in self._reports:
            self._numbers += 1
        number = self._reports[key]["number"] if key in self._reports else self._numbers
        fields = {"number": number, "kind": kind, "seconds": round(seconds, 3), "ended": False}
        self._reports[key] = {**fields, "places": places[:MAX_PLACES]}
        self._send(self._reports[key])

    def read(self) -> Dict[str, Any]:
        """Return the signal, if it is another one than before."""
        if self._signal.number == self._told:
            return {}
        self._told = self._signal.number
        return {"stack_signal": self._told}

    def finish(self, deadline: float) -> None:
        """Report the end of all that lasts, because the process exits."""
        for report in self._reports.values():
            self._send({**report, "ended": True})
        self._reports.clear()

    def close(self) -> None:
        """Have no more stacks written."""
        self._signal.remove()


def _places_of(tasks: List[Any]) -> Places:
    """Return where tasks wait, and for what."""
    pools = Pools()
    counts: Dict[Tuple[str, str, str], int] = {}
    for task in tasks:
        key = _place_of(task, pools)
        if key is not None:
            counts[key] = counts.get(key, 0) + 1
    return [
        {"where": where, "in": inside, "on": on, "tasks": count}
        for (where, inside, on), count in counts.items()
    ]


@guarded("deadlocks and shutdowns")
def _place_of(task: Any, pools: Pools) -> Optional[Tuple[str, str, str]]:
    """Return where a task waits, and for what; None for one that is not known to wait."""
    if not hasattr(type(task), "get_coro"):  # of a custom class
        return None
    wait = Wait(task.get_coro(), task)
    return (*wait.place(), wait.on(pools)[0])
