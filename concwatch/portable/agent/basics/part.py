"""What a session is made of: parts, each with one job and the same few abilities."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator

FOR_EVER = float("inf")


class Part:
    """Something that a session counts, looks for or answers; it has those of the abilities that it needs."""

    due = FOR_EVER
    """When the next step is due."""

    def connect(self, descriptor: int) -> None:
        """Begin to report to a monitor, over the socket with this descriptor."""

    def step(self, now: float) -> None:
        """Do what is due, and set `due`."""

    def read(self) -> Dict[str, Any]:
        """Return its fields of a tick."""
        return {}

    def finish(self, deadline: float) -> None:
        """Report the last figures until ``deadline``, because the process exits."""

    def close(self) -> None:
        """Undo what it has changed in the program."""


def is_exhausted(slices: Iterator[None]) -> bool:
    """Run one time slice; return whether it was the last."""
    for _ in slices:
        return False
    return True
