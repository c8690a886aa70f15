"""Scans that find live tasks and count them by coroutine function, in time slices too short to notice.

Up to Python 3.13 asyncio holds its tasks in a weak set. Copying its references takes 13 to 17 ms at 1,000,000
tasks; dereferencing them is spread over many slices. Since 3.14 there is only `asyncio.all_tasks`, which
returns all tasks at once: 190 ms at 1,000,000.
"""

from __future__ import annotations

import sys
from itertools import islice
from time import monotonic, perf_counter, thread_time

from ..basics.guard import ERRORS, guarded
from .counted_group import is_ended
from .counting import COUNTS
from .grouping import Unresolved
from .regrouping import Regrouping
from .starts import STARTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

    from .counted_group import CountedGroup

    Members = Tuple[CountedGroup, List[Any]]
    """A group, and weak references to its greenlets."""

TIME_SLICE = 0.001
"""Seconds of a time slice: less than the interpreter's switch interval, so that nothing changes meanwhile."""

CHUNK = 200
"""Tasks that are examined between two readings of the clock."""

MANY = 50_000
"""Tasks above which the time to list them is measured."""

MAX_COMPARED = 8
"""The most tasks per group whose names are compared with its counts in each scan."""

MAX_DROPPED = 5
"""The most successive scans that are dropped because a task's group could not be found."""

MAX_THREADS = 1_000
"""Threads above which their frames are not searched for event loops."""

LINKED = sys.version_info >= (3, 14)
"""Whether asyncio keeps its tasks in a linked list, which Python code cannot iterate over."""


def _weak_set() -> Optional[Set[Any]]:
    """Return the references to all tasks; None if this Python has no such set."""
    module = sys.modules.get("asyncio.tasks")
    for name in ("_scheduled_tasks", "_all_tasks"):
        data = getattr(getattr(module, name, None), "data", None)
        if isinstance(data, set):
            return data
    return None


def task_objects() -> Optional[int]:
    """Return the number of task objects and greenlets, including done ones; None if unknown."""
    references = None if LINKED else _weak_set()
    if references is None and (LINKED or "gevent" not in sys.modules):
        return None
    groups = [group for group in list(COUNTS.groups.values()) if group.members]  # as of the last scan
    return len(references or ()) + sum([group.live + group.retained for group in groups])


def some_tasks(most: int, most_listed: int) -> Tuple[List[Any], int]:
    """Return up to ``most`` tasks that are not done, and how many tasks exist.

    Args:
        most: how many are returned.
        most_listed: live tasks above which none are returned where they cannot be listed in part.
    """
    references = None if LINKED else _weak_set()
    if references is not None:
        tasks = [reference() for reference in islice(references, most)]
        return [task for task in tasks if task is not None and not task.done()], len(references)
    if sum(group.live for group in list(COUNTS.groups.values())) > most_listed:
        return [], 0
    listed = Tasks()
    count = len(listed)
    tasks = []
    while len(listed) and len(tasks) < most:
        tasks += listed.pop_chunk()
    return tasks, count


def add_running_loops() -> None:
    """Add the running event loops to the known ones, on a Python that lists tasks only by loop."""
    kind = getattr(sys.modules.get("asyncio.events"), "AbstractEventLoop", None)
    if not LINKED or kind is None:
        return
    frames = list(sys._current_frames().values())
    for frame in frames if len(frames) <= MAX_THREADS else ():
        while frame is not None:
            if frame.f_code.co_name in ("run_forever", "run_until_complete", "run"):
                for value in list(frame.f_locals.values()):
                    value = getattr(value, "_loop", value)  # asyncio.Runner has it there
                    if isinstance(value, kind):
                        COUNTS.loops.add(value)
            frame = frame.f_back  # type: ignore[assignment]


def all_members() -> List[Members]:
    """Return the groups of greenlets, with copies of the references to these."""
    return [(group, list(group.members)) for group in list(COUNTS.groups.values()) if group.members]


class Slices:
    """Time slices, each of which begins when it is asked to."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin a time slice."""
        self._ends = perf_counter() + TIME_SLICE

    def is_over(self) -> bool:
        """Return whether the current time slice is over."""
        return perf_counter() >= self._ends


