"""The tasks of one coroutine function in one watched process, over time."""

import math
from collections import deque

from msgspec import Struct

from concwatch.lab.growth import KEPT, STRETCH, Growth, GrowthMeter, trend
from concwatch.lab.rates import Trailing
from concwatch.links.agent_messages import GroupReport, WaitPlace

RATE_SECONDS = 5.0
"""Seconds over which tasks created and ended a second are taken."""


class GroupStatus(Struct, frozen=True, omit_defaults=True):
    """What is known of a group at one moment; rates are tasks a second, times are seconds."""

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
    """By Little's law: live tasks over those that end a second, over the whole time."""
    oldest: float | None = None
    growth: Growth | None = None
    rss: float | None = None
    """Bytes of RSS that moved with its live tasks, for their present number; None where it may be chance."""
    leak: bool = False
    waits: tuple[WaitPlace, ...] = ()


class MovedMemory:
    """Tells how much of a process's RSS moved with the live tasks of one group, over the last two minutes."""

    def __init__(self) -> None:
        self._points: deque[tuple[int, int]] = deque(maxlen=KEPT)
        self._due = -math.inf

    def add(self, time: float, live: int, rss: int) -> None:
        """Take live tasks and bytes at ``time`` in seconds."""
        if time >= self._due:
            self._due = time + STRETCH
            self._points.append((live, rss))

    def at(self, live: int) -> float | None:
        """Return the bytes that go with so many tasks: their number by the slope of RSS over live tasks.

        None where the slope is not positive beyond its 95 % interval. Groups whose tasks come and go
        together move the same bytes.
        """
        found = trend([live for live, _ in self._points], [rss for _, rss in self._points])
        if found is None or found[0] <= found[1]:
            return None
        return found[0] * live


class Group:
    """Follows one group; time is the agent's clock, in seconds."""

    def __init__(self, report: GroupReport, time: float) -> None:
        self.report = report
        self.waits: tuple[WaitPlace, ...] = ()
        """Where its tasks waited when that was asked last."""
        self.leak = False
        """Whether it has been found to grow with nothing to explain it."""
        self.live_peak = 0
        self.meter, self.retained_meter = GrowthMeter(), GrowthMeter()
        """How the live tasks grow, and the finished ones that something still holds."""
        self._moved = MovedMemory()
        self._created, self._ended = Trailing(RATE_SECONDS), Trailing(RATE_SECONDS)
        self._began = time
        self._time = time
        self._live_seconds = 0.0
        self._first_ended = report.ended

    def take(self, report: GroupReport, time: float, rss: int | None) -> None:
        """Take what a scan found at ``time``; the last report again where nothing has changed.

        Args:
            report: what was found.
            time: of the scan, on the agent's clock.
            rss: bytes of RSS of the process.
        """
        self._live_seconds += self.report.live * max(0.0, time - self._time)
        self.report, self._time = report, time
        self.live_peak = max(self.live_peak, report.live)
        self._created.add(time, report.created)
        self._ended.add(time, report.ended)
        self.meter.add(time, report.live, report.created)
        if rss is not None:
            self._moved.add(time, report.live, rss)
        if report.retained is not None:
            self.retained_meter.add(time, report.retained, 0)

    @property
    def status(self) -> GroupStatus:
        """What is known now."""
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
            created_per_second=known_rate(self._created),
            ended_per_second=known_rate(self._ended),
            failed=report.failed,
            retained=report.retained,
            mean_life=self._live_seconds / ended if ended > 0 else None,
            oldest=report.oldest,
            growth=self.meter.growth,
            rss=self._moved.at(report.live),
            leak=self.leak,
            waits=self.waits,
        )


def known_rate(counter: Trailing) -> float | None:
    """Return what a counter counted a second; None while that is not known."""
    return counter.rate if math.isfinite(counter.rate) else None
