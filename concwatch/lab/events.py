"""What happened, for a person to read, and the moments that a person marked."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, Literal, TypeVar

from msgspec import Struct

from concwatch.text import plain

KEPT = 1_000
"""Entries kept; older ones are forgotten."""

Severity = Literal["info", "warning", "error"]

EventSink = Callable[[str, Severity], None]
"""Takes an event: what happened, and how bad that is."""

NOTE = "note"
"""The kind of a mark that a person made; every other kind is the command that made it."""

Entry = TypeVar("Entry")


class Event(Struct, frozen=True):
    """One line of the event log."""

    number: int
    """Counts up from 1, without gaps."""
    time: float
    """Seconds since the lab was made."""
    lane: str
    """The lane it is about, or an empty string."""
    text: str
    severity: Severity = "info"


class Log(Generic[Entry]):
    """The last entries, oldest first."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=KEPT)
        self._count = 0

    def append(self, entry: Entry) -> None:
        """Add the next."""
        self._count += 1
        self._entries.append(entry)

    def since(self, number: int) -> Sequence[Entry]:
        """Return the entries after number ``number``, oldest first, as far as they are kept."""
        missed = max(0, min(self._count - number, len(self._entries)))
        return [self._entries[index] for index in range(len(self._entries) - missed, len(self._entries))]

    @property
    def count(self) -> int:
        """How many there have been."""
        return self._count


class EventLog(Log[Event]):
    """The last events."""

    def add(self, time: float, lane: str, text: str, severity: Severity = "info") -> None:
        """Note what happened at ``time`` (seconds since the lab was made)."""
        self.append(Event(self.count + 1, time, lane, plain(text), severity))


class Mark(Struct, frozen=True):
    """One moment."""

    number: int
    """Counts up from 1, without gaps."""
    time: float
    """Seconds since the lab was made."""
    lane: str
    """The lane it is about, or an empty string for all."""
    kind: str
    """`NOTE`, or the command: switch, target, workload, refill, trace, gc, threads, trim."""
    text: str
    """What a person noted, or what the command asked for."""


class MarkLog(Log[Mark]):
    """The last marks."""

    def add(self, time: float, lane: str, kind: str, text: str) -> None:
        """Mark what was asked for or noted at ``time`` (seconds since the lab was made)."""
        self.append(Mark(self.count + 1, time, lane, kind, plain(text)))


def mark_text(mark: Mark) -> str:
    """Return in a few words what a mark is about."""
    if mark.kind == NOTE:
        return mark.text
    return " ".join(part for part in (mark.lane, mark.kind, mark.text) if part)
