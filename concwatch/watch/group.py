"""The tasks of one coroutine function in one watched process, over time."""

import math
from collections import deque

from msgspec import Struct

from concwatch.lab.growth import KEPT, WINDOW, Growth, GrowthMeter, trend
from concwatch.lab.rates import Trailing
from concwatch.links.agent_messages import GroupReport, WaitPlace
from concwatch.text import short_place
from concwatch.units import format_count

RATE_SECONDS = 5.0
"""Seconds over which tasks created and ended per second are averaged."""


class GroupStatus(Struct, frozen=True, omit_defaults=True):
    """The figures of a group at one moment; rates are in tasks per second, times in seconds."""

    group: int
    name: str
    file: str
    line: int
    own: bool
    live: int
    live_peak: int
    created: int
    ended: int
    since: int
    created_per_second: float | None = None
    ended_per_second: float | None = None
    failed: int | None = None
    retained: int | None = None
    mean_life: float | None = None
    """By Little's law: live tasks divided by tasks that end per second, over the whole time."""
    oldest: float | None = None
    growth: Growth | None = None
    rss: float | None = None
    """Bytes of RSS that grow and shrink with its live tasks, at their current number; None if uncertain."""
    leak: bool = False
    waits: tuple[WaitPlace, ...] = ()


class GroupMemory:
    """Estimates the memory of a group: the regression of RSS over live tasks in the last two minutes."""

    def __init__(self) -> None:
        self._points: deque[tuple[int, int]] = deque(maxlen=KEPT)
        self._due = -math.inf
        self._slope: tuple[float, float] | None = None

    def add(self, time: float, live: int, rss: int) -> None:
        """Record live tasks and bytes of RSS at ``time`` in seconds."""
        if time >= self._due:
            self._due = time + WINDOW
            self._points.append((live, rss))
            # Here, not at each frame: a regression takes longer than drawing the row.
            self._slope = trend([live for live, _ in self._points], [rss for _, rss in self._points])

    def at(self, live: int) -> float | None:
        """Return the bytes for ``live`` tasks; None unless the slope is positive beyond its 95 % interval.

        Groups whose tasks grow and shrink together are each given the same bytes.
        """
        slope = self._slope
        if slope is None or slope[0] <= slope[1]:
            return None
        return slope[0] * live


class Group:
    """The figures of one group over time, which is on the agent's clock, in seconds."""

    def __init__(self, report: GroupReport, time: float) -> None:
        self.report = report
        self.waits: tuple[WaitPlace, ...] = ()
        """Where its tasks waited when the agent was last asked."""
        self.leak = False
        """Whether it was found to grow without an explanation."""
        self.live_peak = 0
        self.meter, self.retained_meter = GrowthMeter(), GrowthMeter()
        """The growth of live tasks, and of done tasks that something still references."""
        self._memory = GroupMemory()
        self._created, self._ended = Trailing(RATE_SECONDS), Trailing(RATE_SECONDS)
        self.now = time
        """The agent's clock when it was last heard."""
        self._reported = time
        self._time = time
        self._live_seconds = 0.0
        self._first_ended = report.ended

    def update(self, report: GroupReport, time: float, rss: int | None) -> None:
        """Record the result of a scan.

        Args:
            report: the figures, or the last report again if they have not changed.
            time: when the scan started, on the agent's clock.
            rss: bytes of RSS of the process.
        """
        self._live_seconds += self.report.live * max(0.0, time - self._time)
        if report is not self.report:
            self._reported = time
        self.report, self._time = report, time
        self.now = max(self.now, time)
        self.live_peak = max(self.live_peak, report.live)
        self._created.add(time, report.created)
        self._ended.add(time, report.ended)
        self.meter.add(time, report.live, report.created)
        if rss is not None:
            self._memory.add(time, report.live, rss)
        if report.retained is not None:
            self.retained_meter.add(time, report.retained, 0)

    @property
    def status(self) -> GroupStatus:
        """Its current figures."""
        report = self.report
        ended = report.ended - self._first_ended
        return GroupStatus(
            group=report.group,
            name=report.name,
            file=report.file,
            line=report.line,
            own=report.own,
            live=report.live,
            live_peak=self.live_peak,
            created=report.created,
            ended=report.ended,
            since=report.since,
            created_per_second=finite_rate(self._created),
            ended_per_second=finite_rate(self._ended),
            failed=report.failed,
            retained=report.retained,
            mean_life=self._live_seconds / ended if ended > 0 else None,
            # It has aged since, unless it has ended, which would have been reported.
            oldest=None if report.oldest is None else report.oldest + max(0.0, self.now - self._reported),
            growth=self.meter.growth,
            rss=self._memory.at(report.live),
            leak=self.leak,
            waits=self.waits,
        )

    @property
    def grows(self) -> bool:
        """Whether its live tasks, or the done ones still referenced, grow without an explanation."""
        return self.meter.leaks or self.retained_meter.leaks

    def leak_text(self) -> str:
        """Return what grows, how fast, and where most of its tasks wait."""
        report, live_grows = self.report, self.meter.leaks
        growth = (self.meter if live_grows else self.retained_meter).growth
        where = f" ({short_place(report.file)}:{report.line})" if report.file else ""
        what = "grows" if live_grows else "has finished tasks that are still referenced: grows"
        rate = (
            f" by {format_count(round(growth.per_minute))} a minute, "
            f"95 % {format_count(round(growth.low))} to {format_count(round(growth.high))}"
            if growth
            else ""
        )
        most = self.waits[0] if self.waits else None
        waits = f"; {format_count(most.tasks)} wait at {short_place(most.where)}" if most else ""
        return f"{report.name}{where} {what}{rate}{waits}"


def finite_rate(counter: Trailing) -> float | None:
    """Return the rate of a counter per second; None while it is not known."""
    return counter.rate if math.isfinite(counter.rate) else None