class Tasks:
    """A copy of all existing tasks, to be removed in chunks."""

    def __init__(self) -> None:
        began = thread_time()
        references = _weak_set()
        self._copies = COUNTS.loops.copies()
        self._references = list(references or ())
        self._tasks: List[Any] = []
        self.greenlets = all_members()
        """Copies of the references to the greenlets of each group."""
        if references is None or LINKED:
            all_tasks: Any = getattr(sys.modules.get("asyncio.tasks"), "all_tasks", None)
            for loop in COUNTS.loops.open() if all_tasks is not None else ():
                if loop in self._copies:
                    continue
                try:
                    self._tasks += all_tasks(loop)
                except RuntimeError:  # up to 3.13: too many were created meanwhile
                    pass
        self.pause = thread_time() - began if len(self) > MANY else 0.0
        """Seconds that the program was stopped by this; 0 with few tasks."""

    @property
    def holds(self) -> bool:
        """Whether this keeps ended tasks alive, so that the scan should be quick."""
        return bool(self._tasks)

    def pop_chunk(self) -> List[Any]:
        """Remove and return some tasks; the list may be empty while others are left."""
        if self._references:
            chunk = self._references[-CHUNK:]
            del self._references[-CHUNK:]
            tasks = [task for task in [reference() for reference in chunk] if task is not None]
            return [task for task in tasks if not self._is_copy(task)] if self._copies else tasks
        chunk = self._tasks[-CHUNK:]
        del self._tasks[-CHUNK:]
        return chunk

    def _is_copy(self, task: Any) -> bool:
        """Return whether a task belongs to a loop that runs in the parent of this process."""
        # One of a custom class may have no loop.
        return hasattr(type(task), "get_loop") and task.get_loop() in self._copies

    def __len__(self) -> int:
        return len(self._references) + len(self._tasks)


def visit_tasks(
    tasks: Tasks,
    visit: Callable[[Any], object],
    enough: Callable[[], bool] = lambda: False,
) -> Iterator[None]:
    """Call ``visit`` with each task that is not done, until ``enough``. A generator: one time slice per step.

    If ``visit`` raises an exception, this is an error of the agent, unless the task has just ended.

    Args:
        tasks: the tasks, which are removed.
        visit: is called with a task.
        enough: whether no more tasks should be visited.
    """
    slice_ends = perf_counter() + TIME_SLICE
    while tasks and not enough():
        for task in tasks.pop_chunk():
            _visit(task, visit)
            if perf_counter() >= slice_ends:
                yield
                slice_ends = perf_counter() + TIME_SLICE
        task = None


@guarded("where tasks wait")
def _visit(task: Any, visit: Callable[[Any], object]) -> None:
    if not hasattr(type(task), "get_coro") or task.done():  # the former of a custom class
        return
    try:
        visit(task)
    except Unresolved:
        pass
    except Exception:
        if not task.done():
            raise


def visit_greenlets(
    group: CountedGroup,
    visit: Callable[[Any], object],
    enough: Callable[[], bool] = lambda: False,
    done: bool = False,
) -> Iterator[None]:
    """Call ``visit`` with each greenlet of a group, as `visit_tasks` does."""
    slices = Slices()
    for counted_in, references in all_members():
        for reference in references:
            if slices.is_over():
                yield
                slices.begin()
            if enough():
                return
            greenlet = reference()
            if greenlet is not None and (COUNTS.moved_to(greenlet) or counted_in) is group:
                _visit_greenlet(greenlet, visit, done)
            greenlet = None


@guarded("where greenlets wait")
def _visit_greenlet(greenlet: Any, visit: Callable[[Any], object], done: bool) -> None:
    try:
        if is_ended(greenlet) is done:
            visit(greenlet)
    except Exception:
        if is_ended(greenlet) is done:
            raise


