"""A group at one moment: what was recorded of it is frozen; what is derived is computed when it is read."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, field, structs

from concwatch.links.agent_messages import GroupReport, Waits
from concwatch.monitor.groups.group_memory import RssSlope
from concwatch.monitor.groups.lifetimes import Lifetimes
from concwatch.monitor.metrics.group_status import QUANTILES, Function, GroupStatus
from concwatch.monitor.metrics.metric import MetricSource, fields_from
from concwatch.monitor.statistics.buckets import EMPTY, Buckets
from concwatch.monitor.statistics.histogram import Histogram
from concwatch.monitor.statistics.rates import finite, rate_at
from concwatch.monitor.statistics.student import T95, student_t
from concwatch.monitor.statistics.survival import Survival
from concwatch.monitor.verdicts.growth import MeasuredGrowth

RATE_SECONDS = 5.0
"""Seconds over which tasks created and ended per second are averaged."""

BATCH, LEAST_BATCHES = 1.0, 5
"""Seconds of the loops' time that give one share, and the shares from which an interval is known."""

MISSED = ("created", "ended", "live_peak", "created_per_second", "ended_per_second")
"""The figures of a group to which tasks belong that only scans find."""

FACTS = ("group", "name", "file", "line", "own", "since", "left_lines")

REPORTED = frozenset((*FACTS, *fields_from(GroupStatus, MetricSource.TICK)))
"""The figures of a group that are as the agent reports them."""

Counted = tuple[float, int, int]
"""The time of a report, and how many tasks had been created and had ended."""


class AgentTime(NamedTuple):
    """The clock of an agent at its last report, in seconds."""

    now: float = -math.inf
    looped: float = 0.0
    """The seconds of its loops."""
    covered: float = 0.0
    """Those in which each step of a task was timed."""


class Shares(Struct, frozen=True, gc=False):
    """Shares of the time of event loops in which the tasks of a group ran, one of each `BATCH`."""

    batches: int = 0
    mean: float = 0.0
    squares: float = 0.0
    """The sum of the squared differences from the mean."""

    def add(self, share: float) -> "Shares":
        """Return the same with one more."""
        batches, before = self.batches + 1, share - self.mean
        mean = self.mean + before / batches
        return Shares(batches, mean, self.squares + before * (share - mean))


class Seldom(Struct, frozen=True, gc=False):
    """What seldom changes of a group; times are on the agent's clock, in seconds."""

    began: float
    """When the agent started."""
    durations: Histogram = field(default_factory=Histogram)
    """How long its timed tasks took; nothing is added to it."""
    buckets: Buckets = EMPTY
    """The same as a histogram with few buckets."""
    timed: int = 0
    """How many were timed to their end."""
    waits: Waits | None = None
    """Where its tasks waited when the agent was last asked; None before."""
    waits_time: float = 0.0
    grows: bool = False
    """Whether its growth was reported."""
    leak: bool = False
    """Whether it was called a leak."""

    def with_durations(self, durations: Sequence[tuple[float, int]]) -> "Seldom":
        """Return the same with more durations, each with how many it stands for."""
        return structs.replace(
            self,
            durations=self.durations.with_weighted(durations),
            buckets=self.buckets.with_weighted(durations),
            timed=self.timed + len(durations),
        )


class GroupMoment(Struct, frozen=True, gc=False):  # thousands a second, none in a cycle
    """A group at one moment; times are on the agent's clock, in seconds."""

    report: GroupReport
    """The last report."""
    function: Function
    """Its function."""
    clock: AgentTime
    time: float
    """When the last scan started."""
    reported: float
    """When the scan started whose result the report is."""
    highest: int
    """The most live tasks of all scans."""
    first: Counted
    second: Counted
    last: Counted
    """Of the counts within `RATE_SECONDS`, and one before."""
    shares: Shares
    measured_growth: MeasuredGrowth
    slope: RssSlope
    seldom: Seldom

    @property
    def lifetimes(self) -> Lifetimes:
        """What is known of how long its tasks take."""
        # Those that had not ended at its last report have not since, if later scans found no change.
        aged = max(0.0, self.time - self.reported)
        return Lifetimes(self.report, self.seldom.durations, aged, self.time - self.seldom.began)

    @property
    def survival(self) -> Survival:
        """How long its tasks take, from those that are timed."""
        return self.lifetimes.survival

    @property
    def counted(self) -> GroupReport:
        """The last report."""
        return self.report

    @property
    def buckets(self) -> Buckets:
        """How long its tasks took, those that are timed with how many each stands for."""
        return self.seldom.buckets

    @property
    def waits_age(self) -> float | None:
        """Seconds since the agent was last asked where its tasks wait; None if it was not."""
        return None if self.seldom.waits is None else self.clock.now - self.seldom.waits_time

    def figure(self, name: str) -> Any:
        """Return one field of its status, which takes ten times as long."""
        compute = COMPUTED.get(name)
        return getattr(self.report, name) if compute is None else compute(self)

    @property
    def status(self) -> GroupStatus:
        """All figures."""
        return GroupStatus(
            **{name: getattr(self.report, name) for name in REPORTED},
            **{name: compute(self) for name, compute in COMPUTED.items()},
        )


