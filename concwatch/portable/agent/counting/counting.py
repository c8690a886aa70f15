"""Counts of the tasks of each coroutine function, updated as tasks are created (0.05 to 0.25 µs per task)."""

from __future__ import annotations

import sys
from _weakref import ref
from itertools import count
from sys import intern

from .counted_group import LINES_PER_GROUP, MAX_STARTS, CountedGroup
from .durations import Durations, time_task
from .loops import Loops
from .own_code import creating_line
from .task_lines import TaskLines
from .totals import DEFAULT_NAME, UnfinishedTasks, UnseenTasks
from .wrappers import (
    MAX_DEPTH,
    code_of,
    decorated_code,
    function_code,
    is_decorated,
    is_wrapper,
    running_code,
    stands_for,
    wrapped_by,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, List, Optional, Set, Tuple

EAGER_CRASHES = (3, 12) <= sys.version_info < (3, 12, 5)
"""Whether ``get_coro`` of an eager task that has ended crashes the process (python/cpython#122332)."""

MAX_GROUPS = 1_000
"""The most groups that are counted separately; the tasks of all others are counted together."""

OTHERS = "other coroutines"
"""The name of the group for these."""

MAX_NAMED_TASKS = 1_000
"""The most task names whose group is remembered."""

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


class Unresolved(Exception):
    """A wrapper is running, so that the coroutine that it wraps cannot be found."""


class Counts:
    """All groups of this process. Any thread may create tasks; no lock is ever held.

    Code objects and types are identified by their ``id`` and not kept alive; a weak reference removes the
    entries of one that is gone. Its group is kept, for its totals and for a new function of this name.
    """

    def __init__(self) -> None:
        self.groups: Dict[int, CountedGroup] = {}
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
        """Whether a session scans the tasks, and whether it is counted how they end."""
        self.by_name = False
        """Whether tasks that the program has named are grouped by name."""
        self.regrouped: Dict[int, Regrouped] = {}
        """By ``id`` of a task, as of the last scan; see `concwatch.portable.agent.counting.regrouping`."""
        self._lines_due = LINES_PER_PERIOD
        self.timing = False
        """Whether tasks are timed."""
        self.timed = 0
        """Tasks that were timed since the last report."""
        self._numbers = count(1)
        self.wrappers: Set[int] = set()
        """The ``id`` of the code or type of each wrapper."""
        self._wrapped: Dict[int, Optional[CountedGroup]] = {}
        """By that ``id``: the group of the only function that it has wrapped; None if there were several."""
        self._decorated: Dict[Tuple[int, str], CountedGroup] = {}
        """The group of the function that a decorator wraps, by ``id`` of its code and the function's name."""
        self._references: Dict[int, Any] = {}
        self._retired: Dict[Tuple[str, str, int], CountedGroup] = {}
        """The groups of functions that are gone, by name, file and line."""
        self._named: Dict[str, CountedGroup] = {}
        """The group of the coroutine that a wrapper last ran in a task of this name."""

    def clear(self) -> None:
        """Remove everything, in place, because the replaced functions hold these dictionaries."""
        for known in (self.fast, self.groups, self.loops.known, self._named, self._retired, self._references):
            known.clear()
        for counted in (self.lines, self.unseen, self.unfinished):
            counted.clear()
        self.scanned = self.by_name = False
        self.regrouped = {}
        Durations.all_live = 0
        self.wrappers.clear()
        self._wrapped.clear()
        self._decorated.clear()
        self._numbers = count(1)

    def _refer(self, key: object) -> None:
        """Forget the ``id`` of an object once it is gone, because another object may reuse it."""
        number = id(key)
        if number in self._references:
            return
        try:
            self._references[number] = ref(key, lambda _: self._forget(number))
        except TypeError:  # a string, or a type without weak references: it is kept
            self._references[number] = key

    def _forget(self, number: int) -> None:
        self._references.pop(number, None)
        self.fast.pop(number, None)
        self.wrappers.discard(number)
        self._wrapped.pop(number, None)
        self._decorated = {key: one for key, one in self._decorated.items() if key[0] != number}
        group = self.groups.pop(number, None)
        if group is not None:
            group.key = id(group)
            group.observed = None
            self.groups[group.key] = group
            self._retired[group.identity] = group

    # Wrappers.

    def _mark_wrapper(self, wrapper: Any) -> None:
        """Remember that the function of ``wrapper`` runs another coroutine."""
        key = code_of(wrapper) or type(wrapper)
        if id(key) in self.wrappers:
            return
        self._refer(key)
        self.wrappers.add(id(key))
        group = self.groups.get(id(key))
        if group is not None:  # a scan has found its tasks before
            group.observed = None
            group.direct = group.since = group.ended = group.live = group.retained = group.uncounted = 0
            group.live_peak, group.found, group.moved, group.task_seconds = 0, 0, 0, 0.0

    def counted_coro(self, coro: Any, task: Any) -> Any:
        """Return ``coro``, by which a new task is counted, or what a factory made of it if it hides it."""
        # An eager task that has ended has no coroutine.
        made = None if EAGER_CRASHES and task.done() else task.get_coro()
        if made is None or code_of(made) is code_of(coro):
            return coro
        wrappers: List[Any] = []
        inner = made
        while inner is not coro:
            if inner is None or len(wrappers) == MAX_DEPTH:
                return made  # a scan could not find it either
            wrappers.append(inner)
            inner = wrapped_by(inner)
        for wrapper in wrappers:
            self._mark_wrapper(wrapper)
        return coro

    def _is_wrapper(self, key: object) -> bool:
        return id(key) in self.wrappers

    def key_of(self, coro: Any) -> object:
        """Return the code of a coroutine's function, or its type if it has none; for a wrapper, what it runs.

        Returns:
            None for a wrapper that has ended; its own code if what it runs cannot be found.

        Raises:
            Unresolved: a wrapper is running.
        """
        for _ in range(MAX_DEPTH):
            code = code_of(coro)
            inner = stands_for(coro) if code is None else None
            if inner is not None:
                coro = inner
                continue
            key = type(coro) if code is None else code
            if code is not None and id(code) not in self.wrappers and is_decorated(coro, code):
                known = self._decorated.get((id(code), coro.__qualname__))
                wrapped = decorated_code(coro) if known is None else self.code_of(known)
                if wrapped is not None:
                    return wrapped
            if (
                code is not None
                and id(key) not in self.wrappers
                and id(key) not in self.groups
                and is_wrapper(coro, code)
            ):
                self._mark_wrapper(coro)
            if id(key) not in self.wrappers:
                return key
            handed = function_code(coro)
            if handed is not None:
                return handed
            inner = wrapped_by(coro)
            if inner is None:
                if getattr(coro, "cr_frame", None) is None:
                    return None
                called = running_code(coro, self._is_wrapper)
                if called is None and coro.cr_running:
                    raise Unresolved
                return called or key
            coro = inner
        return key

    # Groups.

    def code_of(self, group: CountedGroup) -> Any:
        """Return the code of a group's function; None if there is none, or it is gone."""
        reference = self._references.get(group.key)
        code = reference() if isinstance(reference, ref) else None
        return code if hasattr(code, "co_firstlineno") else None

    def group_of(self, coro: Any, task: Any, kind: str = "asyncio") -> CountedGroup:
        """Return the group of a task, creating it if needed; raises `Unresolved`."""
        code = getattr(coro, "cr_code", None)
        group = self.groups.get(id(code))
        if group is not None and id(code) not in self.wrappers:
            return group
        if code is not None and is_decorated(coro, code):
            known = self._decorated.get((id(code), coro.__qualname__))
            if known is not None:
                return known
        key = self.key_of(coro)
        outer = code_of(coro) or type(coro)
        if id(outer) not in self.wrappers:
            group = self.group_by(key, kind)
            if key is not code and code is not None and len(self._decorated) < MAX_GROUPS:
                self._refer(code)
                self._decorated[id(code), coro.__qualname__] = group
            return group
        name = str(task.get_name() if hasattr(task, "get_name") else task.name)
        if key is None:  # the wrapper has ended, but the name of its task, or the only function, may be known
            known = self._named.get(name) or self._wrapped.get(id(outer))
            return known or self.group_by(outer if name.startswith(DEFAULT_NAME) else intern(name), kind)
        group = self.group_by(key, kind)
        if self._wrapped.setdefault(id(outer), group) is not group:
            self._wrapped[id(outer)] = None
        if not name.startswith(DEFAULT_NAME) and (name in self._named or len(self._named) < MAX_NAMED_TASKS):
            self._named[name] = group
        return group

    def moved_to(self, task: Any) -> Optional[CountedGroup]:
        """Return the group to which a task was moved; None if it was not."""
        known = self.regrouped.get(id(task))
        return known.group if known is not None and known() is task else None

    def group_of_task(self, task: Any) -> CountedGroup:
        """Return the group of a task of asyncio; raises `Unresolved`."""
        return self.moved_to(task) or self.group_of(task.get_coro(), task)

    def group_by(self, key: Any, kind: str) -> CountedGroup:
        """Return the group of a code, or of a type or string in its place, creating it if needed."""
        group = self.groups.get(id(key))
        if group is not None:
            return group
        new = CountedGroup(next(self._numbers), kind, key)
        known = self._retired.pop(new.identity, None)
        if known is not None:  # the function was defined again
            self.groups.pop(known.key, None)
            known.key = new.key
            new = known
        elif len(self.groups) >= MAX_GROUPS:
            new.__init__(new.number, kind, OTHERS)  # type: ignore[misc]
            key = OTHERS
        self._refer(key)
        # Another thread may do the same: keep the first group.
        return self.groups.setdefault(new.key, new)

    def count_and_sample(self, coro: Any, task: Any) -> None:
        """Count and sample an asyncio task whose code is not in `fast`. Never raises."""
        try:
            coro = self.counted_coro(coro, task)
            group = self.group_of(coro, task)
            number = group.count()
            if self.timing and number >= group.durations.due:
                self.timed += 1
                time_task(group.durations, task, number, self.timed)
                if group.key in self.fast:
                    self.fast[group.key] = group.count_fast()
            if group.key in self.fast:  # the task is timed, or in a wrapper: only the first is sampled
                return
            line = creating_line(3)
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
        except Exception:  # a task type without weak references, or without a loop
            pass

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

    def created(self) -> int:
        """Return how many tasks were created since the agent started."""
        return sum([group.created() for group in list(self.groups.values())])


COUNTS = Counts()
"""The counts of this process."""
