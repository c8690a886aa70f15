"""Commands that arrive from another thread and are applied on the engine's own."""

from __future__ import annotations

from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Deque, Generator, List, Optional, Union

    Waits = Generator[Union[float, List[Any], None], None, bool]
    """What an engine waits for: seconds (0: all ready callbacks), the end of tasks, or (None) a wake-up."""

    Change = Callable[[], Optional[Waits]]
    """A command on the engine's thread, with what it waits for until it has taken effect."""


class Inbox:
    """The commands that have not been applied yet.

    Args:
        wake: makes the engine apply what has arrived; called from any thread.
        prepare: called on the engine's thread before any is applied.
    """

    __slots__ = ("_changes", "_prepare", "_wake")

    def __init__(self, wake: Callable[[], None], prepare: Callable[[], None]) -> None:
        self._changes: Deque[Change] = deque()
        self._wake = wake
        self._prepare = prepare

    def submit(self, change: Change) -> None:
        """Call ``change`` on the engine's own thread, between two slices. Called from any thread."""
        self._changes.append(change)
        self._wake()

    def apply(self) -> Waits:
        """Apply the commands received since the last call."""
        if self._changes:
            self._prepare()
        while self._changes:
            yield from self._changes.popleft()() or ()
        return True
