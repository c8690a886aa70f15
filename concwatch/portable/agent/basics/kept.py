"""Estimate how many ended tasks are still referenced, where they cannot be listed."""

from __future__ import annotations

import sys
from _weakref import ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Optional, Tuple

IS_ESTIMATED = sys.version_info >= (3, 14)
"""Whether asyncio forgets tasks that are done, so that those that something keeps cannot be counted."""

MAX_SAMPLES = 100
"""The most tasks of a group that are remembered: of more, every second one stands for two of them."""


class KeptTasks:
    """The ended tasks of a group that something still references, estimated from some of its tasks.

    Each of these, one or two a second, stands for the tasks that were created until the next one.
    """

    def __init__(self) -> None:
        self._samples: List[Tuple[Any, int]] = []
        """A weak reference, and how many tasks it stands for."""
        self._newest: Optional[Tuple[Any, int]] = None
        """A weak reference, and how many tasks had been created before."""

    def add(self, task: object, created: int) -> None:
        """Add a task before which ``created`` ones had been created."""
        if self._newest is not None:
            reference, before = self._newest
            self._samples.append((reference, max(1, created - before)))
        self._newest = (ref(task), created)
        if len(self._samples) > MAX_SAMPLES:
            self._forget()
            last = self._samples[len(self._samples) // 2 * 2 :]
            pairs = zip(self._samples[::2], self._samples[1::2])
            self._samples = [(reference, tasks + more) for (reference, tasks), (_, more) in pairs] + last

    def _forget(self) -> None:
        """Forget the tasks that nothing references."""
        self._samples = [sample for sample in self._samples if sample[0]() is not None]

    def count(self, created: int) -> int:
        """Return about how many there are, of ``created`` tasks."""
        self._forget()
        if self._newest is None:
            return 0
        reference, before = self._newest
        samples = [*self._samples, (reference, max(1, created - before))]
        return sum([tasks for reference, tasks in samples if _is_done(reference())])


def _is_done(task: Any) -> bool:
    return task is not None and bool(task.done())
