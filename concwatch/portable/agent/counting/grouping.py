"""The groups of tasks, and which one a task belongs to: that of its function, or of what a wrapper runs."""

from __future__ import annotations

import sys
from _weakref import ref
from itertools import count
from sys import intern

from ..basics.guard import guarded
from ..basics.names import DEFAULT_NAME
from .counted_group import CountedGroup
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
    from typing import Any, Callable, Dict, List, Optional, Set, Tuple

EAGER_CRASHES = (3, 12) <= sys.version_info < (3, 12, 5)
"""Whether ``get_coro`` of an eager task that has ended crashes the process (python/cpython#122332)."""

MAX_GROUPS = 1_000
"""The most groups that are counted separately; the tasks of all others are counted together."""

OTHERS = "other coroutines"
"""The name of the group for these."""

MAX_NAMED_TASKS = 1_000
"""The most task names whose group is remembered."""


class Unresolved(Exception):
    """A wrapper is running, so that the coroutine that it wraps cannot be found."""


class GroupTable:
    """Creates and finds groups.

    Code objects and types are identified by their ``id`` and not kept alive; a weak reference removes the
    entries of one that is gone. Its group is kept, for its totals and for a new function of this name.

    Args:
        forget: called with the ``id`` of an object that is gone.
    """

    def __init__(self, forget: Callable[[int], object]) -> None:
        self.groups: Dict[int, CountedGroup] = {}
        """By `CountedGroup.key`."""
        self._forget_elsewhere = forget
        self._numbers = count(1)
        self._references: Dict[int, Any] = {}
        self._retired: Dict[Tuple[str, str, int], CountedGroup] = {}
        """The groups of functions that are gone, by name, file and line."""

    def clear(self) -> None:
        """Remove all groups, in place."""
        for known in (self.groups, self._retired, self._references):
            known.clear()
        self._numbers = count(1)

    def refer(self, key: object) -> None:
        """Forget the ``id`` of an object once it is gone, because another object may reuse it."""
        number = id(key)
        if number in self._references:
            return
        try:
            self._references[number] = ref(key, lambda _: self._forget(number))
        except TypeError:  # a string, or a type without weak references: it is kept
            self._references[number] = key

    @guarded("tasks")
    def _forget(self, number: int) -> None:
        self._references.pop(number, None)
        self._forget_elsewhere(number)
        group = self.groups.pop(number, None)
        if group is not None:
            group.key = id(group)
            group.observed = None
            self.groups[group.key] = group
            self._retired[group.identity] = group

    def code_of(self, group: CountedGroup) -> Any:
        """Return the code of a group's function; None if there is none, or it is gone."""
        reference = self._references.get(group.key)
        code = reference() if isinstance(reference, ref) else None
        return code if hasattr(code, "co_firstlineno") else None

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
        self.refer(key)
        # Another thread may do the same: keep the first group.
        return self.groups.setdefault(new.key, new)

    def created(self) -> int:
        """Return how many tasks were created since the agent started."""
        return sum([group.created() for group in list(self.groups.values())])


class Grouping:
    """Finds the groups of tasks in a table.

    Args:
        table: all groups; new ones are added to it.
    """

    def __init__(self, table: GroupTable) -> None:
        self.wrappers: Set[int] = set()
        """The ``id`` of the code or type of each wrapper."""
        self._table, self._groups = table, table.groups
        self._wrapped: Dict[int, Optional[CountedGroup]] = {}
        """By that ``id``: the group of the only function that it has wrapped; None if there were several."""
        self._decorated: Dict[Tuple[int, str], CountedGroup] = {}
        """The group of the function that a decorator wraps, by ``id`` of its code and the function's name."""
        self._named: Dict[str, CountedGroup] = {}
        """The group of the coroutine that a wrapper last ran in a task of this name."""

    def clear(self) -> None:
        """Forget all wrappers and decorators."""
        self.wrappers.clear()
        self._wrapped.clear()
        self._decorated.clear()
        self._named.clear()

    def forget(self, number: int) -> None:
        """Forget a wrapper or a decorator that is gone, by its ``id``."""
        self.wrappers.discard(number)
        self._wrapped.pop(number, None)
        self._decorated = {key: one for key, one in self._decorated.items() if key[0] != number}

    def _mark_wrapper(self, wrapper: Any) -> None:
        """Remember that the function of ``wrapper`` runs another coroutine."""
        key = code_of(wrapper) or type(wrapper)
        if id(key) in self.wrappers:
            return
        self._table.refer(key)
        self.wrappers.add(id(key))
        group = self._groups.get(id(key))
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
                wrapped = decorated_code(coro) if known is None else self._table.code_of(known)
                if wrapped is not None:
                    return wrapped
            if (
                code is not None
                and id(key) not in self.wrappers
                and id(key) not in self._groups
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

    def group_of(self, coro: Any, task: Any, kind: str = "asyncio") -> CountedGroup:
        """Return the group of a task, creating it if needed; raises `Unresolved`."""
        code = getattr(coro, "cr_code", None)
        group = self._groups.get(id(code))
        if group is not None and id(code) not in self.wrappers:
            return group
        if code is not None and is_decorated(coro, code):
            known = self._decorated.get((id(code), coro.__qualname__))
            if known is not None:
                return known
        key = self.key_of(coro)
        outer = code_of(coro) or type(coro)
        if id(outer) not in self.wrappers:
            group = self._table.group_by(key, kind)
            if key is not code and code is not None and len(self._decorated) < MAX_GROUPS:
                self._table.refer(code)
                self._decorated[id(code), coro.__qualname__] = group
            return group
        name = str(task.get_name() if hasattr(task, "get_name") else task.name)
        if key is None:  # the wrapper has ended, but the name of its task, or the only function, may be known
            known = self._named.get(name) or self._wrapped.get(id(outer))
            return known or self._table.group_by(
                outer if name.startswith(DEFAULT_NAME) else intern(name), kind
            )
        group = self._table.group_by(key, kind)
        if self._wrapped.setdefault(id(outer), group) is not group:
            self._wrapped[id(outer)] = None
        if not name.startswith(DEFAULT_NAME) and (name in self._named or len(self._named) < MAX_NAMED_TASKS):
            self._named[name] = group
        return group
