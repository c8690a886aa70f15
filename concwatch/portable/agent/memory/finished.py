"""Find what holds the ended tasks of a group."""

from __future__ import annotations

from ..basics.guard import guarded
from ..counting.counted_group import GEVENT
from ..counting.counting import COUNTS
from ..counting.grouping import Unresolved
from ..counting.scan import visit_greenlets
from .class_attributes import class_variable
from .holders import HeldObject, holder_along
from .walk import HeapWalk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, Set

    from ..counting.counted_group import CountedGroup

SAMPLED = 3
"""The most ended tasks that are examined."""


def find_finished(group: CountedGroup, send: Callable[[Dict[str, Any]], None]) -> Iterator[None]:
    """Find what holds most of some ended tasks of a group, and send the fields of a report.

    A generator: one time slice per step.
    """

    @guarded("finished tasks")
    def is_finished(value: Any) -> bool:
        try:
            return _is_task(type(value)) and value.done() and COUNTS.group_of_task(value) is group
        except Unresolved:
            return False

    if group.kind == GEVENT:
        finished: Set[int] = set()
        yield from visit_greenlets(
            group, lambda one: finished.add(id(one)), lambda: len(finished) >= SAMPLED, done=True
        )
        walk = HeapWalk(lambda value: id(value) in finished, SAMPLED)
    else:
        walk = HeapWalk(lambda value: is_finished(value) or False, SAMPLED)
    yield from walk.run()
    found = [holder_along(path) for path in map(walk.path, walk.wanted) if path]
    keys = [held.key for held in found]
    kind = "gevent.Greenlet" if group.kind == GEVENT else "asyncio.Task"
    most = max(found, key=lambda held: keys.count(held.key), default=HeldObject(kind))
    send({"group": group.number, "looked": len(found), **most.report()})


def _is_task(kind: type) -> bool:
    """Return whether a class is one of tasks of asyncio, which is not asked itself."""
    return all(class_variable(kind, name) is not None for name in ("get_coro", "_asyncio_future_blocking"))
