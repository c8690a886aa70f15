"""The tasks of one coroutine function in one watched process, over time."""

import math

from msgspec import Struct

from concwatch.lab.rates import Trailing
from concwatch.links.agent_messages import GroupReport, WaitPlace
from concwatch.watch.growth import Growth, GrowthMeter

RATE_SECONDS = 5.0
"""Seconds over which tasks created and ended a second are taken."""


class GroupStatus(Struct, frozen=True):
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
    leak: bool = False
    waits: tuple[WaitPlace, ...] = ()


def short_place(place: str) -> str:
    """Return the end of a path, with a line or without, that tells it from others: its folder and name."""
    return "/".join(place.replace("\\", "/").split("/")[-2:])


class Group:
    """Follows one group; time is the agent's clock, in seconds."""

    def __init__(self, report: GroupReport, time: float) -> None:
        self.report = report
        self.waits: tuple[WaitPlace, ...] = ()
        """Where its tasks waited when that was asked last."""
        self.leak = False
        """Whether it has been found to grow with nothing to explain it."""
        self.live_peak = 0
        self._meter, self._retained = GrowthMeter(), GrowthMeter()
        self._created, self._ended = Trailing(RATE_SECONDS), Trailing(RATE_SECONDS)
        self._began = time
        self._time = time
        self._live_seconds = 0.0
        self._first_ended = report.ended

    def take(self, report: GroupReport, time: float) -> None:
        """Take what a scan found at ``time``; the last report again where nothing has changed."""
        self._live_seconds += self.report.live * max(0.0, time - self._time)
        self.report, self._time = report, time
        self.live_peak = max(self.live_peak, report.live)
        self._created.add(time, report.created)
        self._ended.add(time, report.ended)
        self._meter.add(time, report.live, report.created)
        if report.retained is not None:
            self._retained.add(time, report.retained, 0)

    @property
    def leaks(self) -> bool:
        """Whether live tasks grow now beyond chance with nothing to explain it."""
        return self._meter.leaks

    @property
    def retains(self) -> bool:
        """Whether more and more finished tasks are still held by something."""
        return self._retained.leaks

    @property
    def growth(self) -> Growth | None:
        """How fast the live tasks grow."""
        return self._meter.growth

    @property
    def retained_growth(self) -> Growth | None:
        """How fast the finished tasks grow that something still holds."""
        return self._retained.growth

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
            created_per_second=_known(self._created.rate),
            ended_per_second=_known(self._ended.rate),
            failed=report.failed,
            retained=report.retained,
            mean_life=self._live_seconds / ended if ended > 0 else None,
            oldest=report.oldest,
            growth=self.growth,
            leak=self.leak,
            waits=self.waits,
        )


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