def _live_peak(group: GroupMoment) -> int | None:
    """Return the most live tasks of all scans; None if no scan has found one."""
    return group.highest or (None if group.report.created or group.report.ended else 0)


def _rate(group: GroupMoment, column: int) -> float | None:
    """Return how much a column of the counts rises per second."""
    return finite(rate_at((group.first, group.second, group.last), RATE_SECONDS, column))


def _busy(group: GroupMoment) -> float | None:
    """Return the share of its event loop's time in which its tasks ran."""
    return None if group.shares.batches < LEAST_BATCHES else group.report.busy / group.clock.looped


def _busy_half(group: GroupMoment) -> float | None:
    """Return half of the 95 % interval of ``busy``."""
    count = group.shares.batches
    if count < LEAST_BATCHES:
        return None
    # Nothing is uncertain of the time in which each step was timed.
    estimated = max(0.0, 1 - group.clock.covered / group.clock.looped)
    return student_t(T95, count - 1) * math.sqrt(group.shares.squares / (count - 1) / count * estimated)


def _oldest(group: GroupMoment) -> float | None:
    """Return the age of its oldest known task."""
    # It has aged since it was reported, unless it has ended, which would have been reported.
    age = group.report.oldest
    return None if age is None else age + max(0.0, group.clock.now - group.reported)


def _at_least(group: GroupMoment) -> tuple[str, ...]:
    """Return the names of the figures that may be higher."""
    lifetimes, report = group.lifetimes, group.report
    missed: tuple[str, ...] = ()  # since scans may have missed some tasks
    if report.direct or report.moved:
        missed = MISSED
    elif group.highest < report.created + report.since:
        missed = ("live_peak",)
    survival = lifetimes.survival
    return (
        *(("mean_life",) if lifetimes.mean().at_least else ()),
        *missed,
        *(name for name, share in QUANTILES.items() if survival.quantile(share).at_least),
    )


def _quantile(share: float) -> Callable[[GroupMoment], float | None]:
    return lambda group: group.survival.quantile(share).seconds


def _of_waits(name: str) -> Callable[[GroupMoment], Any]:
    """Return what returns a field of the last answer where its tasks wait."""
    return lambda group: () if group.seldom.waits is None else getattr(group.seldom.waits, name)


COMPUTED: Mapping[str, Callable[[GroupMoment], Any]] = {
    "live_peak": _live_peak,
    "created_per_second": lambda group: _rate(group, 1),
    "ended_per_second": lambda group: _rate(group, 2),
    "mean_life": lambda group: group.lifetimes.mean().seconds,
    "oldest": _oldest,
    "growth": lambda group: group.measured_growth.growth,
    "rss": lambda group: group.slope.at(group.report.live),
    "grows": lambda group: group.seldom.grows,
    "leak": lambda group: group.seldom.leak,
    "waits": _of_waits("waits"),
    "waits_known": lambda group: group.seldom.waits is not None,
    "created_at": _of_waits("created"),
    "awaited_by": _of_waits("awaited_by"),
    "at_least": _at_least,
    "live_at_end": lambda _: None,
    "busy": _busy,
    "busy_half": _busy_half,
    **{name: _quantile(share) for name, share in QUANTILES.items()},
    "timed": lambda group: group.seldom.timed,
}
"""The figures that are not as the agent reports them: how each is computed, by name."""


class EndedGroup(Struct, frozen=True):
    """A group of a process that has ended."""

    moment: GroupMoment
    """The last one."""
    status: GroupStatus
    """All figures, with what is known of them now."""
    survival: None = None
    """Only the quantiles are kept."""

    @property
    def buckets(self) -> Buckets:
        """How long its tasks took, those that are timed with how many each stands for."""
        return self.moment.buckets

    @property
    def counted(self) -> GroupStatus:
        """The final figures."""
        return self.status

    @property
    def function(self) -> Function:
        """Its function."""
        return self.moment.function

    @property
    def waits_age(self) -> float | None:
        """Seconds since the agent was last asked where its tasks waited; None if it was not."""
        return self.moment.waits_age

    def figure(self, name: str) -> Any:
        """Return one field of its status."""
        return getattr(self.status, name)
