"""Live tasks found and counted by coroutine, in turns that are too short to be felt.

Up to Python 3.13 asyncio holds its tasks in a weak set. A copy of its references takes 13 to 17 ms at
1,000,000; what they refer to is looked at a little at a time. From 3.14 on there is only `asyncio.all_tasks`,
which gives the tasks themselves, all at once: 190 ms at 1,000,000.
"""

from __future__ import annotations

import sys
from time import monotonic, perf_counter, thread_time

from .counting import COUNTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Set

TURN = 0.002
"""Seconds: shorter than the interpreter's switch interval, so that nothing changes while a turn goes on."""

CHUNK = 200
"""Tasks looked at between two looks at the clock."""

MANY = 50_000
"""Tasks from which on it matters how long it takes to list them."""

MOST_THREADS = 1_000
"""Threads that are looked at for the loops that they run."""

LINKED = sys.version_info >= (3, 14)
"""Whether asyncio keeps its own tasks in a linked list that cannot be reached."""


def _weak_set() -> Optional[Set[Any]]:
    """Return the references to all tasks; None where this Python has no such set."""
    module = sys.modules.get("asyncio.tasks")
    for name in ("_scheduled_tasks", "_all_tasks"):
        data = getattr(getattr(module, name, None), "data", None)
        if isinstance(data, set):
            return data
    return None


def existing() -> Optional[int]:
    """Return how many task objects there are, done ones included; None where that is not known."""
    found = None if LINKED else _weak_set()
    return None if found is None else len(found)


def see_running_loops() -> None:
    """Remember the loops that run, where their tasks cannot be found without."""
    kind = getattr(sys.modules.get("asyncio.events"), "AbstractEventLoop", None)
    if not LINKED or kind is None:
        return
    frames = list(sys._current_frames().values())
    for frame in frames if len(frames) <= MOST_THREADS else ():
        while frame is not None:
            if frame.f_code.co_name in ("run_forever", "run_until_complete", "run"):
                for value in list(frame.f_locals.values()):
                    value = getattr(value, "_loop", value)  # of asyncio.Runner
                    if isinstance(value, kind):
                        COUNTS.see_loop(value)
            frame = frame.f_back  # type: ignore[assignment]


class Tasks:
    """All tasks there are at one moment, to be taken in pieces."""

    def __init__(self) -> None:
        began = thread_time()
        weak = _weak_set()
        self._references = list(weak or ())
        self._tasks: List[Any] = []
        if weak is None or LINKED:
            all_tasks: Any = getattr(sys.modules.get("asyncio.tasks"), "all_tasks", None)
            for loop in COUNTS.loops_now() if all_tasks is not None else ():
                try:
                    self._tasks += all_tasks(loop)
                except RuntimeError:  # up to 3.13: too many came meanwhile
                    pass
        self.pause = thread_time() - began if len(self) > MANY else 0.0
        """Seconds that the program stood still for it; 0 with few tasks."""

    @property
    def holds(self) -> bool:
        """Whether tasks are held that could end meanwhile: then there is some hurry."""
        return bool(self._tasks)

    def take(self) -> List[Any]:
        """Return some tasks that were not taken yet; an empty list may have others behind it."""
        if self._references:
            some = self._references[-CHUNK:]
            del self._references[-CHUNK:]
            return [task for task in [reference() for reference in some] if task is not None]
        some = self._tasks[-CHUNK:]
        del self._tasks[-CHUNK:]
        return some

    def __len__(self) -> int:
        return len(self._references) + len(self._tasks)


class Scan:
    """What the last whole scan found, and the one that goes on."""

    def __init__(self) -> None:
        self.began: Optional[float] = None
        """When the last whole scan began; None before."""
        self.live = self.ended = self.since = self.retained = self.scan_created = 0
        self.hurry = False
        """Whether the next turn should come soon."""
        self.pause = 0.0
        """Seconds that the program stood still at the beginning of the last scan."""
        self._loops_due = 0.0

    def older(self, tasks: Tasks) -> Iterator[None]:
        """Count what was there before anything was counted: a generator, a turn at a time."""
        return self._look(tasks, monotonic(), None)

    def next(self) -> Iterator[None]:
        """Look at all tasks once: a generator, a turn at a time."""
        began = monotonic()
        # Read before the tasks are copied: what was counted by then is among them, unless it has ended.
        before = {key: group.counted() for key, group in list(COUNTS.groups.items())}
        if began >= self._loops_due:
            self._loops_due = began + 1.0
            see_running_loops()
        tasks = Tasks()
        if tasks.pause:  # enough for one turn
            self.hurry = tasks.holds
            yield
        yield from self._look(tasks, began, before)

    def _look(self, tasks: Tasks, began: float, before: Optional[Dict[int, int]]) -> Iterator[None]:
        self.pause = tasks.pause
        live: Dict[int, int] = {}
        retained: Dict[int, int] = {}
        turn_ends = perf_counter() + TURN
        while tasks:
            for task in tasks.take():
                try:
                    coro = task.get_coro()
                    key = id(coro.cr_code)
                    if task.done():
                        retained[key] += 1
                    else:
                        live[key] += 1
                        if live[key] < 64 or not live[key] % 64:
                            COUNTS.see_loop(task.get_loop())
                except Exception:
                    _look_again(task, live, retained)
            task = coro = None
            if perf_counter() >= turn_ends:
                self.hurry = tasks.holds
                yield
                turn_ends = perf_counter() + TURN
        self.hurry = False
        self._take(began, before, live, retained)

    def _take(
        self, began: float, before: Optional[Dict[int, int]], live: Dict[int, int], retained: Dict[int, int]
    ) -> None:
        """Work out what has ended from what was created ``before`` the scan and what is still there."""
        groups = list(COUNTS.groups.items())
        for key, group in groups:
            if group.kind == "trio":
                group.take_ends()
                continue
            found = live.get(key, 0)
            if before is None:
                group.since += found
            else:
                # What is there beyond all that was counted went past the counting; or a thread has created
                # a task this moment, and counts it next: then the next scan finds nothing.
                beyond = max(0, found - (group.created() + group.since - group.ended))
                group.direct += min(beyond, group.uncounted)
                group.uncounted = beyond - min(beyond, group.uncounted)
            group.live = found - group.uncounted
            group.retained = retained.get(key, 0)
            known = (before or {}).get(key, 0) + group.direct + group.since
            group.ended = max(group.ended, known - found)
        self.began = began
        for name in ("live", "ended", "since", "retained"):
            setattr(self, name, sum([getattr(group, name) for _, group in groups]))
        self.scan_created = max(0, self.live + self.ended - self.since)


def _look_again(task: Any, live: Dict[int, int], retained: Dict[int, int]) -> None:
    """Count a task whose group is not known yet, or whose coroutine is none of Python's own."""
    try:
        key = id(COUNTS.of(task.get_coro(), task).hold)
        COUNTS.see_loop(task.get_loop())
        found = retained if task.done() else live
        found[key] = found.get(key, 0) + 1
    except Exception:  # a task of somebody's own making that has none of this
        pass
