"""The interface between a lane and its worker, be it a process or a fake."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from concwatch.links.messages import HostReport, Report
from concwatch.system.process import Reading


class Garbage(Struct, frozen=True):
    """The worker sent a line that is not a valid message."""

    message: str


class Noise(Struct, frozen=True):
    """Text that the worker or its tasks wrote to standard error."""

    text: str


class Flood(Struct, frozen=True):
    """The worker sends faster than it is read, and is blocked meanwhile."""

    message: str


class Ended(Struct, frozen=True):
    """The worker or its connection has ended."""

    reason: str
    ran: bool = True
    """Whether the worker had been started."""
    lost: bool = False
    """Whether only the connection is known to have ended."""
    status: int | None = None
    """The exit status of the process, negative for a signal; None if it is not known."""


Arrival = Report | HostReport | Garbage | Noise | Flood | Ended


class Link(Protocol):
    """A connection to one worker."""

    def arrivals(self, now: float) -> Sequence[Arrival]:
        """Return what has arrived since the last call; ``now`` is the lab's time in seconds."""
        ...

    def reading(self) -> Reading | None:
        """Return a reading of the process; None unless it is running."""
        ...

    def send(self, type_: str, **fields: object) -> None:
        """Send one command; it is dropped if the worker has ended."""
        ...

    def kill(self) -> None:
        """Kill the worker."""
        ...
