"""Moments on the time axis: what was asked for, and what a person noted."""

from msgspec import Struct

from concwatch.lab.events import Log
from concwatch.text import plain

NOTE = "note"
"""The kind of a mark that a person made; every other kind is the command that made it."""


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
