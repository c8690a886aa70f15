"""Find cycles of tasks that wait for each other, so that none can continue."""

from __future__ import annotations

from _weakref import ref
from time import monotonic, thread_time

from ..basics.guard import guarded
from ..basics.part import Part, is_exhausted
from ..counting.awaits import Pools, Wait
from ..counting.scan import Tasks, visit_tasks
from .timers import timer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional, Set

MAX_TASKS = 2_000
"""Tasks above which there is no search."""

INTERVAL, SHARE = 5.0, 0.002
"""Seconds between two searches, and the share of the time that they take."""

MAX_REPORTED = 100
"""The most cycles that are reported, each once."""

ANY_OF = ("_wait", "wait", "_wait_for_one")
"""Functions that may continue before all that they wait for has ended."""


class _Waiting:
    """What one task waits for, and which locks it holds."""

    __slots__ = ("awaited", "held", "lock", "on", "place")

    def __init__(self, task: Any, pools: Pools) -> None:
        wait = Wait(task.get_coro(), task)
        self.place = wait.place()
        self.on, owner = wait.on(pools)
        limited = timer(wait, task.get_loop().time()) is not None
        any_of = any(code.co_name in ANY_OF for code, _, _ in wait.frames[wait.at :])
        self.awaited: List[int] = [] if limited or any_of else [id(one) for one in wait.tasks()]
        is_lock = type(owner).__name__ == "Lock" and not limited
        self.lock = id(owner) if is_lock else 0
        self.held = [id(manager) for manager, _ in wait.held()]


class CycleFinder(Part):
    """Searches for cycles from time to time, and reports each new one.

    Args:
        send: called with the fields of a report.
    """

    def __init__(self, send: Callable[[Dict[str, Any]], None]) -> None:
        self._send = send
        self._reported: Set[Any] = set()
        self.due = monotonic() + INTERVAL
        self._search: Optional[Iterator[None]] = None
        self._took = 0.0
        """The CPU seconds that the current search has taken."""

    @guarded("cycles of tasks")
    def step(self, now: float) -> None:
        """Run one time slice of a search."""
        began = thread_time()
        self._search = self._search or self.look()
        ended = is_exhausted(self._search)
        self._took += thread_time() - began
        if ended:
            self.due = now + max(INTERVAL, self._took / SHARE)
            self._search, self._took = None, 0.0

    def look(self) -> Iterator[None]:
        """Search once. A generator: one time slice per step."""
        tasks = Tasks()
        if len(tasks) > MAX_TASKS:
            return
        references: Dict[int, Any] = {}
        waiting: Dict[int, _Waiting] = {}
        pools = Pools()

        def visit(task: Any) -> None:
            waiting[id(task)] = _Waiting(task, pools)
            references[id(task)] = ref(task)

        yield from visit_tasks(tasks, visit)
        for cycle in _cycles(waiting):
            # Check again: what was read in several slices may never have been true at the same time.
            now: Dict[int, _Waiting] = {}
            for number in cycle:
                task = references[number]()
                if task is not None and not task.done():
                    now[number] = _Waiting(task, pools)
                task = None
            if any(set(one) == set(cycle) for one in _cycles(now)):
                self._report([now[number] for number in cycle])

    def _report(self, cycle: List[_Waiting]) -> None:
        first = min(range(len(cycle)), key=lambda index: cycle[index].place)
        cycle = cycle[first:] + cycle[:first]
        key = tuple([one.place for one in cycle])
        if key in self._reported or len(self._reported) >= MAX_REPORTED:
            return
        self._reported.add(key)
        self._send(
            {
                "tasks": [
                    {"where": one.place[0], "in": one.place[1], "on": one.on, "tasks": 1} for one in cycle
                ]
            }
        )


def _cycles(waiting: Dict[int, _Waiting]) -> Iterator[List[int]]:
    """Yield the cycles among tasks, each once."""
    holders = {lock: number for number, one in waiting.items() for lock in one.held}
    done: Set[int] = set()
    for start in waiting:
        path: List[int] = []
        stack: List[Iterator[int]] = []
        current: Optional[int] = start
        while current is not None or stack:
            if current is not None and current in path:
                yield path[path.index(current) :]
            elif current is not None and current not in done:
                done.add(current)
                path.append(current)
                one = waiting[current]
                targets = [*one.awaited, *([holders[one.lock]] if one.lock in holders else [])]
                stack.append(iter([target for target in targets if target in waiting]))
            if not stack:
                break
            current = next(stack[-1], None)
            if current is None:
                stack.pop()
                path.pop()
