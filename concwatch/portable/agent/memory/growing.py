"""Find the containers that grow, and what holds them.

The sizes of all containers that a `HeapWalk` finds are read twice. Those of the ones that have grown are then
read again several times. Only their ``id`` and sizes are kept in between.
"""

from __future__ import annotations

import os
from heapq import nlargest
from time import monotonic

from ..basics.guard import guarded
from .containers import are_weak, mean_size
from .holders import HeldObject, function_within, holder_along
from .walk import GROWING, HeapWalk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Tuple

    from .walk import VisitedContainer

LOOKS, LOOK_DELAY, MAX_DELAY = 6, 0.5, 2.0
"""How many times the sizes of growing containers are read, and the seconds between two of these looks: more
of them if the fastest one grows slowly."""

STEADY = 5
"""How many times faster a container may grow in one half of the time than in the other."""

MAX_GROWING = 500
"""The most containers that have grown and are looked at again; those that have grown most are chosen."""

LEAST_ALIKE = 5
"""The least number of alike containers that grow if those that were not visited are supposed to grow, too."""

MAX_ALIKE, NAMED = 12, 5
"""The most kinds of growing containers that are examined, and how many of each kind."""

UNKNOWN_SIZE = 100
"""Bytes that an item is supposed to have if none can be read."""

LEAST_EXPLAINED = 0.2
"""The least share of the growth of memory that containers must explain for no others to be looked for."""

PAGE = getattr(os, "sysconf", lambda name: 4_096)("SC_PAGE_SIZE")
"""Bytes of a page of memory."""

MAX_CONTAINERS = 3
"""The most containers that are reported."""

LEAST_SHARE = 0.2
"""The least growth of a container that is reported, as a share of that of the first one."""


class _Alike:
    """Growing containers of one type that are attributes of one class, or items of one container."""

    def __init__(self) -> None:
        self.first = self.middle = self.last = 0
        """Their items at three looks."""
        self.members: List[Tuple[int, int]] = []
        """The items by which each has grown, and its ``id``."""
        self._weights = 0.0

    def add(self, number: int, weight: float, first: int, middle: int, last: int) -> None:
        """Add a container that stands for ``weight`` ones."""
        self.first += first
        self.middle += middle
        self.last += last
        self._weights += weight
        self.members.append((last - first, number))

    @property
    def grown(self) -> int:
        """How many more items they have."""
        return self.last - self.first

    @property
    def weight(self) -> float:
        """How many alike containers one of them stands for; one, if that is a guess."""
        count = len(self.members)
        return self._weights / count if count >= LEAST_ALIKE else 1.0

    @property
    def is_steady(self) -> bool:
        """Whether they have grown about as fast in both halves of the time."""
        slow, fast = sorted((self.middle - self.first, self.last - self.middle))
        return slow > 0 and fast <= 2 + STEADY * slow


class _Growth:
    """The growth of the containers that one variable or attribute holds."""

    def __init__(
        self, held: HeldObject, in_bytes: bool, seconds: float, function: Optional[Dict[str, str]]
    ) -> None:
        self.held, self.in_bytes, self.seconds, self.function = held, in_bytes, max(seconds, 1e-6), function
        self.count = self.items = self.grown = self.bytes = 0.0

    def add(self, alike: _Alike, share: float, portion: float, size: float) -> None:
        """Add a part of some containers.

        Args:
            alike: the containers.
            share: the share of their growth.
            portion: the share of their number.
            size: the mean size of one of their items in bytes.
        """
        self.count += alike.weight * len(alike.members) * portion
        self.items += alike.weight * alike.last * share
        self.grown += alike.weight * alike.grown * share
        self.bytes += alike.weight * alike.grown * share * size

    def report(self) -> Dict[str, Any]:
        """Return the fields of a report."""
        return {
            **self.held.report(),
            "count": max(1, round(self.count)),
            "items": round(self.items),
            "grown": round(self.grown),
            "bytes": round(self.bytes),
            "in_bytes": self.in_bytes,
            "function": self.function,
            "seconds": round(self.seconds, 3),
        }


