"""Find what holds the finished tasks of a group."""

from __future__ import annotations

from _weakref import ref

from .counted_group import GEVENT
from .counting import COUNTS
from .holders import HeldObject, find_holders
from .scan import Tasks, visit_greenlets, visit_tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List

    from .counted_group import CountedGroup

SAMPLED = 3
"""The most finished tasks that are examined."""


def find_finished(group: CountedGroup, send: Callable[[Dict[str, Any]], None]) -> Iterator[None]:
    """Find what holds most of some finished tasks of a group, and send the fields of a report.

    A generator: one time slice per step.
    """
    references: List[Any] = []

    def visit(task: Any) -> None:
        if COUNTS.group_of_task(task) is group:
            references.append(ref(task))

    def visit_greenlet(greenlet: Any) -> None:
        references.append(ref(greenlet))

    def enough() -> bool:
        return len(references) >= SAMPLED

    if group.kind == GEVENT:
        yield from visit_greenlets(group, visit_greenlet, enough, done=True)
    else:
        yield from visit_tasks(Tasks(), visit, enough, done=True)
    found: List[HeldObject] = []
    for reference in references[:SAMPLED]:
        task = reference()
        if task is not None:
            found.append(HeldObject())
            yield from find_holders(task, found[-1])
    keys = [held.key for held in found if held.holders]
    most = max(found, key=lambda held: keys.count(held.key), default=HeldObject())
    send({"group": group.number, "looked": len(found), **most.report()})
