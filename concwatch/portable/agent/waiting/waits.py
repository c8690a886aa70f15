"""Find, on request, where the tasks of a group wait, for what and for whom, and who waits for them."""

from __future__ import annotations

import sys
from _weakref import ref
from time import monotonic

from ..basics.guard import guarded
from ..basics.own_code import LINE_FUNCTIONS, is_own
from ..basics.part import FOR_EVER
from ..counting.awaits import GreenletWait, Pools, Wait, function_of, is_task, wait_of
from ..counting.counted_group import GEVENT
from ..counting.counting import COUNTS
from ..counting.scan import Tasks, visit_greenlets, visit_tasks
from .timers import timer, variables
from .wakers import Wakers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

    from ..counting.awaits import Place
    from ..counting.counted_group import CountedGroup

MAX_TASKS = 20_000
"""The most tasks that are examined."""

MAX_PLACES = 50
"""The most places that are reported."""

MAX_DISTINCT = 2_000
"""The most places that are counted separately."""

MAX_NESTED = 5
"""The most places in each nested list: of awaited tasks, lock holders, creating lines and awaiting tasks."""

MAX_AWAITED = 2_000
"""The most awaited tasks whose own place is determined for one report."""

WAIT_FOR_CREATES = sys.version_info < (3, 12)
"""Whether ``asyncio.wait_for`` creates a task for what it waits for."""


def trio_tasks() -> List[Any]:
    """Return trio's tasks: all with the same root as a sampled one."""
    roots: Dict[int, Any] = {}
    for group in list(COUNTS.groups.values()) if "trio" in sys.modules else ():
        for reference, _, _ in list(group.samples) if group.kind == "trio" else ():
            task = reference()
            while task is not None and task.parent_nursery is not None:
                task = task.parent_nursery.parent_task
            if task is not None:
                roots[id(task)] = task
    found = list(roots.values())
    for task in found:
        for nursery in list(task.child_nurseries):
            found += nursery.child_tasks
        if len(found) > MAX_TASKS:
            break
    return found


class _WaitPlace:
    """The tasks that wait at one place."""

    __slots__ = ("awaited", "owners", "tasks")

    def __init__(self) -> None:
        self.tasks = 0
        self.awaited: Dict[Place, int] = {}
        """Where the tasks that they wait for wait themselves."""
        self.owners: Dict[int, Any] = {}
        """By ``id``: the locks and semaphores that they wait for."""


