"""The lines of source code that created tasks which exist."""

from __future__ import annotations

from _weakref import ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

MAX_LINES = 2_000
"""The most existing tasks whose creating line is remembered: about half a megabyte."""


class _TaskLine(ref):  # type: ignore[type-arg]
    """A weak reference to a task, with the line that created it."""

    __slots__ = ("line", "number")

    number: int
    """The ``id`` of the task."""
    line: str


class TaskLines:
    """The creating lines of some tasks that exist."""

    def __init__(self) -> None:
        self._known: Dict[int, _TaskLine] = {}
        """By ``id`` of the task."""

    def add(self, task: Any, line: str) -> None:
        """Remember the line that created a task, unless there are too many already."""
        if len(self._known) < MAX_LINES:
            known = _TaskLine(task, self._forget)
            known.number, known.line = id(task), line
            self._known[known.number] = known

    def _forget(self, known: Any) -> None:
        self._known.pop(known.number, None)

    def of(self, task: Any) -> str:
        """Return the line that created a task; an empty string if it was not recorded."""
        known = self._known.get(id(task))
        return known.line if known is not None and known() is task else ""

    def clear(self) -> None:
        """Forget all lines."""
        self._known.clear()
