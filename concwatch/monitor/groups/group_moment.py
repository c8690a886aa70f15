"""A group at one moment: what was recorded of it is frozen; what is derived is computed when it is read."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import Struct, field, structs

from concwatch.links.agent_messages import GroupReport, Waits
from concwatch.monitor.metrics.group_status import QUANTILES, Function, GroupStatus
from concwatch.monitor.metrics.metric import MetricSource, fields_from
from concwatch.monitor.statistics.buckets import EMPTY, Buckets
from concwatch.monitor.statistics.histogram import Histogram
from concwatch.monitor.statistics.rates import finite, rate_at
from concwatch.monitor.statistics.student import T95, student_t
from concwatch.monitor.statistics.survival import Estimate, Survival
from concwatch.monitor.verdicts.growth import KEPT, WINDOW, Growth, MeasuredGrowth, trend

RATE_SECONDS = 5.0
"""Seconds over which tasks created and ended per second are averaged."""

BATCH, LEAST_BATCHES = 1.0, 5
"""Seconds of the loops' time that give one share, and the shares from which an interval is known."""

TIMED_TOO = 0.25
"""How far the number of ended tasks that the timed ones stand for may be from that of all."""

MISSED = ("created", "ended", "live_peak", "created_per_second", "ended_per_second")
"""The figures of a group to which tasks belong that only scans find."""

FACTS = ("group", "name", "file", "line", "own", "since", "left_lines")

REPORTED = frozenset((*FACTS, *fields_from(GroupStatus, MetricSource.TICK)))
"""The figures of a group that are as the agent reports them."""

COMPUTED = frozenset(
    (
        *("live_peak", "created_per_second", "ended_per_second", "mean_life", "oldest"),
        *("growth", "rss", "grows", "leak", "at_least", "busy", "busy_half", *QUANTILES, "timed"),
    )
)
"""Those that can be computed one by one."""


Counted = tuple[float, int, int]
"""The time of a report, and how many tasks had been created and had ended."""


class AgentTime(NamedTuple):
    """The clock of an agent at its last report, in seconds."""

    now: float = -math.inf
    looped: float = 0.0
    """The seconds of its loops."""
    covered: float = 0.0
    """Those in which each step of a task was timed."""


class RssSlope(Struct, gc=False):
    """The regression of RSS over live tasks, which is computed when it is asked for."""

    points: list[tuple[int, int]]
    """Live tasks and bytes of RSS; only appended to, so that it is shared with later moments."""
    end: int = 0
    """How many of the points there were at this moment; the last `KEPT` of them count."""
    slope: tuple[float, float] | None = None
    due: bool = True
    """Whether it has not been computed yet."""

    def at(self, live: int) -> float | None:
        """Return the bytes for ``live`` tasks; None unless the slope is positive beyond its 95 % interval.

        Groups whose tasks grow and shrink together are each given the same bytes.
        """
        if self.due:
            points = self.points[max(0, self.end - KEPT) : self.end]
            self.due, self.slope = False, trend([live for live, _ in points], [rss for _, rss in points])
        slope = self.slope
        if slope is None or slope[0] <= slope[1]:
            return None
        return slope[0] * live


