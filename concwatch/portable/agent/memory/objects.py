"""Find what grows: objects tracked by the garbage collector, by type, and containers."""

from __future__ import annotations

import gc
import sys
from itertools import chain
from operator import itemgetter
from time import monotonic, thread_time

from ..basics.own_code import is_agent
from ..counting.counted_group import FREE_THREADED
from .class_attributes import module_file, module_of, module_variables, type_name
from .growing import find_growing
from .walk import HeapWalk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List

MAX_BLOCKS = 200_000
"""Memory blocks above which the objects are not listed, which could stop the program for 20 ms."""

MAX_TYPES = 20
"""The most types that are reported."""

PART = 15_000
"""Objects that are examined in one call, which takes up to 10 ms."""

OVERLAP = 500
"""Objects of a part that belong to the next one, too: those before them may end meanwhile."""

GENERATIONS = (0, 1, 2)
"""The garbage collector's generations; the young ones come first, since objects move to the oldest."""

SHARE, CREDIT, LEAST_DELAY = 0.018, 0.03, 0.02
"""The share of a core that the search takes, the seconds that it may take at once at its beginning, and the
least seconds between two of its steps."""


def _blocks() -> int:
    return 0 if FREE_THREADED else getattr(sys, "getallocatedblocks", int)()


def check_search() -> None:
    """Raise unless objects can be searched.

    Raises:
        ValueError: this Python cannot do it.
    """
    if not _blocks():
        raise ValueError("this Python cannot be searched for what grows")


def find_what_grows(send: Callable[[Dict[str, Any]], None]) -> Iterator[float]:
    """Find what grows within a few seconds, and send the fields of a report.

    Yields:
        The seconds until the next step: so many that all steps take a small share of a core.
    """
    began, used = monotonic(), 0.0
    steps = _find_what_grows(send)
    while True:
        started = thread_time()
        delay = next(steps, None)
        if delay is None:
            return
        used += thread_time() - started
        yield max(delay, LEAST_DELAY, (used - CREDIT) / SHARE - (monotonic() - began))


def _find_what_grows(send: Callable[[Dict[str, Any]], None]) -> Iterator[float]:
    before: Dict[str, int] = {}
    now: Dict[str, int] = {}
    containers: List[Dict[str, Any]] = []
    began, exits = monotonic(), _exit_functions()
    for _ in _count(before):
        yield 0.0
    walk = HeapWalk()
    for delay in find_growing(walk, containers):
        yield delay
    searched = {"searched": walk.visited, "complete": walk.is_complete}
    del walk  # its weak references would be counted
    since = monotonic() - began
    for _ in _count(now) if before else ():
        yield 0.0
    ranked = sorted(now, key=lambda name: (now[name] - before.get(name, 0), now[name]), reverse=True)
    types = [
        {"name": name, "count": now[name], "grown": now[name] - before.get(name, 0)}
        for name in ranked[:MAX_TYPES]
    ]
    if _exit_functions() > exits:
        containers.append(_exit_report(exits, since))
    send(
        {
            "counted": sum(now.values()) if now else None,
            "since": since,
            "types": types,
            "containers": containers,
            **searched,
        }
    )


def _exit_functions() -> int:
    """Return how many functions are registered with `atexit`."""
    count: Any = module_variables("atexit").get("_ncallbacks")
    return 0 if count is None else int(count())


def _exit_report(before: int, seconds: float) -> Dict[str, Any]:
    now = _exit_functions()
    return {
        "kind": "atexit",
        "items": now,
        "grown": now - before,
        "bytes": None,
        "seconds": round(seconds, 3),
    }


def _types(generation: int, start: int) -> List[type]:
    """Return the types of some objects, which are listed within one call in C: none is kept alive."""
    listed = map(gc.get_objects, (generation,))
    return list(map(type, chain.from_iterable(map(itemgetter(slice(start, start + PART)), listed))))


def _count(counts: Dict[str, int]) -> Iterator[None]:
    """Count the objects by type, in slices; none if there are too many."""
    for generation in GENERATIONS:
        start, more = 0, True
        while more and _blocks() <= MAX_BLOCKS:
            types = _types(generation, start)
            more = len(types) == PART
            del types[PART - OVERLAP if more else PART :]
            start += PART - OVERLAP
            _add_types(types, counts)
            yield


def _add_types(types: List[type], counts: Dict[str, int]) -> None:
    numbers: Dict[int, int] = {}
    for number in map(id, types):  # a metaclass may define what is equal
        numbers[number] = numbers.get(number, 0) + 1
    for kind in {id(kind): kind for kind in types}.values():
        if not is_agent(module_file(module_of(kind))):
            name = type_name(kind)
            counts[name] = counts.get(name, 0) + numbers[id(kind)]
