"""Counts of the tasks of each coroutine function, updated as tasks are created (0.05 to 0.25 µs per task)."""

from __future__ import annotations

from _weakref import ref

from ..basics.guard import guarded
from ..basics.own_code import creating_line
from .counted_group import LINES_PER_GROUP, MAX_STARTS, CountedGroup
from .durations import Durations, time_task
from .grouping import OTHERS, Grouping, GroupTable
from .process_wide import Loops, TaskLines, UnfinishedTasks, UnseenTasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, List, Optional

LINES_PER_PERIOD = 400
"""The most tasks of all groups whose creating line is read between two reports."""


class Regrouped(ref):  # type: ignore[type-arg]
    """A weak reference to a task that scans may move from the group of its function to another one."""

    __slots__ = ("function", "group", "looks")

    function: CountedGroup
    """The group of its function, which cannot be found once a wrapper has ended."""
    group: Optional[CountedGroup]
    """The group to which it was moved; None if it was not."""
    looks: int
    """How often it was found waiting."""


class Counts:
    """Counts the tasks of this process. Any thread may create tasks; no lock is ever held."""

    def __init__(self) -> None:
        self.table = GroupTable(self._forget)
        self.grouping = Grouping(self.table)
        self.groups = self.table.groups
        """By `CountedGroup.key`."""
        self.fast: Dict[int, Iterable[object]] = {}
        """By ``id`` of a code: an iterator that counts one task as it is advanced; for greenlets what
        `concwatch.portable.agent.hooking.greenlets` calls.

        A task whose code is missing is counted and sampled.
        """
        self.loops, self.lines = Loops(), TaskLines()
        self.unseen, self.unfinished = UnseenTasks(self.groups), UnfinishedTasks()
        self.creation_observer: Optional[Callable[[Any, str], None]] = None
        """Called with each new task and its creating line, if set; then `fast` is not used."""
        self.scanned = self.outcomes = False
        """Whether a session scans the tasks, and whether it counts how they end."""
        self.by_name = False
        """Whether tasks that the program has named are grouped by name."""
        self.regrouped: Dict[int, Regrouped] = {}
        """By ``id`` of a task, as of the last scan; see `concwatch.portable.agent.counting.regrouping`."""
        self._lines_due = LINES_PER_PERIOD
        self.timing = False
        """Whether tasks are timed."""
        self.timed = 0
        """Tasks that were timed since the last report."""

    def clear(self) -> None:
        """Remove everything, in place, because the replaced functions hold these dictionaries."""
        for part in (
            self.fast,
            self.table,
            self.grouping,
            self.loops,
            self.lines,
            self.unseen,
            self.unfinished,
        ):
            part.clear()
        self.scanned = self.by_name = False
        self.regrouped = {}
        Durations.all_live = 0

    def _forget(self, number: int) -> None:
        """Forget a code by its ``id``."""
        self.fast.pop(number, None)
        self.grouping.forget(number)

    def moved_to(self, task: Any) -> Optional[CountedGroup]:
        """Return the group to which a task was moved; None if it was not."""
        known = self.regrouped.get(id(task))
        return known.group if known is not None and known() is task else None

    def group_of_task(self, task: Any) -> CountedGroup:
        """Return the group of a task of asyncio; raises `Unresolved`."""
        return self.moved_to(task) or self.grouping.group_of(task.get_coro(), task)

    @guarded("tasks")
    def count_and_sample(self, coro: Any, task: Any) -> None:
        """Count and sample an asyncio task whose code is not in `fast`. Never raises."""
        if not hasattr(type(task), "get_coro"):  # a task factory has made something else
            return
        coro = self.grouping.counted_coro(coro, task)
        group = self.grouping.group_of(coro, task)
        number = group.count()
        if self.timing and number >= group.durations.due:
            self.timed += 1
            time_task(group.durations, task, number, self.timed)
            if group.key in self.fast:
                self.fast[group.key] = group.count_fast()
        if group.key in self.fast:  # the task is timed, or in a wrapper: only the first is sampled
            return
        line = creating_line(4)
        if self.sample(group, task, line):
            self.unseen.compare(task)
        if (
            self.creation_observer is None
            and group.name != OTHERS
            and min(group.lines_due, self._lines_due) <= 0
        ):
            self.fast[group.key] = group.count_fast() if self.timing else group.counter
        if self.creation_observer is not None:
            self.creation_observer(task, line)
        self.loops.add(task.get_loop())

    def sample(self, group: CountedGroup, task: Any, line: str) -> bool:
        """Record the line that created a task, and the task too if it is the first since the last report.

        Returns:
            Whether it is.
        """
        is_first = group.lines_due == LINES_PER_GROUP
        if is_first:
            group.add_sample(task, line)
        self._lines_due -= 1
        group.lines_due = group.lines_due - 1 if self._lines_due > 0 else 0
        if line:
            if line in group.starts or len(group.starts) < MAX_STARTS:
                group.starts[line] = group.starts.get(line, 0) + 1
            self.lines.add(task, line)
        return is_first

    @guarded("outcomes")
    def count_outcome(self, group: CountedGroup, task: Any) -> None:
        """Count how a task has ended, in ``group`` unless it was moved to another one. Never raises."""
        (self.moved_to(task) or group).count_outcome(task)

    def sample_next(self, groups: List[CountedGroup]) -> None:
        """Sample the next tasks that are created in each group, and read their lines."""
        self._lines_due, self.timed = LINES_PER_PERIOD, 0
        for group in groups:
            group.lines_due = LINES_PER_GROUP
            self.fast.pop(group.key, None)
            if self.timing and group.durations.gap > 1:
                group.durations.begin_period(group.counted())

    def set_timing(self, on: bool) -> None:
        """Start or stop timing tasks; those already being timed are timed to their end."""
        self.timing = on
        for group in list(self.groups.values()):
            group.durations.begin(group.counted())
        self.fast.clear()


COUNTS = Counts()
"""The counts of this process."""