class _Waits:
    """Counts where the tasks of a group wait, for what, until when, and who waits for them."""

    def __init__(self, group: CountedGroup) -> None:
        self._group = group
        self.places: Dict[Tuple[str, str, str, bool], _WaitPlace] = {}
        self.examined = self.timed = 0
        self.until = 0.0
        self.awaited_by: Dict[Place, int] = {}
        self._pools, self._wakers = Pools(), Wakers()
        self._holders: Dict[int, Dict[Place, int]] = {}
        """By ``id`` of a context manager: where those wait that have entered it."""
        self._holding: Dict[int, List[Any]] = {}
        """By ``id`` of a lock: weak references to some tasks that have entered it, with their loop's time."""
        self._released: Dict[int, bool] = {}
        """By ``id`` of a lock: whether one of these tasks may leave it."""
        self._others = self._awaited = 0
        self._untimed: Set[int] = set()
        self._limits: Dict[int, float] = {}

    def _is_ours(self, task: Any, coro: Any) -> bool:
        moved = COUNTS.moved_to(task)
        return (id(COUNTS.grouping.key_of(coro)) if moved is None else moved.key) == self._group.key

    def add(self, coro: Any, now: float, task: Any) -> None:
        """Add a task of any group with its coroutine; ``now`` is the time on the clock of its event loop."""
        ours = self._is_ours(task, coro)
        if not ours:
            if WAIT_FOR_CREATES:
                self._add_limit(coro, now)
            self._others += 1
            if self._others > MAX_TASKS:
                return
        wait = Wait(coro, task)
        place = wait.place()
        for manager, at in wait.held():
            held = self._holders.setdefault(id(manager), {})
            _count(held, wait.place(at) if is_own(wait.frames[at][0].co_filename) else place)
            if hasattr(type(manager), "release") and len(self._holding) < MAX_DISTINCT:
                holding = self._holding.setdefault(id(manager), [])
                if len(holding) < MAX_NESTED:
                    holding.append((ref(task), now))
        awaited = [] if self._group.kind == "trio" else wait.tasks()
        if any(self._is_ours(one, one.get_coro()) for one in awaited):
            _count(self.awaited_by, place)
        if ours:
            running = wait.end is None and getattr(coro, "cr_running", False) is True
            self._add_place(wait, place, awaited, running)
            left = timer(wait, now)
            del wait  # it refers to what the task waits for
            self._add_timer(id(task), left)
            _examine(self._wakers, task, coro, left)

    def add_greenlet(self, greenlet: Any) -> None:
        """Add a greenlet of the group."""
        wait = GreenletWait(greenlet)
        self._add_place(wait, wait.place(), [])
        left = wait.sleeps()
        self._add_timer(id(greenlet), left)
        if left is None:
            self._wakers.add_unknown()

    def _add_place(self, wait: Wait, place: Place, awaited: List[Any], running: bool = False) -> None:
        self.examined += 1
        on, owner = wait.on(self._pools)
        key = (*place, on, running)
        if key not in self.places and len(self.places) >= MAX_DISTINCT:
            return
        found = self.places.setdefault(key, _WaitPlace())
        found.tasks += 1
        if owner is not None and hasattr(type(owner), "release") and len(found.owners) < MAX_NESTED:
            found.owners[id(owner)] = owner
        for one in awaited:
            self._awaited += 1
            if self._awaited > MAX_AWAITED:
                return
            _count(found.awaited, (Wait(one.get_coro(), one).place()[0], function_of(one)))

    def _add_timer(self, task: int, left: Optional[float]) -> None:
        if left is None or left == FOR_EVER:
            self._untimed.add(task)
        else:
            self.timed, self.until = self.timed + 1, max(self.until, left)

    def _add_limit(self, coro: Any, now: float) -> None:
        """Add the task that ``coro`` waits for in ``wait_for``, which up to Python 3.11 creates one."""
        function = getattr(sys.modules.get("asyncio.tasks"), "wait_for", None)
        wait = Wait(coro)
        for code, awaitable, frame_name in wait.frames:
            if code is getattr(function, "__code__", None):
                left = timer(wait, now)
                if left is not None and left != FOR_EVER:
                    found = [one for one in variables(awaitable, frame_name) if is_task(one)]
                    self._limits.update(dict.fromkeys(map(id, found), left))
                break

    def _is_released(self, lock: int) -> bool:
        """Return whether a task that has entered a lock may leave it, or no such task is known."""
        if lock not in self._holding:  # by calling ``acquire``
            return True
        if lock not in self._released:
            self._released[lock] = False  # also ends the recursion if holders wait for each other
            wakers, is_timed = Wakers(), False
            for reference, now in self._holding[lock]:
                task = reference()
                if task is not None:
                    coro = _coro_of(task)
                    left = timer(Wait(coro, task), now)
                    is_timed = is_timed or left not in (None, FOR_EVER)
                    _examine(wakers, task, coro, left)
            self._released[lock] = is_timed or wakers.wakeable(self._is_released) > 0
        return self._released[lock]

    def report(self) -> Dict[str, Any]:
        """Return the fields of the report."""
        for number in self._untimed & set(self._limits):
            self._add_timer(number, self._limits[number])
        ranked = sorted(self.places.items(), key=lambda item: -item[1].tasks)[:MAX_PLACES]
        starts = [((line, LINE_FUNCTIONS.get(line, "")), count) for line, count in self._group.starts.items()]
        return {
            "group": self._group.number,
            "looked": self.examined,
            "live": self._group.live,
            "sampled": self._wakers.examined,
            "wakeable": self._wakers.wakeable(self._is_released),
            **({"timed": self.timed, "until": round(self.until, 3)} if self.timed else {}),
            "waits": [
                {
                    "where": where,
                    "in": inside,
                    "on": on,
                    **self._details(place),
                    **({"running": True} if running else {}),
                }
                for (where, inside, on, running), place in ranked
            ],
            "created": _ranked(dict(starts)),
            "awaited_by": _ranked(self.awaited_by),
            "oldest": _oldest(self._group),
        }

    def _details(self, place: _WaitPlace) -> Dict[str, Any]:
        holders: Dict[Place, int] = {}
        for number in place.owners:
            for held, tasks in self._holders.get(number, {}).items():
                _count(holders, held, tasks)
        details: Dict[str, Any] = {"tasks": place.tasks}
        if place.awaited:
            details["for"] = _ranked(place.awaited)
        if holders:
            details["inside"] = _ranked(holders)
        return details


def _count(counts: Dict[Place, int], place: Place, tasks: int = 1) -> None:
    if place in counts or len(counts) < MAX_DISTINCT:
        counts[place] = counts.get(place, 0) + tasks


def _ranked(counts: Dict[Place, int]) -> List[Dict[str, Any]]:
    ranked = sorted(counts.items(), key=lambda item: -item[1])[:MAX_NESTED]
    return [{"where": where, "in": inside, "tasks": tasks} for (where, inside), tasks in ranked]


def find_waits(group: CountedGroup, send: Callable[[Dict[str, Any]], None]) -> Iterator[None]:
    """Find where the tasks of ``group`` wait, and call ``send`` with the fields of the report.

    A generator: one time slice per step.
    """
    found = _Waits(group)
    if group.kind == "trio":
        for task in trio_tasks():
            found.add(task.coro, monotonic() + group.clock_ahead, task)
        task = None
    elif group.kind == GEVENT:
        yield from visit_greenlets(group, found.add_greenlet, lambda: found.examined >= MAX_TASKS)
    else:
        yield from visit_tasks(
            Tasks(),
            lambda task: found.add(task.get_coro(), task.get_loop().time(), task),
            lambda: found.examined >= MAX_TASKS,
        )
    send(found.report())


def _coro_of(task: Any) -> Any:
    return task.get_coro() if hasattr(task, "get_coro") else task.coro  # of trio


def _examine(wakers: Wakers, task: Any, coro: Any, left: Optional[float]) -> None:
    """Examine what may wake a task, unless a timer does in ``left`` seconds."""
    if left is None:
        wakers.add(task, coro)
    elif left == FOR_EVER:
        wakers.add_stuck()


def _oldest(group: CountedGroup) -> Any:
    oldest = group.oldest()
    if oldest is None:
        return None
    task, created, start = oldest
    return {
        "age": round(monotonic() - created, 3),
        "where": _line_of(task, group) or "",
        "start": start or None,
    }


@guarded("the oldest task")
def _line_of(task: Any, group: CountedGroup) -> str:
    """Return the line at which a task waits."""
    return wait_of(task, group.kind).place()[0]
