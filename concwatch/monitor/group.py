"""The tasks of one coroutine function in one watched process, over time."""

import math
from collections import deque
from collections.abc import Sequence
from typing import Any

from concwatch.monitor.group_status import QUANTILES, Function, GroupStatus
from concwatch.monitor.growth import (
    CONNECTED,
    KEPT,
    LEAST_CONNECTED,
    LEAST_ENDED,
    LEAST_GROWTH,
    WINDOW,
    Growth,
    GrowthMeter,
    trend,
)
from concwatch.monitor.histogram import Histogram
from concwatch.monitor.metric import MetricSource, fields_from
from concwatch.monitor.rates import Trailing, rate_at
from concwatch.monitor.student import T95, student_t
from concwatch.protocol.agent_messages import GroupReport, WaitPlace, Waits
from concwatch.protocol.text import short_place
from concwatch.protocol.units import counted, format_count

BOUNDED = 0.9
"""Share of the tasks that wait for a timer, or for something that others hold, from which it may be early."""

FOR_EVER = 600.0
"""Seconds of a timer that is no bound."""

LIFETIMES = 4.0
"""Longest timers, or mean lives once they are known, for which such tasks must have grown."""

RATE_SECONDS = 5.0
"""Seconds over which tasks created and ended per second are averaged."""


BATCH, LEAST_BATCHES = 1.0, 5
"""Seconds of the loops' time that give one share, and the shares from which an interval is known."""

STILL_LIVE = 0.25
"""Share of the tasks above a quantile: with more live ones that are older already, it is a lower bound."""

MISSED = ("created", "ended", "live_peak", "created_per_second", "ended_per_second")
"""The figures of a group to which tasks belong that only scans find."""


class GroupMemory:
    """Estimates the memory of a group: the regression of RSS over live tasks in the last two minutes."""

    def __init__(self) -> None:
        self._points: deque[tuple[int, int]] = deque(maxlen=KEPT)
        self._due = -math.inf
        self._slope: tuple[float, float] | None = None
        self._slope_due = False

    def add(self, time: float, live: int, rss: int) -> None:
        """Record live tasks and bytes of RSS at ``time`` in seconds."""
        if time >= self._due:
            self._due = time + WINDOW
            self._points.append((live, rss))
            self._slope_due = True

    def at(self, live: int) -> float | None:
        """Return the bytes for ``live`` tasks; None unless the slope is positive beyond its 95 % interval.

        Groups whose tasks grow and shrink together are each given the same bytes.
        """
        if self._slope_due:  # once for each point, not at each frame, and only if it is asked for
            self._slope_due = False
            self._slope = trend([live for live, _ in self._points], [rss for _, rss in self._points])
        slope = self._slope
        if slope is None or slope[0] <= slope[1]:
            return None
        return slope[0] * live


FACTS = ("group", "name", "file", "line", "own", "since", "left_lines")

REPORTED = frozenset((*FACTS, *fields_from(GroupStatus, MetricSource.TICK)))
"""The figures of a group that are as the agent reports them."""

COMPUTED = frozenset(
    (
        *("live_peak", "created_per_second", "ended_per_second", "mean_life", "oldest"),
        *("growth", "rss", "leak", "at_least", "busy", "busy_half", *QUANTILES, "timed"),
    )
)
"""Those that can be computed one by one."""


class AgentClock:
    """The clock of one agent."""

    def __init__(self) -> None:
        self.now = -math.inf
        """Its seconds in the last report."""
        self.looped = self.covered = 0.0
        """The seconds of its loops, and those in which each step of a task was timed."""


class BusyMeter:
    """The share of the time of event loops in which the tasks of a group ran."""

    def __init__(self, clock: AgentClock) -> None:
        self._clock = clock
        self._busy = self._batch_busy = 0.0
        self._began = clock.looped
        self._count, self._mean, self._squares = 0, 0.0, 0.0

    def add(self, busy: float) -> None:
        """Record the seconds in which they have run so far."""
        self._busy = busy
        seconds = self._clock.looped - self._began
        if seconds < BATCH:
            return
        share = (busy - self._batch_busy) / seconds
        self._began, self._batch_busy = self._clock.looped, busy
        self._count += 1
        before = share - self._mean
        self._mean += before / self._count
        self._squares += before * (share - self._mean)

    @property
    def share(self) -> float | None:
        """The share; None while that is not known."""
        return None if self._count < LEAST_BATCHES else self._busy / self._clock.looped

    @property
    def half(self) -> float | None:
        """Half of its 95 % interval, from how the seconds differ; None while that is not known."""
        looped, count = self._clock.looped, self._count
        if count < LEAST_BATCHES:
            return None
        # Nothing is uncertain of the time in which each step was timed.
        estimated = max(0.0, 1 - self._clock.covered / looped)
        return student_t(T95, count - 1) * math.sqrt(self._squares / (count - 1) / count * estimated)


