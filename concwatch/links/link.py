"""What a lane needs of a worker, whether a process or a fake stands behind it."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from concwatch.links.messages import HostReport, Report
from concwatch.system.process import Reading


class Garbage(Struct, frozen=True):
    """The worker sent what is not of the wire."""

    message: str


class Noise(Struct, frozen=True):
    """The worker or its tasks wrote to standard error."""

    text: str


class Flood(Struct, frozen=True):
    """The worker sends more than is read of it, and is made to wait."""

    message: str


class Ended(Struct, frozen=True):
    """The worker is gone."""

    reason: str
    ran: bool = True
    """Whether it had been started at all."""
    lost: bool = False
    """Whether it is only the connection that has ended, as far as anybody knows."""


Arrival = Report | HostReport | Garbage | Noise | Flood | Ended


class Link(Protocol):
    """One worker, from outside."""

    def arrivals(self, now: float) -> Sequence[Arrival]:
        """Return what has come since the last call; ``now`` is the lab's clock, in seconds."""
        ...

    def reading(self) -> Reading | None:
        """Look at the process; None before it runs and after."""
        ...

    def send(self, type_: str, **fields: object) -> None:
        """Send one command; one that cannot arrive any more is dropped: `Ended` will follow."""
        ...

    def kill(self) -> None:
        """End the worker by force, now."""
        ...
