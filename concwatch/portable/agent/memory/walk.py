"""Walk from what can hold objects for long to the containers within it, in time slices.

A list of all objects, or a search for what refers to one, stops a program with millions of objects for a
tenth of a second and longer. The walk starts at modules, loops, tasks and the frames of running functions,
and goes into some of the items of a large container: how much it visits does not depend on the size of the
heap. On its way it knows by which path it has come, so that no search for holders is needed.

A *start* is an object that can be referenced weakly. What is within it, up to the next start, is visited in
one go, mostly within the switch interval of the interpreter, so that no other thread runs meanwhile. Nothing
is kept alive between two slices.
"""

from __future__ import annotations

import gc
import sys
from itertools import compress
from operator import not_
from time import perf_counter

from ..basics.guard import guarded
from ..basics.own_code import is_agent
from ..counting.wrappers import code_of
from .class_attributes import namespace
from .frames import FrameType
from .kinds import COROUTINE, ObjectKinds
from .starts import Starts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, FrozenSet, Iterable, Iterator, List, Optional, Tuple

    from .kinds import ObjectKind

GROWING = "what grows"
"""The answer that a walk is for."""

TIME_SLICE = 0.002
"""Seconds of a time slice: less than the interpreter's switch interval, so that nothing changes meanwhile."""

MAX_KNOWN = 40_000
"""The most containers that are found."""

SPREAD, FEW = 2_000, 10
"""How many objects within a start are spread over its containers, and the least number for each of them."""

MAX_FOUND, MAX_ENTERED, DEPTH = 4_000, 2_000, 12
"""The most objects within a start that are found, which takes 10 ms, the most of these that are entered, and
the most references that are followed within it."""


class VisitedContainer:
    """A container that was found again.

    Args:
        value: the container.
        kind: how it is visited.
        weight: how many similar ones it stands for, because only some items of a large container are visited.
        parent: what refers to it.
        start: the start that it is within.
    """

    __slots__ = ("kind", "parent", "start", "value", "weight")

    def __init__(self, value: Any, kind: ObjectKind, weight: float, parent: Any, start: Any) -> None:
        self.value, self.kind, self.weight = value, kind, weight
        self.parent, self.start = parent, start

    @property
    def size(self) -> int:
        """How many items it has."""
        return 0 if self.kind.size is None else self.kind.size(self.value)

    @property
    def alike(self) -> Tuple[int, ...]:
        """A key that is the same for those that are the same attribute, or items of one container."""
        start, parent = self.start, self.parent
        if issubclass(type(start), (type, type(sys), FrameType)):
            if parent is start or any(one is parent for one in gc.get_referents(start)):
                return (id(self.value),)  # a variable of its own
        elif parent is start or (type(parent) is dict and namespace(start) is parent):
            return id(type(start)), id(type(self.value))
        return id(start), id(parent), id(type(self.value))