class GroupMemory:
    """Estimates the memory of a group: the regression of RSS over live tasks in the last two minutes."""

    def __init__(self) -> None:
        self.slope = RssSlope([])
        self.due = -math.inf
        """From which time on the next point is recorded."""

    def add(self, time: float, live: int, rss: int) -> None:
        """Record live tasks and bytes of RSS at ``time`` in seconds."""
        if time >= self.due:
            self.due = time + WINDOW
            points = self.slope.points
            if len(points) >= 2 * KEPT:
                points = points[-KEPT:]
            points.append((live, rss))
            self.slope = RssSlope(points, len(points))


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
    def survival(self) -> Survival:
        """How long its tasks take, from those that are timed."""
        # Those that had not ended at its last report have not since, if later scans found no change.
        aged = max(0.0, self.time - self.reported)
        return Survival(self.seldom.durations, [(age + aged, tasks) for age, tasks in self.report.timing])

    @property
    def counted(self) -> GroupReport:
        """The last report."""
        return self.report

    @property
    def grows(self) -> bool:
        """Whether its growth was reported."""
        return self.seldom.grows

    @property
    def leak(self) -> bool:
        """Whether it was called a leak."""
        return self.seldom.leak

    @property
    def timed(self) -> int:
        """How many tasks were timed to their end."""
        return self.seldom.timed

    @property
    def buckets(self) -> Buckets:
        """How long its tasks took, those that are timed with how many each stands for."""
        return self.seldom.buckets

    def figure(self, name: str) -> Any:
        """Return one field of its status, which takes ten times as long."""
        if name in REPORTED:
            return getattr(self.report, name)
        return getattr(self if name in COMPUTED else self.status, name)

    @property
    def live_peak(self) -> int | None:
        """The most live tasks of all scans; None if no scan has found one."""
        return self.highest or (None if self.report.created or self.report.ended else 0)

    @property
    def created_per_second(self) -> float | None:
        """Tasks created per second."""
        return self._rate(1)

    @property
    def ended_per_second(self) -> float | None:
        """Tasks that ended per second."""
        return self._rate(2)

    def _rate(self, column: int) -> float | None:
        return finite(rate_at((self.first, self.second, self.last), RATE_SECONDS, column))

    @property
    def mean_life(self) -> float | None:
        """The mean life of its tasks, in seconds; at most the time for which it was observed."""
        return self._mean_life()[0]

    @property
    def busy(self) -> float | None:
        """The share of its event loop's time in which its tasks ran."""
        return None if self.shares.batches < LEAST_BATCHES else self.report.busy / self.clock.looped

    @property
    def busy_half(self) -> float | None:
        """Half of the 95 % interval of ``busy``."""
        count = self.shares.batches
        if count < LEAST_BATCHES:
            return None
        # Nothing is uncertain of the time in which each step was timed.
        estimated = max(0.0, 1 - self.clock.covered / self.clock.looped)
        return student_t(T95, count - 1) * math.sqrt(self.shares.squares / (count - 1) / count * estimated)

    @property
    def p50(self) -> float | None:
        """The median of how long its tasks take, in seconds."""
        return self._quantile("p50").seconds

    @property
    def p99(self) -> float | None:
        """The duration that 99 % of its tasks do not exceed."""
        return self._quantile("p99").seconds

    def _quantile(self, name: str) -> Estimate:
        return self.survival.quantile(QUANTILES[name])

    @property
    def oldest(self) -> float | None:
        """The age of its oldest known task."""
        # It has aged since it was reported, unless it has ended, which would have been reported.
        age = self.report.oldest
        return None if age is None else age + max(0.0, self.clock.now - self.reported)

    @property
    def growth(self) -> Growth | None:
        """The growth of its live tasks."""
        return self.measured_growth.growth

    @property
    def rss(self) -> float | None:
        """Bytes of RSS that grow and shrink with its live tasks; None if uncertain."""
        return self.slope.at(self.report.live)

    def _mean_life(self) -> tuple[float | None, bool]:
        """Return the mean life, and whether it is only known to be longer than the time it was observed."""
        report = self.report
        if not report.ended or report.task_seconds is None:
            return None, False
        seconds = report.task_seconds + report.live * max(0.0, self.time - self.reported)
        if abs(self.seldom.durations.count - report.ended) <= TIMED_TOO * report.ended:
            # By how much Little's law is wrong while tasks live is known of those that are timed.
            survival = self.survival
            mean = survival.mean()
            if mean.seconds and not mean.at_least:
                return seconds / report.ended * mean.seconds / survival.lived_per_end, False
        observed = self.time - self.seldom.began
        longer = seconds > observed * report.ended > 0
        return (observed if longer else seconds / report.ended), longer

    @property
    def status(self) -> GroupStatus:
        """All figures."""
        report = self.report
        return GroupStatus(
            **{name: getattr(report, name) for name in REPORTED},
            live_peak=self.live_peak,
            created_per_second=self.created_per_second,
            ended_per_second=self.ended_per_second,
            mean_life=self.mean_life,
            oldest=self.oldest,
            growth=self.growth,
            rss=self.rss,
            grows=self.seldom.grows,
            leak=self.seldom.leak,
            waits=self.seldom.waits.waits if self.seldom.waits else (),
            waits_known=self.seldom.waits is not None,
            created_at=self.seldom.waits.created if self.seldom.waits else (),
            awaited_by=self.seldom.waits.awaited_by if self.seldom.waits else (),
            at_least=self.at_least,
            busy=self.busy,
            busy_half=self.busy_half,
            p50=self.p50,
            p99=self.p99,
            timed=self.seldom.timed,
        )

    @property
    def at_least(self) -> tuple[str, ...]:
        """The figures that may be higher."""
        return (("mean_life",) if self._mean_life()[1] else ()) + self._missed + self._longer

    @property
    def _longer(self) -> tuple[str, ...]:
        return tuple(name for name in QUANTILES if self._quantile(name).at_least)

    @property
    def _missed(self) -> tuple[str, ...]:
        """The figures that may be higher, since scans may have missed some tasks."""
        if self.report.direct or self.report.moved:
            return MISSED
        return ("live_peak",) if self.highest < self.report.created + self.report.since else ()

    @property
    def waits_age(self) -> float | None:
        """Seconds since the agent was last asked where its tasks wait; None if it was not."""
        return None if self.seldom.waits is None else self.clock.now - self.seldom.waits_time


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
