"""Move tasks to groups that say more than their coroutine function: the program's own code, or their name.

A framework runs each request in a task of its own function, such as ``run_asgi``. Such tasks are moved to the
group of the program's own function in which they wait when a scan first finds them. On request, tasks are
grouped by their names.
"""

from __future__ import annotations

from sys import intern

from ..basics.names import DEFAULT_NAME, printable
from ..basics.own_code import is_own
from .awaits import wait_of
from .counted_group import GEVENT, LINES_PER_GROUP
from .counting import COUNTS, Regrouped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional

    from .counted_group import CountedGroup

MAX_TASKS = 10_000
"""The most tasks whose group is remembered: about 2 MiB."""

MAX_LOOKS = 3
"""How many scans examine a waiting task, which may first wait in the framework for a request's body."""

LOOKS_PER_SCAN = 50
"""The most tasks that one scan examines; each takes 5 to 10 µs."""

NUMBERS = r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|0x[0-9a-f]+|\b(?=[a-f]*\d)[0-9a-f]{8,}\b|\d+"
"""A regular expression for what differs in the names of similar tasks: numbers, addresses, UUIDs."""


def folded(name: str) -> str:
    """Return the name of a task with each number replaced by ``N``; empty for asyncio's default names."""
    if name.startswith(DEFAULT_NAME) and name[len(DEFAULT_NAME) :].isdigit():
        return ""
    import re  # already loaded by asyncio

    return printable(re.sub(NUMBERS, "N", name, flags=re.IGNORECASE))


class Regrouping:
    """Moves tasks that scans find to other groups than those of their functions.

    It also remembers the functions of wrapped tasks, which cannot be found any more once these have ended.
    """

    def __init__(self) -> None:
        self._existing = False
        self._looks = 0
        self._seen: Dict[int, Regrouped] = {}

    def begin(self, existing: bool) -> Callable[[int], bool]:
        """Begin a scan. Return a function that returns whether the tasks of a group may be moved.

        Args:
            existing: whether it is the first scan, which finds the tasks that were not counted.
        """
        self._existing, self._looks, self._seen = existing, 0, {}
        groups = list(COUNTS.groups.copy().items())
        keys = {key for key, group in groups if COUNTS.by_name or not group.own}
        return (keys | COUNTS.grouping.wrappers).__contains__

    def end(self) -> None:
        """End a scan, and forget tasks that it has not found."""
        COUNTS.regrouped = self._seen

    def group_of(self, task: Any, group: CountedGroup, done: bool, is_wrapped: bool) -> CountedGroup:
        """Return the group to which a task belongs, moving it there if that is new.

        Args:
            task: the task.
            group: the group of its function.
            done: whether it has ended.
            is_wrapped: whether its function is not known any more once it has ended.
        """
        may_move = COUNTS.by_name or not group.own
        if not may_move and not is_wrapped:
            return group
        known = COUNTS.regrouped.get(id(task))
        if known is None or known() is not task:
            if done or len(self._seen) >= MAX_TASKS:
                return group
            known = Regrouped(task)
            known.function, known.group, known.looks = group, None, 0
        if known.group is None and not done and may_move:
            known.group = self._find(task, group, known)
            if known.group is not None and not self._existing:
                _move(group, known.group)
        self._seen[id(task)] = COUNTS.regrouped[id(task)] = known
        return known.group or (known.function if done else group)

    def _find(self, task: Any, group: CountedGroup, known: Regrouped) -> Optional[CountedGroup]:
        """Return the group to move a task to; None if it stays in its own, or if that is not known yet."""
        found = None
        is_greenlet = group.kind == GEVENT
        name = ""
        if COUNTS.by_name:
            name = folded(str(vars(task).get("name", "")) if is_greenlet else task.get_name())
        if name:
            found = COUNTS.table.group_by(intern(name), group.kind)
            found.own = found.own or group.own
        elif not group.own and known.looks < MAX_LOOKS and self._looks < LOOKS_PER_SCAN:
            wait = wait_of(task, group.kind)
            if wait.end is not None:  # otherwise it is running, or has not started
                known.looks += 1
                self._looks += 1
                code = wait.frames[wait.at][0]
                found = COUNTS.table.group_by(code, group.kind) if is_own(code.co_filename) else None
        if found is not None and found is not group and found.lines_due == LINES_PER_GROUP:
            found.lines_due -= 1  # one per report
            found.add_sample(task, COUNTS.lines.of(task))
        return None if found is group else found


def _move(source: CountedGroup, target: CountedGroup) -> None:
    """Count a task in another group, as created or as existing when the agent started."""
    if source.since and source.created() <= 0:
        source.since -= 1
        target.since += 1
    else:
        source.moved -= 1
        target.moved += 1
