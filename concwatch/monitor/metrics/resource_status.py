"""What a watched process holds besides its tasks, as a snapshot has it."""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct, structs

from concwatch.links.agent_messages import WaitPlace
from concwatch.monitor.verdicts.growth import Growth, MeasuredGrowth

ResourceKind = Literal["threads", "jobs", "executors", "files"]
"""Threads by target, jobs that wait for an executor, executors by the line that created them, open files and
sockets."""


class ResourceStatus(Struct, frozen=True):
    """One count at one moment."""

    kind: ResourceKind
    name: str
    count: int
    measured: MeasuredGrowth
    threads: int = 0
    """The threads of the executor whose jobs they are; of executors: their threads or processes."""
    created: int | None = None
    """How many were created; of threads, at least."""
    file: str = ""
    line: int = 0
    """Where the function of threads is defined, or executors are created."""
    in_: str = ""
    """The function that creates executors."""
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
        if self.kind in ("threads", "executors"):
            place = {"file": self.file or None, "line": self.line or None, "created": self.created}
        if self.kind == "executors":
            place = {**place, "in": self.in_ or None, "workers": self.threads}
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