class Scan:
    """The result of the last complete scan, and the current one."""

    def __init__(self) -> None:
        self.began: Optional[float] = None
        """When the last complete scan started; None before."""
        self.live = self.ended = self.since = self.retained = self.scan_created = self.live_peak = 0
        self.urgent = False
        """Whether the next slice should follow soon."""
        self.pause = 0.0
        """Seconds that the program was stopped at the start of the last scan."""
        self._loops_due = 0.0
        self._dropped = 0
        self._regrouping = Regrouping()

    def count_existing(self, tasks: Tasks) -> Iterator[None]:
        """Count the tasks that existed when the agent started. A generator: one time slice per step."""
        return self._count(tasks, monotonic(), None)

    def run(self) -> Iterator[None]:
        """Count all tasks once. A generator: one time slice per step."""
        began = monotonic()
        for group in list(COUNTS.groups.values()):
            group.count_direct()
        # Iterate over a copy: the garbage collector may free a function meanwhile, and change the groups.
        # Read before the tasks are copied: a task counted by then is in the copy, unless it has ended.
        counted = {key: group.counted() for key, group in COUNTS.groups.copy().items()}
        if began >= self._loops_due:
            self._loops_due = began + 1.0
            add_running_loops()
        tasks = Tasks()
        if tasks.pause:  # that is enough for one slice
            self.urgent = tasks.holds
            yield
        yield from self._count(tasks, began, counted)

    def _count(self, tasks: Tasks, began: float, counted: Optional[Dict[int, int]]) -> Iterator[None]:
        self.pause = tasks.pause
        live: Dict[int, int] = {}
        retained: Dict[int, int] = {}
        unresolved = 0
        regroup = self._regrouping.begin(counted is None)
        slice_ends = perf_counter() + TIME_SLICE
        while tasks:
            for task in tasks.pop_chunk():
                try:
                    coro = task.get_coro()
                    key = id(coro.cr_code)
                    if regroup(key):
                        unresolved += not self._count_other(task, live, retained)
                    elif task.done():
                        retained[key] += 1
                    else:
                        live[key] += 1
                        if live[key] < 64 or not live[key] % 64:
                            COUNTS.loops.add(task.get_loop())
                            if live[key] <= MAX_COMPARED and COUNTS.groups[key].direct:
                                COUNTS.unseen.compare(task)
                except Exception:  # a group that is new to this scan, or another kind of task or coroutine
                    unresolved += not self._count_other(task, live, retained)
            task = coro = None
            if perf_counter() >= slice_ends:
                self.urgent = tasks.holds
                yield
                slice_ends = perf_counter() + TIME_SLICE
        for group, references in tasks.greenlets:
            yield from self._count_greenlets(group, references, regroup(group.key), live, retained)
        self.urgent = False
        # A task that is not found would count as ended for ever: repeat such a scan.
        self._dropped = self._dropped + 1 if unresolved and counted is not None else 0
        if 0 < self._dropped <= MAX_DROPPED:
            return
        self._regrouping.end()
        self._update_groups(began, counted, live, retained)

    def _update_groups(
        self, began: float, counted: Optional[Dict[int, int]], live: Dict[int, int], retained: Dict[int, int]
    ) -> None:
        """Compute the ended tasks from those ``counted`` before the scan and those that it has found."""
        groups = list(COUNTS.groups.copy().items())
        seconds = 0.0 if self.began is None else began - self.began
        for key, group in groups:
            before = group.live
            self._update_group(group, key, counted, live, retained)
            group.live_peak = max(group.live_peak, group.live)
            group.found += group.live > 0
            group.task_seconds += seconds * (before + group.live) / 2
        self.began = began
        for name in ("live", "ended", "since", "retained"):
            setattr(self, name, sum([getattr(group, name) for _, group in groups]))
        self.live_peak = max(self.live_peak, self.live)
        self.scan_created = max(0, self.live + self.ended - self.since)

    @staticmethod
    def _update_group(
        group: CountedGroup,
        key: int,
        counted: Optional[Dict[int, int]],
        live: Dict[int, int],
        retained: Dict[int, int],
    ) -> None:
        if group.kind == "trio":
            group.update_from_endings()
        else:
            found = live.get(key, 0)
            if counted is None:
                group.since += found
            else:
                # Tasks in excess of all counted ones were created without ``create_task``; or a thread has
                # just created one and is about to count it: then the next scan finds no excess.
                excess = max(0, found - (group.created() + group.since - group.ended))
                confirmed = min(excess, group.uncounted)
                group.add_direct(confirmed)
                group.uncounted = excess - confirmed
                # Otherwise it may be about to be counted, and those that wait for their start are.
                if confirmed and group.kind == "asyncio":
                    STARTS.observe(group, COUNTS.table.code_of(group))
            group.live = max(0, found - group.uncounted)
            group.retained = retained.get(key, 0)
            known = (counted or {}).get(key, 0) + group.direct + group.moved + group.since
            group.ended = max(group.ended, known - found)

    def _count_greenlets(
        self,
        group: CountedGroup,
        references: List[Any],
        may_move: bool,
        live: Dict[int, int],
        retained: Dict[int, int],
    ) -> Iterator[None]:
        """Count the greenlets that were counted in a group. A generator: one time slice per step."""
        slices = Slices()
        for at, reference in enumerate(references):
            if not at % CHUNK and slices.is_over():
                yield
                slices.begin()
            greenlet = reference()
            if greenlet is None:
                continue
            self._count_greenlet(greenlet, group, may_move, live, retained)
            greenlet = None

    @guarded("live greenlets")
    def _count_greenlet(
        self,
        greenlet: Any,
        group: CountedGroup,
        may_move: bool,
        live: Dict[int, int],
        retained: Dict[int, int],
    ) -> None:
        done = not greenlet and is_ended(greenlet)  # it is also false just before it starts
        found = self._regrouping.group_of(greenlet, group, done, False) if may_move else group
        counts = retained if done else live
        counts[found.key] = counts.get(found.key, 0) + 1

    def _count_other(self, task: Any, live: Dict[int, int], retained: Dict[int, int]) -> bool:
        """Count a task whose group has to be determined, or is new to this scan.

        Return False if it cannot be found just now.
        """
        if not hasattr(type(task), "get_coro"):  # of a custom class
            return True
        try:
            done = task.done()
            coro = task.get_coro()
            if coro is None and done:  # an eager task that has ended
                return True
            is_wrapped = id(getattr(coro, "cr_code", type(coro))) in COUNTS.grouping.wrappers
            group = self._regrouping.group_of(task, COUNTS.grouping.group_of(coro, task), done, is_wrapped)
            COUNTS.loops.add(task.get_loop())
            counts = retained if done else live
            counts[group.key] = counts.get(group.key, 0) + 1
            if group.direct and counts[group.key] <= MAX_COMPARED and not done:
                COUNTS.unseen.compare(task)
        except Unresolved:
            return False
        except Exception:
            ERRORS.add("live tasks")
        return True
