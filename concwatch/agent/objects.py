"""Find what grows: objects tracked by the garbage collector, by type, and containers."""

from __future__ import annotations

import gc
import sys
from time import monotonic

from .class_attributes import module_file, module_of, public_name, type_name
from .containers import (
    PART_DELAY,
    Rise,
    are_weak,
    find,
    find_growing,
    is_container,
    mean_size,
    newest,
    types_of_objects,
)
from .counted_group import FREE_THREADED
from .holders import HeldObject, Reference, find_holders
from .own_code import is_agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Set

MAX_BLOCKS = 600_000
"""Memory blocks above which the objects are not listed, which could stop the program for over 20 ms."""

MAX_TYPES = 20
"""The most types that are reported."""

CANDIDATES = 12
"""The most growing containers that are examined."""

MAX_CONTAINERS = 3
"""The most containers that are reported."""

LEAST_SHARE = 0.2
"""The least growth of a container that is reported, as a share of that of the first one."""

LEAST_INNER = 3
"""Growing containers within another one that are reported together."""


def check_blocks() -> None:
    """Raise unless the objects can be listed.

    Raises:
        ValueError: there are too many objects, or this Python cannot list them.
    """
    blocks = getattr(sys, "getallocatedblocks", int)()
    if FREE_THREADED or not 0 < blocks <= MAX_BLOCKS:
        raise ValueError(f"too many objects to count in 20 ms: {blocks:,} blocks of memory")


def find_what_grows(send: Callable[[Dict[str, Any]], None]) -> Iterator[float]:
    """Find what grows within a few seconds, and send the fields of a report.

    Yields:
        The seconds until the next step.

    Raises:
        ValueError: there are too many objects by now.
    """
    growing: Dict[int, Rise] = {}
    before: Dict[str, int] = {}
    now: Dict[str, int] = {}
    began = monotonic()
    for _ in _count(before):
        yield PART_DELAY
    for delay in find_growing(growing):
        yield delay
        check_blocks()
    since = monotonic() - began
    for _ in _count(now):
        yield PART_DELAY
    containers: List[Dict[str, Any]] = []
    for _ in _describe(growing, containers):
        yield PART_DELAY
        check_blocks()
    ranked = sorted(now, key=lambda name: (now[name] - before.get(name, 0), now[name]), reverse=True)
    types = [
        {"name": name, "count": now[name], "grown": now[name] - before.get(name, 0)}
        for name in ranked[:MAX_TYPES]
    ]
    send({"counted": sum(now.values()), "since": since, "types": types, "containers": containers})


def _count(counts: Dict[str, int]) -> Iterator[None]:
    """Count the objects by type, in slices."""
    for types in types_of_objects():
        numbers: Dict[int, int] = {}
        for number in map(id, types):  # a metaclass may define what is equal
            numbers[number] = numbers.get(number, 0) + 1
        for kind in {id(kind): kind for kind in types}.values():
            if not is_agent(module_file(module_of(kind))):
                name = type_name(kind)
                counts[name] = counts.get(name, 0) + numbers[id(kind)]
        yield


class _Candidate(Reference):
    """A container that grows, or one with several that do.

    Args:
        value: the container.
        rise: how its items have become more, or those of the containers within it.
        items: some of these items.
        inner: the type of the containers within it; empty for itself.
        count: how many of them grow.
    """

    __slots__ = ("bytes", "count", "inner", "rise")

    def __init__(self, value: Any, rise: Rise, items: List[Any], inner: str = "", count: int = 1) -> None:
        super().__init__(value)
        self.rise, self.inner, self.count = rise, inner, count
        self.bytes = int(rise.grown * mean_size(items))
        """The bytes by which it has grown, from the size of some items."""

    def report(self, held: HeldObject) -> Dict[str, Any]:
        """Return the fields of a report."""
        fields = held.report()
        if self.inner:
            fields.update(kind=self.inner, within=held.within or held.kind)
        rise = self.rise
        return {**fields, "count": self.count, "items": rise.items, "grown": rise.grown, "bytes": self.bytes}


def _candidate(value: Any, rise: Rise) -> List[_Candidate]:
    """Return a container as a candidate, unless it holds nothing. No reference to its items is left."""
    items = newest(value)
    return [] if are_weak(items) else [_Candidate(value, rise, items)]


def _describe(growing: Dict[int, Rise], containers: List[Dict[str, Any]]) -> Iterator[None]:
    """Add a report of each of the containers that have grown most, and of their holders, in time slices."""
    ranked = sorted(growing, key=lambda one: growing[one].grown, reverse=True)
    steady = [one for one in ranked if growing[one].is_steady][:CANDIDATES]
    if not ranked:
        return
    objects: Dict[int, Any] = {}
    for _ in find(frozenset([*steady, *ranked[:CANDIDATES]]), objects):
        yield
    candidates: List[_Candidate] = []
    for number, value in objects.items():
        if growing[number].is_steady:
            candidates += _candidate(value, growing[number])
            yield
    candidates += _outer_containers(objects, growing)
    yield
    candidates.sort(key=lambda one: one.bytes, reverse=True)
    least = 0.0
    inner: Set[int] = set()
    for candidate in candidates:
        if len(containers) >= MAX_CONTAINERS or candidate.bytes < least:
            break
        if id(candidate.value) in inner:  # it is reported with others
            continue
        held = HeldObject()
        for _ in find_holders(candidate.value, held):
            yield
        if candidate.inner:
            inner.update(map(id, gc.get_referents(candidate.value)))
        if not held.is_of_agent:
            least = least or LEAST_SHARE * candidate.bytes
            containers.append(candidate.report(held))


def _outer_containers(objects: Dict[int, Any], growing: Dict[int, Rise]) -> Iterator[_Candidate]:
    """Yield the containers that hold several others, each of which grows little."""
    most = max(rise.grown for rise in growing.values())
    for outer in gc.get_referrers(*objects.values()):
        if outer is objects or not is_container(type(outer)):
            continue
        within = growing.keys() & set(map(id, gc.get_referents(outer)))
        rises = [growing[one] for one in within]
        grown = sum(rise.grown for rise in rises)
        if len(within) < LEAST_INNER or grown < 2 * most:
            continue
        known = [objects[one] for one in within if one in objects]
        items = [newest(one)[0] for one in known if len(one)]
        rise = Rise(0, 0, sum(rise.items for rise in rises))
        rise.grown = grown
        if items and not are_weak(items):
            yield _Candidate(outer, rise, items, public_name(type(known[0])), len(within))