class HeapWalk:
    """A walk through the objects of the program, and what it has found.

    Args:
        is_wanted: returns whether an object that can be referenced weakly is looked for.
        enough: how many of these are looked for.
    """

    def __init__(self, is_wanted: Optional[Callable[[Any], bool]] = None, enough: int = 0) -> None:
        self._is_wanted, self._enough = is_wanted, enough
        self.wanted: List[int] = []
        """The ``id`` of the objects that were looked for."""
        self.sizes: Dict[int, int] = {}
        """The number of items of each container, by ``id``."""
        self.kinds = ObjectKinds()
        """How objects are visited."""
        self._starts = Starts()
        self._visited = 0
        self._all_visited = True

    @property
    def is_complete(self) -> bool:
        """Whether everything that could be reached was visited, apart from items of large containers."""
        return self._all_visited and self._starts.are_complete

    @property
    def visited(self) -> int:
        """How many objects and containers were visited."""
        return len(self._starts.seen) + len(self._starts.within)

    def run(self) -> Iterator[None]:
        """Find the containers, in time slices."""
        yield from self.run_from_own()
        yield from self.run_from_others()

    def run_from_own(self) -> Iterator[None]:
        """Find what is reached from the program's own modules, its loops, tasks and running functions."""
        self._starts.add_own()
        return self._visit_starts()

    def run_from_others(self) -> Iterator[None]:
        """Find what else is reached from the modules of libraries, in time slices."""
        self._starts.add_others()
        return self._visit_starts()

    def _visit_starts(self) -> Iterator[None]:
        slice_ends = perf_counter() + TIME_SLICE
        while self._visited < len(self._starts.references):
            if self._is_done:
                return
            if len(self._starts.within) >= MAX_KNOWN:
                self._all_visited = False
                return
            if not self._visit_start(self._visited):
                self._all_visited = False
            self._visited += 1
            if perf_counter() >= slice_ends:
                yield
                slice_ends = perf_counter() + TIME_SLICE

    @guarded(GROWING)
    def _visit_start(self, start: int) -> bool:
        """Find what is within one start; return False if that was not possible."""
        try:
            self._visit(start)
        except RuntimeError:  # the program has changed it meanwhile, as the collector called its code
            return False
        return True

    @property
    def _is_done(self) -> bool:
        """Whether all that is looked for has been found."""
        return self._is_wanted is not None and len(self.wanted) >= self._enough

    def _want(self, value: Any, start: int) -> None:
        if self._is_wanted is not None and id(value) not in self._starts.within and self._is_wanted(value):
            self._starts.within[id(value)] = start
            self.wanted.append(id(value))

    def _visit(self, start: int) -> None:
        """Find what is within one start."""
        value = self._starts.references[start]()
        if value is None:
            return
        holds_names = issubclass(type(value), (type, type(sys)))
        for one, kind, weight, parent in self._within(start, value):
            if kind.is_start:
                self._starts.add(one, start, weight)
                if not self._is_done:
                    self._want(one, start)
            elif kind.size is not None and not (holds_names and parent is value):
                size = kind.size(one)
                if size >= kind.least:
                    self._starts.within.setdefault(id(one), start)
                    if kind.grows:
                        self.sizes.setdefault(id(one), size)

    def _within(self, start: int, value: Any) -> Iterator[Tuple[Any, ObjectKind, float, Any]]:
        """Yield what can be reached from a start up to the next ones.

        With each object, how it is visited, how many similar ones it stands for, and what refers to it.
        """
        first = self.kinds.of(value)
        if first is COROUTINE and is_agent(getattr(code_of(value), "co_filename", "")):
            return
        known, starts_of = self.kinds.known, self._starts.within
        met = {id(value)}
        layer: List[Tuple[Any, ObjectKind, float]] = [(value, first, self._starts.weights[start])]
        count = entered = 0
        for _ in range(DEPTH):
            inner: List[Tuple[Any, ObjectKind, float]] = []
            large = sum(
                1 for one, kind, _ in layer if kind.grows and kind.size is not None and kind.size(one) > FEW
            )
            allowed = max(FEW, (SPREAD - count) // max(1, large))
            for parent, kind, weight in layer:
                children, weight = self._children(parent, kind, weight, allowed)
                for one in children:
                    number = id(type(one))
                    found = known[number] if number in known else self.kinds.of_type(type(one))
                    if found is None or id(one) in met:
                        continue
                    met.add(id(one))
                    if starts_of.get(id(one), start) != start:
                        continue
                    yield one, found, weight, parent
                    count += 1
                    if not found.is_start and entered < MAX_ENTERED:
                        entered += 1
                        inner.append((one, found, weight))
                if count >= MAX_FOUND:
                    self._all_visited = False
                    return
            layer = inner
        self._all_visited = self._all_visited and not layer and entered < MAX_ENTERED

    def _children(
        self, parent: Any, kind: ObjectKind, weight: float, allowed: int
    ) -> Tuple[List[Any], float]:
        """Return what an object refers to, and how many similar ones each of these stands for.

        Args:
            parent: the object.
            kind: how it is visited.
            weight: how many similar ones it stands for.
            allowed: how many of its items are visited, or up to twice as many.
        """
        children = kind.children(parent)
        if len(children) <= FEW:
            return children, weight
        if kind.size is not None:
            weight *= max(1.0, kind.size(parent) / len(children))
        # Most objects are strings and numbers.
        types = map(id, map(type, children))
        children = list(compress(children, map(not_, map(self.kinds.leaves.__contains__, types))))
        if kind.grows and len(children) > 2 * allowed:
            # A step that does not change with each item, so that the same items are visited the next time.
            step = 1 << (len(children) // (2 * allowed)).bit_length()
            return children[::-step], weight * step
        return children, weight

    def look(self, sizes: Dict[int, int], wanted: Iterable[int]) -> Iterator[None]:
        """Add the present sizes of the ``wanted`` containers, in time slices."""

        def add(found: VisitedContainer) -> None:
            sizes[id(found.value)] = found.size

        return self.revisit(wanted, add)

    def revisit(self, wanted: Iterable[int], visit: Callable[[VisitedContainer], object]) -> Iterator[None]:
        """Call ``visit`` with those of the containers that are still there, in time slices."""
        numbers = frozenset(wanted)
        slice_ends = perf_counter() + TIME_SLICE
        for start in sorted({self._starts.within[number] for number in numbers}):
            self._revisit(start, numbers, visit)
            if perf_counter() >= slice_ends:
                yield
                slice_ends = perf_counter() + TIME_SLICE

    @guarded(GROWING)
    def _revisit(
        self, start: int, numbers: FrozenSet[int], visit: Callable[[VisitedContainer], object]
    ) -> None:
        value = self._starts.references[start]()
        try:
            for one, kind, weight, parent in self._within(start, value) if value is not None else ():
                if id(one) in numbers:
                    visit(VisitedContainer(one, kind, weight, parent, value))
        except RuntimeError:  # as above
            pass

    def path(self, number: int) -> List[Any]:
        """Return a container and what it is reached through, innermost first; empty if it is gone."""
        start, path = self._starts.within[number], []  # type: int, List[Any]
        while start >= 0:
            value = self._starts.references[start]()
            if value is None:
                break
            parents: Dict[int, Any] = {}
            found = None
            for one, _, _, parent in self._within(start, value):
                parents[id(one)] = parent
                if id(one) == number:
                    found = one
                    break
            if found is None:
                break
            path = path or [found]
            while found is not value:
                found = parents[id(found)]
                path.append(found)
            start, number = self._starts.parents[start], id(value)
        return path
