"""What happened, for a person to read."""

from collections import deque
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

KEPT = 1_000
"""Events kept; older ones are forgotten."""

Weight = Literal["info", "warning", "error"]


class Event(Struct, frozen=True):
    """One line of the event log."""

    number: int
    """Counts up from 1, without gaps."""
    time: float
    """Seconds since the lab was made."""
    lane: str
    """The lane it is about, or an empty string."""
    text: str
    weight: Weight = "info"


def plain(text: str) -> str:
    """Give ``text`` without characters that could command a terminal; line ends and tabs stay."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)


class EventLog:
    """The last events, oldest first."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque(maxlen=KEPT)
        self._count = 0

    def add(self, time: float, lane: str, text: str, weight: Weight = "info") -> None:
        """Note what happened at ``time`` (seconds since the lab was made)."""
        self._count += 1
        self._events.append(Event(self._count, time, lane, plain(text), weight))

    def since(self, number: int) -> Iterable[Event]:
        """Give the events after number ``number``, oldest first."""
        missed = max(0, min(self._count - number, len(self._events)))
        return [self._events[index] for index in range(len(self._events) - missed, len(self._events))]

    @property
    def count(self) -> int:
        """How many there have been."""
        return self._count
