"""The events about what lasts: one after a second, its updates, and one that says that it has ended."""

import math

from msgspec import Struct

from concwatch.monitor.verdicts.events import ENDED, EventSink, Kind, Place
from concwatch.portable.protocol.units import format_seconds

TOLD = (1.0, 10.0, 60.0, 600.0)
"""Seconds after which there is an event about something that lasts, and after which that is updated."""


DECADES = (1, 10, 100, 1_000, 10_000)
"""The counts at which there is an event about what happens again and again."""


def told_after(count: int) -> float:
    """Return the seconds after which there is an event about what happens for the ``count``-th time."""
    return TOLD[0] if count in DECADES else TOLD[1]


class OngoingStatus(Struct, frozen=True, omit_defaults=True):
    """Something that lasts, as of now."""

    kind: Kind
    seconds: float
    """For how long it has lasted."""
    subject: str
    """What it happens to: ``loop 1``."""
    verb: str
    """What happens to it: ``blocked``."""
    rest: str = ""
    """Where, and anything else that is known: `` in sync_queue (app.py:68)``."""
    function: str = ""
    """The function of the program in which it happens; empty if there is not one."""
    where: str = ""
    """Its file and line."""

    @property
    def brief(self) -> str:
        """What happens, for how long and where: ``blocked for 36 s in sync_queue (app.py:68)``."""
        return f"{self.verb} for {format_seconds(self.seconds)}{self.rest}"

    @property
    def so_far(self) -> str:
        """The text of an event while it lasts."""
        return f"{self.subject} {self.verb} for {format_seconds(self.seconds)} so far{self.rest}"

    @property
    def ended(self) -> str:
        """The text of an event once it has ended."""
        return f"{self.subject} {self.brief}"

    @property
    def place(self) -> Place:
        """Where in the program it happens."""
        return Place(self.function, self.where)

    def as_json(self) -> dict[str, object]:
        """Return its entry in the report."""
        return {
            "kind": self.kind,
            "seconds": round(self.seconds, 3),
            "text": self.so_far,
            "function": self.function or None,
            "where": self.where or None,
        }


class Ongoing:
    """The events about one thing that may last: the first one, its updates, and that it has ended.

    Args:
        log: adds an event.
        kind: the kind of the events; its end has the one in `ENDED`.
        after: the seconds after which there is the first event.
    """

    def __init__(self, log: EventSink, kind: Kind, after: float = TOLD[0]) -> None:
        self.status: OngoingStatus | None = None
        """What lasts; None while nothing does."""
        self._log, self._kind, self._after = log, kind, after
        self._event, self._due = 0, after

    @property
    def is_told(self) -> bool:
        """Whether there is an event about what lasts."""
        return bool(self._event)

    def update(self, status: OngoingStatus) -> None:
        """Record for how long it has lasted, and add or update the event if that is due."""
        self.status = status
        if status.seconds >= self._due:
            number = self._log(status.so_far, "warning", self._kind, self._event, status.place)
            self._event = self._event or number
            self._due = next((seconds for seconds in TOLD if seconds > status.seconds), math.inf)

    def end(self, text: str = "") -> bool:
        """Record that it has ended; return whether an event says so, because another one said that it lasts.

        Args:
            text: the text of that event; by default what lasted, for how long and where.
        """
        status, event = self.status, self._event
        self.status, self._event, self._due = None, 0, self._after
        if event and status is not None:
            self._log(text or status.ended, "info", ENDED[self._kind], event, status.place)
        return bool(event)
