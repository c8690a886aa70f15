"""The figures of the tasks of one coroutine function in a watched process, as a snapshot has them."""

from collections.abc import Iterable
from typing import Any, Protocol

from msgspec import Struct

from concwatch.monitor.growth import Growth
from concwatch.protocol.agent_messages import LineCount, TaskPlace, WaitPlace

Function = tuple[str, str, int]
"""The name, file and line of a function."""


class GroupFigures(Protocol):
    """The figures of a group, which may be computed when they are read."""

    @property
    def function(self) -> Function:
        """The function of its tasks, which identifies the group across processes."""
        ...

    @property
    def status(self) -> "GroupStatus":
        """All figures."""
        ...

    def figure(self, name: str) -> Any:
        """Return one field of ``status``, without computing the others."""
        ...


class GroupStatus(Struct, frozen=True, omit_defaults=True):
    """The figures of a group at one moment; rates are in tasks per second, times in seconds."""

    group: int
    name: str
    file: str
    line: int
    own: bool
    live: int
    live_peak: int | None
    """The most live tasks of all scans; None if no scan has found one."""
    created: int
    ended: int
    since: int
    created_per_second: float | None = None
    ended_per_second: float | None = None
    failed: int | None = None
    retained: int | None = None
    left_over: int | None = None
    """Tasks that were pending when the main coroutine of their loop was done, or when it was closed."""
    destroyed: int | None = None
    """Tasks that were destroyed while they were pending."""
    left_lines: tuple[LineCount, ...] = ()
    """The lines that created the left-over tasks."""
    mean_life: float | None = None
    """By Little's law: live tasks divided by tasks that end per second, over the whole time; at most that."""
    oldest: float | None = None
    growth: Growth | None = None
    rss: float | None = None
    """Bytes of RSS that grow and shrink with its live tasks, at their current number; None if uncertain."""
    leak: bool = False
    waits: tuple[WaitPlace, ...] = ()
    at_least: tuple[str, ...] = ()
    """The figures that may be higher, since some tasks were missed or have not ended."""
    waits_known: bool = False
    """Whether the agent has answered where its tasks wait."""
    created_at: tuple[TaskPlace, ...] = ()
    """The lines that created its sampled tasks, as of that answer."""
    awaited_by: tuple[TaskPlace, ...] = ()
    """Where the tasks wait that await its tasks, as of that answer."""

    @property
    def function(self) -> Function:
        """The function of its tasks."""
        return self.name, self.file, self.line

    @property
    def status(self) -> "GroupStatus":
        """All figures."""
        return self

    def figure(self, name: str) -> Any:
        """Return one field."""
        return getattr(self, name)


def largest(groups: Iterable[GroupFigures], count: int) -> tuple[GroupStatus, ...]:
    """Return the ``count`` groups with most live tasks, the largest first."""
    found = sorted(groups, key=lambda group: -group.figure("live"))
    return tuple(group.status for group in found[:count])