class Group:
    """The figures of one group over time, which is on the agent's clock, in seconds.

    Args:
        report: its first report.
        time: when that scan started.
        clock: the clock of the agent.
        began: when the agent started; None if that is not known.
    """

    def __init__(
        self, report: GroupReport, time: float, clock: AgentClock, began: float | None = None
    ) -> None:
        self.report = report
        self.function: Function = (report.name, report.file, report.line)
        """Its function."""
        self.waits: Waits | None = None
        """Where its tasks waited when the agent was last asked; None before."""
        self._waits_time = time
        self.leak = False
        """Whether it was found to grow without an explanation."""
        self.asked_at: float | None = None
        """When the agent was asked where its tasks wait, since it may leak."""
        self.ask_due = -math.inf
        """From when on it may be asked again."""
        self.answered = False
        """Whether it has answered that."""
        self._timer: float | None = None
        self._wakeable = False
        self._withdrawn = False
        self.highest = 0
        """The most live tasks of all scans."""
        self.durations = Histogram()
        """How long its timed tasks took."""
        self.timed = 0
        """How many were timed to their end."""
        self.meter, self.retained_meter = GrowthMeter(), GrowthMeter()
        """The growth of live tasks, and of done tasks that something still references."""
        self._memory = GroupMemory()
        self._recent: deque[tuple[float, int, int]] = deque()
        """Time, created and ended tasks of the reports within `RATE_SECONDS`, and of one before."""
        self._clock, self._busy = clock, BusyMeter(clock)
        self._reported = time
        self._time = time
        self._began = time if began is None else began
        self._left_logged = 0

    def update(self, report: GroupReport, time: float, rss: int | None) -> None:
        """Record the result of a scan.

        Args:
            report: the figures, or the last report again if they have not changed.
            time: when the scan started, on the agent's clock.
            rss: bytes of RSS of the process.
        """
        if report is not self.report:
            self._reported = time
        self.report, self._time = report, time
        self.highest = max(self.highest, report.live, report.live_peak or 0)
        recent = self._recent
        recent.append((time, report.created, report.ended))
        while len(recent) > 1 and recent[1][0] <= time - RATE_SECONDS:
            recent.popleft()
        self._busy.add(report.busy)
        self.meter.add(time, report.live, report.created)
        if rss is not None:
            self._memory.add(time, report.live, rss)
        if report.retained or (report.retained is not None and self.retained_meter.is_measuring):
            self.retained_meter.add(time, report.retained, 0)

    def add_durations(self, report: GroupReport) -> None:
        """Add the durations of a new report."""
        self.durations.add_weighted(report.durations)
        self.timed += len(report.durations)

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
        """Tasks created a second."""
        return _finite(rate_at(self._recent, RATE_SECONDS, 1))

    @property
    def ended_per_second(self) -> float | None:
        """Tasks that ended a second."""
        return _finite(rate_at(self._recent, RATE_SECONDS, 2))

    @property
    def mean_life(self) -> float | None:
        """The mean life of its tasks, in seconds; at most the time for which it was observed."""
        return self._mean_life()[0]

    @property
    def busy(self) -> float | None:
        """The share of its event loop's time in which its tasks ran."""
        return self._busy.share

    @property
    def busy_half(self) -> float | None:
        """Half of the 95 % interval of ``busy``."""
        return self._busy.half

    @property
    def p50(self) -> float | None:
        """The median of how long its tasks took, in seconds."""
        return self.durations.quantile(0.5)

    @property
    def p99(self) -> float | None:
        """The duration that 99 % of its tasks did not exceed."""
        return self.durations.quantile(0.99)

    def _may_be_longer(self, share: float) -> bool:
        """Whether so many timed tasks are older already that a quantile of those that ended is too low."""
        quantile = self.durations.quantile(share)
        if quantile is None or not self.report.timing:
            return False
        aged = max(0.0, self._clock.now - self._reported)
        older = sum(tasks for age, tasks in self.report.timing if age + aged > quantile)
        return older > STILL_LIVE * (1 - share) * self.durations.count

    @property
    def oldest(self) -> float | None:
        """The age of its oldest known task."""
        # It has aged since it was reported, unless it has ended, which would have been reported.
        age = self.report.oldest
        return None if age is None else age + max(0.0, self._clock.now - self._reported)

    @property
    def growth(self) -> Growth | None:
        """The growth of its live tasks."""
        return self.meter.growth

    @property
    def rss(self) -> float | None:
        """Bytes of RSS that grow and shrink with its live tasks; None if uncertain."""
        return self._memory.at(self.report.live)

    def _mean_life(self) -> tuple[float | None, bool]:
        """Return the mean life, and whether it is only known to be longer than the time it was observed."""
        report = self.report
        if not report.ended or report.task_seconds is None:
            return None, False
        seconds = report.task_seconds + report.live * max(0.0, self._time - self._reported)
        observed = self._time - self._began
        longer = seconds > observed * report.ended > 0
        return (observed if longer else seconds / report.ended), longer

    @property
    def status(self) -> GroupStatus:
        """Its current figures."""
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
            leak=self.leak,
            waits=self.waits.waits if self.waits else (),
            waits_known=self.waits is not None,
            created_at=self.waits.created if self.waits else (),
            awaited_by=self.waits.awaited_by if self.waits else (),
            at_least=self.at_least,
            busy=self.busy,
            busy_half=self.busy_half,
            p50=self.p50,
            p99=self.p99,
            timed=self.timed,
        )

    @property
    def at_least(self) -> tuple[str, ...]:
        """The figures that may be higher."""
        return (("mean_life",) if self._mean_life()[1] else ()) + self._missed + self._longer

    @property
    def _longer(self) -> tuple[str, ...]:
        return tuple(name for name, share in QUANTILES.items() if self._may_be_longer(share))

    @property
    def _missed(self) -> tuple[str, ...]:
        """The figures that may be higher, since scans may have missed some tasks."""
        if self.report.direct or self.report.moved:
            return MISSED
        return ("live_peak",) if self.highest < self.report.created + self.report.since else ()

    @property
    def grows(self) -> bool:
        """Whether its live tasks, or the done ones still referenced, grow without an explanation."""
        return self._is_plain or self.meter.leaks or self.retained_meter.leaks

    @property
    def _is_plain(self) -> bool:
        return self.meter.is_plain and not self._withdrawn

    def add_waits(self, waits: Waits) -> None:
        """Record where its tasks wait, and until when."""
        self.waits, self.answered, self._waits_time = waits, True, self._clock.now
        wakeable = (waits.looked - waits.timed) * waits.wakeable / max(1, waits.sampled)
        bounded = waits.looked and waits.timed + wakeable >= BOUNDED * waits.looked
        self._timer = waits.until if bounded and waits.timed else None
        self._wakeable = bool(bounded and wakeable)

    @property
    def waits_age(self) -> float | None:
        """Seconds since the agent was last asked where its tasks wait; None if it was not."""
        return None if self.waits is None else self._clock.now - self._waits_time

    def too_early(self, sockets: int) -> bool:
        """Whether it has grown no longer than tasks do that something ends after all.

        Args:
            sockets: by how many the sockets of the process have risen in the last two minutes.
        """
        if not (self.meter.leaks or self._is_plain):  # finished tasks: a cache fills
            return self.retained_meter.lasting < LEAST_GROWTH
        return self.meter.lasting < self._least_growth(sockets)

    def _least_growth(self, sockets: int) -> float:
        """Return the seconds for which its live tasks must grow."""
        timer = self._timer
        if not self._wakeable and timer is None:
            return 0.0
        if sockets >= CONNECTED * self.meter.rise:
            return LEAST_CONNECTED
        if timer is not None:
            return 0.0 if timer >= FOR_EVER else max(LEAST_GROWTH, LIFETIMES * timer)
        if self.report.ended >= LEAST_ENDED * self.report.created and self.mean_life is not None:
            return min(LEAST_GROWTH, LIFETIMES * self.mean_life)
        return LEAST_GROWTH

    def withdraw(self) -> bool:
        """Take the verdict of a leak back if it no longer grows. Return whether that happened."""
        if not self.leak or self.grows or not (self.meter.is_level and self.retained_meter.is_level_or_empty):
            return False
        self.leak, self._withdrawn, self.asked_at = False, True, None
        return True

    def left_text(self) -> str:
        """Return how many tasks are left over, and what created most; empty until they are ten times more."""
        report = self.report
        left = report.left_over or 0
        if not left or left < 10 * self._left_logged:
            return ""
        self._left_logged = left
        line = report.left_lines[0].line if report.left_lines else ""
        created = f", created at {short_place(line)}" if line else ""
        return f"{self._name}: {counted(left, 'task')} left over when the main coroutine was done{created}"

    @property
    def _name(self) -> str:
        report = self.report
        return with_place(report.name, report.file, report.line)

    def leak_text(self) -> str:
        """Return what grows, how fast, and where most of its tasks wait."""
        live_grows = self.meter.leaks or not self.retained_meter.leaks
        growth = (self.meter if live_grows else self.retained_meter).growth
        what = "grows" if live_grows else "has finished tasks that are still referenced: grows"
        rate = growth.text(format_count) if growth else ""
        return f"{self._name} {what}{rate}{most_wait_at(self.waits.waits if self.waits else ())}"


def finite_rate(counter: Trailing) -> float | None:
    """Return the rate of a counter per second; None while it is not known."""
    return _finite(counter.rate)


def _finite(rate: float) -> float | None:
    return rate if math.isfinite(rate) else None


def with_place(name: str, file: str, line: int) -> str:
    """Return a function's name with where it is defined, if that is known: ``login (app/views.py:12)``."""
    return f"{name} ({short_place(file)}:{line})" if file else name


def most_wait_at(waits: Sequence[WaitPlace]) -> str:
    """Return where most of them wait, to be added to a sentence; empty if that is not known."""
    if not waits:
        return ""
    most = waits[0]
    text = f"; {format_count(most.tasks)} wait at {short_place(most.where)}"
    return f"{text} for {most.on}" if most.on else text
