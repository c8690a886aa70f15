"""Counts of objects by type, from the garbage collector's lists."""

from __future__ import annotations

import gc
import sys
from itertools import chain, starmap
from time import monotonic

from .counted_group import FREE_THREADED
from .names import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

MAX_BLOCKS = 600_000
"""Blocks of memory with which the objects are not listed: that could stop the program for more than 20 ms."""

MAX_TYPES = 20
"""Types that are reported."""

_MODULE, _NAME = (type.__dict__[name].__get__ for name in ("__module__", "__qualname__"))


class ObjectCounter:
    """Counts the objects that the garbage collector tracks, and compares with the previous count."""

    def __init__(self) -> None:
        self._counts: Dict[str, int] = {}
        self._counted: Optional[float] = None

    def read(self) -> Dict[str, Any]:
        """Return the fields of a report: the types whose objects have grown most in number.

        Raises:
            ValueError: there are too many objects, or this Python cannot list them.
        """
        blocks = getattr(sys, "getallocatedblocks", int)()
        if FREE_THREADED or not 0 < blocks <= MAX_BLOCKS:
            raise ValueError(f"too many objects to count in 20 ms: {blocks:,} blocks of memory")
        now, counts, previous = monotonic(), _count(), self._counts
        since = None if self._counted is None else now - self._counted
        self._counts, self._counted = counts, now
        found = [
            {"name": name, "count": count, "grown": count - previous.get(name, 0) if previous else 0}
            for name, count in counts.items()
        ]
        found.sort(key=lambda one: (one["grown"], one["count"]), reverse=True)
        return {"counted": sum(counts.values()), "since": since, "types": found[:MAX_TYPES]}


def _count() -> Dict[str, int]:
    # One call in C, during which no other thread runs: nothing ends while the list of all objects exists.
    types: List[type] = list(map(type, chain.from_iterable(starmap(gc.get_objects, [()]))))
    numbers: Dict[int, int] = {}
    for number in map(id, types):  # a metaclass may define what is equal
        numbers[number] = numbers.get(number, 0) + 1
    counts: Dict[str, int] = {}
    for kind in {id(kind): kind for kind in types}.values():
        name = _name(kind)
        counts[name] = counts.get(name, 0) + numbers[id(kind)]
    return counts


def _name(kind: type) -> str:
    """Return the name of a type, with its module unless it is built in; runs no code of the program."""
    module, name = _MODULE(kind), _NAME(kind)
    return printable(name if type(module) is not str or module == "builtins" else f"{module}.{name}")
