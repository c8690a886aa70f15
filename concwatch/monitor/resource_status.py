"""What a watched process holds besides its tasks, as a snapshot has it."""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct, structs

from concwatch.monitor.growth import Growth, MeasuredGrowth
from concwatch.protocol.agent_messages import WaitPlace

ResourceKind = Literal["threads", "jobs", "files"]
"""Threads by target, jobs that wait for an executor, open files and sockets."""


class ResourceStatus(Struct, frozen=True):
    """One count at one moment."""

    kind: ResourceKind
    name: str
    count: int
    measured: MeasuredGrowth
    threads: int = 0
    """The threads of the executor whose jobs they are."""
    created: int | None = None
    """Of threads: how many were created, at least."""
    file: str = ""
    line: int = 0
    """Where the function of threads is defined."""
    peak: int = 0
    """The highest count so far."""
    grows: bool = False
    """Whether its growth was reported, and not withdrawn."""
    leak: bool = False
    """Whether that was called a leak."""
    waits: Sequence[WaitPlace] = ()
    """Where its threads waited when its agent was last asked."""

    @property
    def growth(self) -> Growth | None:
        """Its growth over the last two minutes."""
        return self.measured.growth

    @property
    def per_minute(self) -> float | None:
        """Its growth per minute, if that was reported."""
        return self.growth.per_minute if self.grows and self.growth else None

    def as_json(self) -> Mapping[str, object]:
        """Return its entry in the report."""
        place: Mapping[str, object] = {}
        if self.kind == "threads":
            place = {"file": self.file or None, "line": self.line or None, "created": self.created}
        pool = {"threads": self.threads} if self.kind == "jobs" else {}
        return {
            "name": self.name,
            **place,
            **pool,
            "count": self.count,
            "peak": self.peak,
            "at_least": ["created", "peak"] if self.kind == "threads" else ["peak"],
            "growth": structs.asdict(self.growth) if self.growth else None,
            "grows": self.grows,
            "leak": self.leak,
            "waits": [{"where": wait.where, "threads": wait.tasks} for wait in self.waits],
        }
