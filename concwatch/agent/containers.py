"""Find the lists, dictionaries, sets and deques that grow.

They are looked at several times, and only their ``id`` and number of items are kept in between. The list of
all objects exists only within one call in C, during which no other thread runs: so nothing ends meanwhile
that the agent would have to free. Each call examines some of the objects, so that it is short.
"""

from __future__ import annotations

import gc
import sys
from _weakref import ref
from collections import deque
from functools import partial
from itertools import chain, compress, islice, repeat, starmap
from operator import itemgetter, not_

from .class_attributes import class_variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Set, Tuple

PART = 15_000
"""Objects that are examined in one call, which takes about 10 ms."""

OVERLAP = 500
"""Objects of a part that belong to the next one, too: those before them may end meanwhile."""

GENERATIONS = (0, 1, 2)
"""The garbage collector's generations; the young ones come first, since objects move to the oldest."""

LEAST_ITEMS = 5
"""The least number of items in a container."""

MAX_CONTAINERS = 10_000
"""The most containers that are compared; the largest are chosen."""

MAX_GROWING = 500
"""The most growing containers that are examined further; those that have grown most are chosen."""

MAX_TYPES = 2_000
"""The most types of containers."""

LOOKS = 4
"""How many times the sizes of all containers are read."""

LOOK_DELAY, PART_DELAY = 0.7, 0.02
"""Seconds between two looks, and between two parts of one."""

STEADY = 5
"""How many times faster a container may grow in one half of the time than in the other."""

SAMPLED = 20
"""The most items of a container from which the size of an item is estimated."""

LAYERS, NEAR = 4, 200
"""The most references that are followed from an item, and the most objects that are counted for it."""

BUILT_IN: Tuple[Any, ...] = (list, dict, set, deque)

UNTRACKED = sys.version_info < (3, 14)
"""Whether the garbage collector does not track dictionaries of strings and numbers."""

_SIZED = frozenset(
    map(id, (*BUILT_IN, str, bytes, bytearray, int, float, complex, tuple, frozenset, memoryview))
)
"""The ``id`` of the types whose instances return their size without running the program's code."""

_FunctionType: Any = type(class_variable)

_BASIC_SIZE: Callable[[type], int] = type.__dict__["__basicsize__"].__get__

_SHARED: Tuple[Any, ...] = (
    type,
    type(sys),
    _FunctionType,
    type(class_variable.__code__),
    type(len),
    type(str.join),
    ref,
)
"""Types of objects that do not belong to one item."""

_HOLDS_NO_DICTIONARY = frozenset(map(id, (*_SHARED[2:], list, set, frozenset, deque))) | {
    id(type(one))
    for one in (object.__init__, type.__dict__["__mro__"], type.__dict__["__module__"], property())
}
"""The ``id`` of common types whose instances do not hold a growing dictionary."""


def _types() -> FrozenSet[int]:
    """Return the ``id`` of the built-in container types, and of their subclasses."""
    found: Set[int] = set()
    for base in BUILT_IN:
        new = [base]
        while new and len(found) < MAX_TYPES:
            kind = new.pop()
            if id(kind) not in found and class_variable(kind, "__len__") is base.__dict__["__len__"]:
                found.add(id(kind))
            new += type.__subclasses__(kind)
    return frozenset(found)


def is_container(kind: type) -> bool:
    """Return whether a class is a built-in container type or a subclass of one."""
    return issubclass(kind, BUILT_IN)


def _of_types(objects: List[Any], types: FrozenSet[int]) -> Iterator[bool]:
    """Yield for each object whether it is of one of the types."""
    return map(types.__contains__, map(id, map(type, objects)))


def _part(generation: int, start: int) -> Iterator[Any]:
    """Return the objects of one part, which are listed only when the first one is asked for."""
    listed = map(gc.get_objects, (generation,))
    return chain.from_iterable(map(itemgetter(slice(start, start + PART)), listed))


def types_of_objects() -> Iterator[List[type]]:
    """Yield the type of each object that the garbage collector tracks, in parts."""
    for generation in GENERATIONS:
        start, more = 0, True
        while more:
            types = list(map(type, _part(generation, start)))
            more = len(types) == PART
            del types[PART - OVERLAP if more else PART :]
            start += PART - OVERLAP
            yield types


def _visit_part(
    generation: int,
    start: int,
    types: FrozenSet[int],
    large: List[Any],
    *visits: Callable[[], object],
) -> bool:
    """Visit the containers among `PART` objects, and return whether there may be further objects.

    Args:
        generation: that of the garbage collector that is examined.
        start: the number of the first object.
        types: the ``id`` of the types of containers.
        large: an empty list, which has the containers while they are visited.
        visits: are called then. They do their work in C.
    """
    objects: List[Any] = []
    holders: List[Any] = []
    referents: List[Any] = []
    containers: List[Any] = []
    counted: List[int] = []
    steps: List[Any] = [
        partial(objects.extend, _part(generation, start)),
        partial(counted.extend, map(len, [objects])),
        partial(containers.extend, compress(objects, _of_types(objects, types))),
    ]
    if UNTRACKED:
        holds = map(not_, _of_types(objects, _HOLDS_NO_DICTIONARY))
        steps += [
            partial(holders.extend, compress(objects, holds)),
            partial(referents.extend, chain.from_iterable(starmap(gc.get_referents, [holders]))),
            holders.clear,
            partial(containers.extend, compress(referents, _of_types(referents, frozenset({id(dict)})))),
            referents.clear,
        ]
    steps += [
        objects.clear,
        partial(large.extend, compress(containers, map(LEAST_ITEMS.__le__, map(len, containers)))),
        containers.clear,
        *visits,
        large.clear,
    ]
    list(chain.from_iterable(map(starmap, steps, repeat([()]))))
    return counted[0] == PART


