"""The figures of the tasks of one coroutine function in a watched process, as a snapshot has them."""

from collections.abc import Iterable, Iterator
from operator import methodcaller
from typing import Annotated, Any, Protocol

from msgspec import Struct, structs

from concwatch.links.agent_messages import GroupReport, LineCount, TaskPlace, WaitPlace
from concwatch.monitor.metrics.metric import (
    ALL,
    ANY,
    AS_OF,
    AT_END,
    DERIVED,
    MAX,
    MEAN,
    NONE,
    PEAK,
    SAMPLED,
    SUM,
    TICK,
    UP,
    GroupColumn,
    Metric,
    PerSecond,
    rows_of,
)
from concwatch.monitor.metrics.unit import BYTES, COUNT, RATE, SECONDS, SHARE
from concwatch.monitor.statistics.buckets import EMPTY, Buckets
from concwatch.monitor.statistics.survival import SURVIVAL, Survival
from concwatch.monitor.verdicts.growth import Growth
from concwatch.portable.protocol.units import UNKNOWN, format_short

QUANTILES = {"p50": 0.5, "p99": 0.99}
"""The quantiles of durations, by name."""

LEAST_SHOWN = 0.0005
"""Half of the interval of a share, from which on it is shown."""

Function = tuple[str, str, int]
"""The name, file and line of a function."""


class GroupFigures(Protocol):
    """The figures of a group at one moment, which may be computed when they are read."""

    @property
    def function(self) -> Function:
        """The function of its tasks, which identifies the group across processes."""
        ...

    @property
    def status(self) -> "GroupStatus":
        """All figures."""
        ...

    @property
    def survival(self) -> Survival | None:
        """How long its tasks take; None where only the quantiles are kept."""
        ...

    @property
    def buckets(self) -> Buckets:
        """How long its timed tasks took, each counted as often as it stands for others; empty if not kept."""
        ...

    def figure(self, name: str) -> Any:
        """Return one field of ``status``, without computing the others."""
        ...

    @property
    def counted(self) -> "GroupReport | GroupStatus":
        """What has the figures with `MetricSource.TICK`; the same object as long as they are the same."""
        ...

    @property
    def waits_age(self) -> float | None:
        """Seconds since the agent was last asked where its tasks wait; None if that is not known."""
        ...


# fmt: off


