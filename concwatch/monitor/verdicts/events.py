"""The event log, and the marks of the user."""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar, get_args

from msgspec import Struct, structs

from concwatch.portable.protocol.text import plain

KEPT = 1_000
"""The most entries that are kept; older ones are dropped."""

Severity = Literal["info", "warning", "error"]

Kind = Literal[
    "",
    "agent",
    "agent_error",
    "ended",
    "growth",
    "growth_withdrawn",
    "leak",
    "leak_withdrawn",
    "left_over",
    "block",
    "block_ended",
    "stopped",
    "stopped_ended",
    "deadlock",
    "deadlock_ended",
    "shutdown",
    "shutdown_ended",
    "cycle",
    "memory",
    "memory_withdrawn",
    "malloc",
    "malloc_withdrawn",
    "throttled",
    "throttled_ended",
    "export",
]
"""What an event of a watched program is about; an empty string for anything else."""

WITHDRAWN = "_withdrawn"
"""The suffix of the kind of an event that withdraws an earlier one."""

ENDED: dict[Kind, Kind] = {
    "block": "block_ended",
    "stopped": "stopped_ended",
    "deadlock": "deadlock_ended",
    "shutdown": "shutdown_ended",
}
"""The kinds of events about what lasts, which are updated, and of those that say that it has ended."""

KINDS: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind)
"""All kinds but the empty one; reports count their events."""


class Place(NamedTuple):
    """Where in the watched program it happens that an event is about; empty if unknown, or nowhere."""

    function: str = ""
    """The name of a function."""
    where: str = ""
    """A file and a line: ``/srv/app.py:68``."""

    @classmethod
    def at(cls, function: str, file: str, line: int) -> "Place":
        """Return the place of a function that is defined there; without a file, that is unknown."""
        return cls(function, f"{file}:{line}" if file else "")


NOWHERE = Place()


class EventSink(Protocol):
    """Adds an event of a lane to the event log."""

    def __call__(
        self,
        text: str,
        severity: Severity = "info",
        kind: Kind = "",
        updates: int = 0,
        place: Place = NOWHERE,
    ) -> int:
        """Add an event: what happened, how serious it is, what it is about, and where; return its number.

        ``updates`` is the number of the event that it updates or ends; 0 if it is about something else.
        """
        ...


def ignored(*event: object, **fields: object) -> int:
    """Add nothing: an `EventSink` where there is no log."""
    return 0


class LaneEventSink(Protocol):
    """Adds an event of any lane to the event log."""

    def __call__(
        self,
        lane: str,
        text: str,
        severity: Severity = "info",
        kind: Kind = "",
        updates: int = 0,
        place: Place = NOWHERE,
    ) -> int:
        """Add an event; ``lane`` is empty for an event of no lane."""
        ...


NOTE, BLOCK = "note", "block"
"""The kinds of marks for a note of the user, and for a blocked event loop; any other kind is a command."""

Entry = TypeVar("Entry")


class Event(Struct, frozen=True):
    """One entry of the event log."""

    number: int
    """Counts up from 1, without gaps."""
    time: float
    """Seconds since the lab was created."""
    lane: str
    """The lane, or an empty string."""
    text: str
    severity: Severity = "info"
    kind: Kind = ""
    updates: int = 0
    """The number of the event that it updates or ends, which is about the same; 0 for none."""
    place: Place = NOWHERE

    @property
    def identity(self) -> dict[str, object]:
        """What it is about, and where, as a JSON object has it."""
        return {
            "kind": self.kind,
            "severity": self.severity,
            "text": self.text,
            "function": self.place.function or None,
            "where": self.place.where or None,
            "number": self.number,
            "updates": self.updates or None,
        }


class Log(Generic[Entry]):
    """The last `KEPT` entries, oldest first."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=KEPT)
        self._count = 0

    def append(self, entry: Entry) -> None:
        """Add an entry."""
        self._count += 1
        self._entries.append(entry)

    def since(self, number: int) -> Sequence[Entry]:
        """Return the entries after number ``number`` that are still kept, oldest first."""
        missed = max(0, min(self._count - number, len(self._entries)))
        return [*islice(self._entries, len(self._entries) - missed, None)]

    @property
    def count(self) -> int:
        """The number of entries added so far."""
        return self._count


class EventLog(Log[Event]):
    """A log of events."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds: Counter[Kind] = Counter()
        """How many events of each kind were added, including those that were dropped; without updates."""

    def add(
        self,
        time: float,
        lane: str,
        text: str,
        severity: Severity = "info",
        kind: Kind = "",
        updates: int = 0,
        place: Place = NOWHERE,
    ) -> int:
        """Add an event at ``time`` (seconds since the lab was created); see `EventSink`."""
        if not updates or kind not in ENDED:
            self.kinds[kind] += 1
        self.append(Event(self.count + 1, time, lane, plain(text), severity, kind, updates, place))
        return self.count


def latest(events: Iterable[Event]) -> Sequence[Event]:
    """Return the events with one for each thing that lasts: at the time of the first, with the last text."""
    found: dict[int, Event] = {}
    for event in events:
        first = found.get(event.updates) if event.updates else None
        if first is None:
            found[event.number] = event
        else:
            found[event.updates] = structs.replace(event, number=first.number, time=first.time)
    return [*found.values()]


class Mark(Struct, frozen=True):
    """A marked moment."""

    number: int
    """Counts up from 1, without gaps."""
    time: float
    """Seconds since the lab was created."""
    lane: str
    """The lane, or an empty string for all lanes."""
    kind: str
    """`NOTE`, `BLOCK`, or the command: switch, target, workload, refill, trace, gc, threads, trim."""
    text: str
    """The note, or the argument of the command."""


class MarkLog(Log[Mark]):
    """A log of marks."""

    def add(self, time: float, lane: str, kind: str, text: str) -> None:
        """Add a mark at ``time`` (seconds since the lab was created)."""
        self.append(Mark(self.count + 1, time, lane, kind, plain(text)))


def mark_text(mark: Mark) -> str:
    """Return a mark as a short text."""
    if mark.kind == NOTE:
        return mark.text
    if mark.kind == BLOCK:
        return f"blocked for {mark.text}"
    return " ".join(part for part in (mark.lane, mark.kind, mark.text) if part)