def _visit(visits: Callable[[List[Any]], List[Callable[[], object]]]) -> Iterator[None]:
    """Visit all containers, in parts.

    Args:
        visits: returns what is called while the list has containers, which is empty before.
    """
    types = _types()
    for generation in GENERATIONS:
        start, more = 0, True
        while more:
            large: List[Any] = []
            more = _visit_part(generation, start, types, large, *visits(large))
            start += PART - OVERLAP
            yield


def _look(sizes: Dict[int, int]) -> Iterator[None]:
    """Add the number of items of each container, by ``id``, in parts."""
    numbers: List[int] = []
    items: List[int] = []
    for _ in _visit(
        lambda large: [partial(numbers.extend, map(id, large)), partial(items.extend, map(len, large))]
    ):
        sizes.update(zip(numbers, items))
        numbers.clear()
        items.clear()
        yield
    if len(sizes) > MAX_CONTAINERS:
        least = sorted(sizes.values())[-MAX_CONTAINERS]
        for number in [number for number, count in sizes.items() if count < least]:
            del sizes[number]


def find(wanted: FrozenSet[int], found: Dict[int, Any]) -> Iterator[None]:
    """Add the containers with these ``id`` to ``found``, in parts, which keeps them alive."""
    new: List[Any] = []
    for _ in _visit(
        lambda large: [partial(new.extend, compress(large, map(wanted.__contains__, map(id, large))))]
    ):
        found.update(zip(map(id, new), new))
        new.clear()
        if len(found) == len(wanted):
            break
        yield


class Rise:
    """How one container has grown.

    Args:
        first: how many there were at the first look.
        middle: at one between.
        items: at the last one.
    """

    __slots__ = ("grown", "is_steady", "items")

    def __init__(self, first: int, middle: int, items: int) -> None:
        self.items = items
        self.grown = items - first
        slow, fast = sorted((middle - first, items - middle))
        self.is_steady = slow > 0 and fast <= 2 + STEADY * slow


def find_growing(growing: Dict[int, Rise]) -> Iterator[float]:
    """Add the containers that grow within a few seconds to ``growing``, by ``id``.

    Only numbers are kept of each: lists of them would make the garbage collector run.

    Yields:
        The seconds until the next step.
    """
    first: Dict[int, int] = {}
    middle: Dict[int, int] = {}
    last: Dict[int, int] = {}
    for number in range(LOOKS):
        sizes: Dict[int, int] = {}
        for _ in _look(sizes):
            yield PART_DELAY
        # The first look may miss some, because the garbage collector changes the order of the objects.
        if number <= 1:
            first.update({one: items for one, items in sizes.items() if one not in last})
        for one in [one for one, items in sizes.items() if items < last.get(one, 0)]:
            first.pop(one, None)
        last.update({one: items for one, items in sizes.items() if one in first})
        if number == LOOKS // 2:
            middle = last.copy()
        if number < LOOKS - 1:
            yield LOOK_DELAY
    grown = [one for one in first if last[one] > first[one]]
    grown.sort(key=lambda one: last[one] - first[one], reverse=True)
    growing.update({one: Rise(first[one], middle[one], last[one]) for one in grown[:MAX_GROWING]})


def newest(container: Any) -> List[Any]:
    """Return some of the last added items of a container: values of a dictionary, any items of a set."""
    kind = type(container)
    if issubclass(kind, dict):
        items: Any = reversed(dict.values(container))
    elif issubclass(kind, set):
        items = set.__iter__(container)
    else:
        items = (deque if issubclass(kind, deque) else list).__reversed__(container)
    return list(islice(items, SAMPLED))


def are_weak(items: List[Any]) -> bool:
    """Return whether all items are weak references, which hold nothing."""
    return all(issubclass(type(one), ref) for one in items)


def mean_size(items: List[Any]) -> float:
    """Return the mean size of an item in bytes, including nearby objects to which only it refers."""
    near = [_near(item) for item in items]
    times: Dict[int, int] = {}
    for sizes in near:
        for number in sizes:
            times[number] = times.get(number, 0) + 1
    alone = sum(size for sizes in near for number, size in sizes.items() if times[number] == 1)
    return alone / max(1, len(items))


def _near(item: Any) -> Dict[int, int]:
    """Return the bytes of an item and of the objects near it, by ``id``."""
    sizes: Dict[int, int] = {}
    layer = [item]
    for _ in range(LAYERS):
        new: List[Any] = []
        for one in layer:
            kind = type(one)
            if id(one) in sizes or len(sizes) >= NEAR or issubclass(kind, _SHARED):
                continue
            sizes[id(one)] = sys.getsizeof(one) if id(kind) in _SIZED else _BASIC_SIZE(kind)
            new += gc.get_referents(one)[:NEAR]
        layer = new
    return sizes