class GroupStatus(Struct, frozen=True, omit_defaults=True):
    """The figures of a group at one moment. Those with `MetricSource.TICK` are as the agent reports them."""

    group: int
    name: str
    file: str
    line: int
    own: bool
    live: Annotated[int | None, Metric(
        "live", COUNT, "Live tasks of a coroutine function; unknown if the process ended without its last report.", TICK, SUM, openmetrics="tasks",
        group_column=GroupColumn(1, 9, exact=True),
    )]
    live_peak: Annotated[int | None, Metric(
        "peak live", COUNT, "The most live tasks in any scan; unknown if no scan has found one.", DERIVED, SUM, PEAK, worse=UP,
        compared=True, group_column=GroupColumn(9, 8, 9, "peak"),
    )]
    created: Annotated[int, Metric(
        "created", COUNT, "Created tasks of a coroutine function.", TICK, SUM, AT_END, openmetrics="tasks_created",
        compared=True, per_second=PerSecond("created_per_second", "created", RATE), group_column=GroupColumn(8, 10, 7),
    )]
    ended: Annotated[int, Metric(
        "ended", COUNT, "Tasks of a coroutine function that have ended.", TICK, SUM, AT_END, openmetrics="tasks_ended",
    )]
    since: Annotated[int, SUM]
    """Tasks created since the last scan began."""
    created_per_second: Annotated[float | None, Metric(
        "created/s", RATE, "Tasks created per second, over the last five seconds.", DERIVED, SUM, AS_OF, group_column=GroupColumn(2, 10, 1),
    )] = None
    ended_per_second: Annotated[float | None, Metric(
        "ended/s", RATE, "Tasks that ended per second, over the last five seconds.", DERIVED, SUM, AS_OF, group_column=GroupColumn(3, 10, 2),
    )] = None
    failed: Annotated[int | None, Metric(
        "failed", COUNT, "Tasks that ended with an error.", TICK, SUM, AT_END, group_column=GroupColumn(10, 8, 8),
    )] = None
    retained: Annotated[int | None, Metric(
        "retained", COUNT, "Ended tasks that something still references.", TICK, SUM, worse=UP, compared=True, group_column=GroupColumn(11, 8, 4),
    )] = None
    left_over: Annotated[int | None, Metric(
        "left over", COUNT, "Tasks that were pending when the main coroutine of their loop returned.", TICK, SUM, AT_END, worse=UP,
        openmetrics="tasks_left_over", compared=True, group_column=GroupColumn(12, 9, 2, optional=True),
    )] = None
    destroyed: Annotated[int | None, Metric(
        "destroyed", COUNT, "Tasks that were destroyed while they were pending.", TICK, SUM, AT_END, worse=UP,
        compared=True, group_column=GroupColumn(13, 9, 2, optional=True),
    )] = None
    left_lines: tuple[LineCount, ...] = ()
    """The lines that created the leftover tasks."""
    mean_life: Annotated[float | None, Metric(
        "mean life", SECONDS, "How long a task lives, from its creation to its end, by Little's law: live tasks divided by the tasks that end per second, over the whole time observed; at most that time. With timing, corrected for those still live, which count as longer than their age (Kaplan and Meier 1958).",
        DERIVED, MEAN, SAMPLED, worse=UP, compared=True, group_column=GroupColumn(4, 9, 3),
    )] = None
    oldest: Annotated[float | None, Metric(
        "oldest", SECONDS, "The age of the oldest known live task.", DERIVED, MAX, AS_OF, group_column=GroupColumn(5, 8, 6),
    )] = None
    growth: Growth | None = None
    rss: Annotated[float | None, Metric(
        "RSS with it", BYTES, "RSS that grows and shrinks with the number of live tasks, at the current number; unknown if uncertain.",
        DERIVED, SUM, AS_OF, decimals=0, group_column=GroupColumn(7, 11, 5),
    )] = None
    grows: Annotated[bool, ANY] = False
    """Whether growth of its live or ended tasks was reported, and not withdrawn."""
    leak: Annotated[bool, ANY] = False
    """Whether that was called a leak."""
    waits: tuple[WaitPlace, ...] = ()
    at_least: tuple[str, ...] = ()
    """The figures that may be higher, since some tasks were missed or have not ended."""
    waits_known: Annotated[bool, ALL] = False
    """Whether the agent has answered where its tasks wait."""
    created_at: tuple[TaskPlace, ...] = ()
    """The lines that created its sampled tasks, as of that answer."""
    awaited_by: tuple[TaskPlace, ...] = ()
    """Where the tasks wait that await its tasks, as of that answer."""
    live_at_end: Annotated[int | None, Metric(
        "live at end", COUNT, "Live tasks when the process reported its exit; unknown if it did not.", DERIVED, SUM, AT_END, worse=UP, compared=True,
    )] = None

    p50: Annotated[float | None, Metric(
        "p50", SECONDS, f"Half of the tasks take no longer, {SURVIVAL}.",
        DERIVED, NONE, SAMPLED, worse=UP, compared=True, decimals=6, group_column=GroupColumn(4, 8, 6),
    )] = None
    p99: Annotated[float | None, Metric(
        "p99", SECONDS, f"99 % of the tasks take no longer, {SURVIVAL}.",
        DERIVED, NONE, SAMPLED, worse=UP, compared=True, decimals=6, group_column=GroupColumn(4, 8, 4),
    )] = None
    timed: Annotated[int, Metric(
        "timed", COUNT, "Tasks that were timed to their end, from which p50 and p99 are estimated, together with those still live.", DERIVED, SUM, AT_END,
    )] = 0
    busy: Annotated[float | None, Metric(
        "busy", SHARE, "Share of the time of its event loop in which the tasks of a coroutine function ran, since the agent started.",
        DERIVED, SUM, SAMPLED, worse=UP, compared=True, decimals=4, group_column=GroupColumn(3, 12, 2, text=lambda group: _busy_text(group)),
    )] = None
    busy_half: float | None = None
    """Half of the 95 % interval of ``busy``."""

    @property
    def survival(self) -> None:
        """Only the quantiles are kept."""
        return None

    @property
    def buckets(self) -> Buckets:
        """They are not kept."""
        return EMPTY

    @property
    def counted(self) -> "GroupStatus":
        """It has all figures."""
        return self

    @property
    def waits_age(self) -> None:
        """It is not kept."""
        return None

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


def _busy_text(group: GroupFigures) -> str:
    share, half = group.figure("busy"), group.figure("busy_half") or 0.0
    if share is None:
        return UNKNOWN
    return f"{100 * share:.1f} %" + (f" ±{100 * half:.1f}" if half >= LEAST_SHOWN else "")


def _per_minute(group: GroupFigures) -> float | None:
    growth: Growth | None = group.figure("growth")
    return growth.per_minute if growth else None


def _growth_text(group: GroupFigures) -> str:
    growth: Growth | None = group.figure("growth")
    if growth is None:
        return UNKNOWN
    rate = format_short(abs(growth.per_minute))
    sign = "" if rate == "0" else "+" if growth.per_minute > 0 else "−"
    return f"{sign}{rate} ±{format_short((growth.high - growth.low) / 2)}"


def _figures() -> Iterator[Metric]:
    for row in rows_of(GroupStatus):
        yield structs.replace(row, of=methodcaller("figure", row.field))


GROUP_METRICS = (
    *_figures(),
    Metric("growth/min", COUNT, "Growth of the live tasks per minute, over the last two minutes.", DERIVED, NONE, SAMPLED, (), UP,
           name="growth_per_minute", field="growth", of=_per_minute, compared=True, group_column=GroupColumn(6, 14, title="growth/min", text=_growth_text)),
    Metric("leaks", COUNT, "Leaks of a coroutine function, at most one per process.", DERIVED, SUM, worse=UP,
           name="leaks", field="leak", of=lambda group: int(group.figure("leak")), openmetrics="leaks"),
)
"""The metrics of a group, read from its `GroupFigures`."""

# fmt: on

OF_NOW = tuple(row.field for row in GROUP_METRICS if row.known is AS_OF)
"""The fields that are unknown once the process has ended."""


def largest(groups: Iterable[GroupFigures], count: int) -> tuple[GroupStatus, ...]:
    """Return the ``count`` groups with most live tasks, the largest first."""
    found = sorted(groups, key=lambda group: -(group.figure("live") or 0))
    return tuple(group.status for group in found[:count])