def find_growing(walk: HeapWalk, reports: List[Dict[str, Any]]) -> Iterator[float]:
    """Add a report of each of the containers that grow most, in time slices.

    Those that only libraries hold are looked for if the others do not account for the growth of memory.

    Yields:
        The seconds until the next step.
    """
    found: Dict[Any, _Growth] = {}
    began, before = monotonic(), _resident()
    for run in (walk.run_from_own, walk.run_from_others):
        for delay in _find_growing(walk, run(), found):
            yield delay
        rate = max(0, _resident() - before) / (monotonic() - began)
        if rate and sum(one.bytes / one.seconds for one in found.values()) >= LEAST_EXPLAINED * rate:
            break
    largest = nlargest(MAX_CONTAINERS, found.values(), key=lambda one: one.bytes)
    reports += [one.report() for one in largest if one.bytes >= LEAST_SHARE * largest[0].bytes]


def _resident() -> int:
    """Return the resident memory of the process in bytes; 0 if it is unknown."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * PAGE
    except OSError:
        return 0


def _find_growing(walk: HeapWalk, run: Iterator[None], found: Dict[Any, _Growth]) -> Iterator[float]:
    began = monotonic()
    for _ in run:
        yield 0.0
    yield LOOK_DELAY
    last: Dict[int, int] = {}
    for _ in walk.look(last, walk.sizes):
        yield 0.0
    risen = {one: items - walk.sizes[one] for one, items in last.items() if items > walk.sizes[one]}
    walk.sizes.clear()
    chosen = nlargest(MAX_GROWING, risen, key=lambda one: risen[one])
    if not chosen:
        return
    rate = risen[chosen[0]] / (monotonic() - began)
    last = {one: last[one] for one in chosen}
    first: Dict[int, int] = {}
    middle: Dict[int, int] = {}
    for number in range(LOOKS):
        sizes: Dict[int, int] = {}
        for _ in walk.look(sizes, last):
            yield 0.0
        last = {one: items for one, items in sizes.items() if items >= last[one]}
        if number == 0:
            began, first = monotonic(), last
        if number == LOOKS // 2:
            middle = last
        if number < LOOKS - 1:
            yield min(MAX_DELAY, max(LOOK_DELAY, 3 / rate))
    seconds = monotonic() - began
    groups: Dict[Any, _Alike] = {}

    def add(one: VisitedContainer) -> None:
        number = id(one.value)
        group = groups.setdefault(one.alike, _Alike())
        group.add(number, one.weight, first[number], middle[number], last[number])

    for _ in walk.revisit(last, add):
        yield 0.0
    steady = [alike for alike in groups.values() if alike.is_steady]
    for alike in nlargest(MAX_ALIKE, steady, key=lambda alike: alike.weight * alike.grown):
        for _ in _name(walk, alike, seconds, found):
            yield 0.0


def _name(walk: HeapWalk, alike: _Alike, seconds: float, found: Dict[Any, _Growth]) -> Iterator[None]:
    """Add the growth of some containers to that of what holds them. One of them a time slice."""
    members = [(grown, number) for grown, number in nlargest(NAMED, alike.members) if grown > 0]
    total = sum(grown for grown, _ in members)
    for grown, number in members:
        try:
            _name_one(walk, alike, number, (grown / total, 1 / len(members)), seconds, found)
        except RuntimeError:  # the program has changed it meanwhile, as the collector called its code
            pass
        yield


@guarded(GROWING, passes=(RuntimeError,))
def _name_one(
    walk: HeapWalk,
    alike: _Alike,
    number: int,
    shares: Tuple[float, float],
    seconds: float,
    found: Dict[Any, _Growth],
) -> None:
    path = walk.path(number)
    if not path:
        return
    value = path[0]
    kind = walk.kind(value)
    items = kind.newest(value)
    if items and are_weak(items):
        return
    held = holder_along(path)
    if held.is_of_agent:
        return
    size = 1.0 if kind.in_bytes else mean_size(items) or UNKNOWN_SIZE
    key = held.key
    if key not in found:
        function = None if held.is_own else function_within(items)
        found[key] = _Growth(held, kind.in_bytes, seconds, function.report() if function else None)
    found[key].add(alike, *shares, size)
