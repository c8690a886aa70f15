"""What is kept of the whole process beside its groups: loops, creating lines, tasks missed or unfinished."""

from __future__ import annotations

from _weakref import ref

from ..basics.guard import guarded
from ..basics.names import DEFAULT_NAME
from .counted_group import MAX_STARTS, counter, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

    from .counted_group import CountedGroup

MAX_LINES = 2_000
"""The most existing tasks whose creating line is remembered: about half a megabyte."""


class Loops:
    """Weak references to the event loops in which tasks were found."""

    def __init__(self) -> None:
        self.known: Dict[int, Any] = {}
        """By ``id``: a weak reference to each."""
        self._copies: List[Any] = []
        """Weak references to those that ran when this process was forked."""

    def add(self, loop: Any) -> None:
        """Add an event loop to the known ones."""
        if id(loop) not in self.known:
            try:
                self.known[id(loop)] = ref(loop)
            except TypeError:  # a custom class without weak references
                pass

    def clear(self) -> None:
        """Forget all loops."""
        self.known.clear()

    @guarded("event loops")
    def start_in_child(self) -> None:
        """Note that the running loops are copies, in a child that has just been forked. Never raises."""
        self._copies = [ref(loop) for loop in self.open() if loop.is_running()]

    def running(self) -> List[Any]:
        """Return the known event loops that run in this process."""
        copies = self.copies()
        return [loop for loop in self.open() if loop.is_running() and loop not in copies]

    def copies(self) -> List[Any]:
        """Return the event loops that run in the parent of this process: their tasks do nothing here."""
        found = [loop for loop in [copy() for copy in self._copies] if loop is not None and loop.is_running()]
        # One that the child has ended may run again, in the child.
        self._copies = [ref(loop) for loop in found]
        return found

    def open(self) -> List[Any]:
        """Return the known event loops that are not closed."""
        found = []
        for key, reference in list(self.known.items()):
            loop = reference()
            if loop is None or loop.is_closed():
                self.known.pop(key, None)
            else:
                found.append(loop)
        return found


class _TaskLine(ref):  # type: ignore[type-arg]
    """A weak reference to a task, with the line that created it."""

    __slots__ = ("line", "number")

    number: int
    """The ``id`` of the task."""
    line: str


class TaskLines:
    """The creating lines of some tasks that exist."""

    def __init__(self) -> None:
        self._known: Dict[int, _TaskLine] = {}
        """By ``id`` of the task."""

    def add(self, task: Any, line: str) -> None:
        """Remember the line that created a task, unless there are too many already."""
        if len(self._known) < MAX_LINES:
            known = _TaskLine(task, self._forget)
            known.number, known.line = id(task), line
            self._known[known.number] = known

    @guarded("tasks")
    def _forget(self, known: Any) -> None:
        self._known.pop(known.number, None)

    def of(self, task: Any) -> str:
        """Return the line that created a task; an empty string if it was not recorded."""
        known = self._known.get(id(task))
        return known.line if known is not None and known() is task else ""

    def clear(self) -> None:
        """Forget all lines."""
        self._known.clear()


class UnseenTasks:
    """Estimates how many tasks were not counted, from asyncio's own count of them.

    Args:
        groups: all groups, by key.
    """

    def __init__(self, groups: Dict[int, CountedGroup]) -> None:
        self._groups = groups
        self._before: Optional[int] = None
        """By how much asyncio's own count of tasks exceeded ours when the first task was counted."""
        self._most = 0

    def compare(self, task: Any) -> None:
        """Compare the number in a task's default name, which counts all tasks, with our count."""
        name = task.get_name()
        if name.startswith(DEFAULT_NAME) and name[len(DEFAULT_NAME) :].isdigit():
            groups = [group for group in list(self._groups.values()) if group.kind == "asyncio"]
            counted = sum([group.counted() for group in groups])
            ahead = int(name[len(DEFAULT_NAME) :]) - counted
            if self._before is None:
                self._before = ahead
            self._most = max(self._most, ahead - self._before)

    def missed(self) -> int:
        """Return how many tasks at least were neither counted at creation nor found by a scan."""
        return max(0, self._most - sum([group.direct for group in list(self._groups.values())]))

    def clear(self) -> None:
        """Begin anew."""
        self._before, self._most = None, 0


class UnfinishedTasks:
    """Counts the tasks that were pending when their loop finished, or when they were destroyed."""

    def __init__(self) -> None:
        self._left_over, self._destroyed = counter(), counter()
        self.observer: Optional[Callable[[Any, CountedGroup], None]] = None
        """Called with each leftover task and its group."""

    def add_left_over(self, task: Any, group: CountedGroup, line: str) -> None:
        """Count a task that was still pending when its loop finished, and the ``line`` that created it."""
        known = line if line in group.left or len(group.left) < MAX_STARTS else ""
        next(group.left.setdefault(known, counter()))
        next(self._left_over)
        if self.observer is not None:
            self.observer(task, group)

    def add_destroyed(self, group: CountedGroup) -> None:
        """Count a task of a group that is destroyed while it is pending."""
        next(group.destructions)
        next(self._destroyed)

    def counts(self) -> Dict[str, int]:
        """Return how many tasks were left over, and destroyed while pending, since the agent started."""
        return {"left_over": value(self._left_over), "destroyed": value(self._destroyed)}

    def clear(self) -> None:
        """Begin anew."""
        self._left_over, self._destroyed = counter(), counter()
