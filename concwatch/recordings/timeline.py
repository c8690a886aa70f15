"""Lines of one type, to be asked which holds at a moment."""

from bisect import bisect_right
from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar


class Timed(Protocol):
    """What has a time."""

    @property
    def time(self) -> float:
        """Seconds since the recording began."""
        ...


Entry = TypeVar("Entry", bound=Timed)


class Timeline(Generic[Entry]):
    """Entries in the order of their times; those of the same time stay as they came."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = sorted(entries, key=lambda entry: entry.time)
        self._times = [entry.time for entry in self.entries]

    def count(self, at: float) -> int:
        """Return how many there had been at ``at``, in seconds."""
        return bisect_right(self._times, at)

    def at(self, at: float) -> Entry | None:
        """Return the newest at ``at``, in seconds; None before the first."""
        count = self.count(at)
        return self.entries[count - 1] if count else None
