"""The tasks of one coroutine function in one watched process, over time."""

import math
from collections import deque
from collections.abc import Sequence

from msgspec import structs

from concwatch.monitor.group_moment import (
    BATCH,
    RATE_SECONDS,
    AgentTime,
    Counted,
    GroupMemory,
    GroupMoment,
    Seldom,
    Shares,
)
from concwatch.monitor.group_status import Function
from concwatch.monitor.growth import CONNECTED, LEAST_CONNECTED, LEAST_ENDED, LEAST_GROWTH, GrowthMeter
from concwatch.protocol.agent_messages import GroupReport, WaitPlace, Waits
from concwatch.protocol.text import short_place
from concwatch.protocol.units import counted, format_count

BOUNDED = 0.9
"""Share of the tasks that wait for a timer, or for something that others hold, from which it may be early."""

FOR_EVER = 600.0
"""Seconds of a timer that is no bound."""

LIFETIMES = 4.0
"""Longest timers, or mean lives once they are known, for which such tasks must have grown."""


class Group:
    """The figures of one group over time, which is on the agent's clock, in seconds.

    Args:
        report: its first report.
        time: when that scan started.
        clock: the clock of the agent then.
        began: when the agent started; None if that is not known.
    """

    def __init__(
        self, report: GroupReport, time: float, clock: AgentTime, began: float | None = None
    ) -> None:
        self.moment: GroupMoment
        """What is known of it as of the last scan, which later reports do not change."""
        self.report = report
        self.function: Function = (report.name, report.file, report.line)
        """Its function."""
        self._seldom = Seldom(time if began is None else began, waits_time=time)
        self.asked_at: float | None = None
        """When the agent was asked where its tasks wait, since it may leak."""
        self.ask_due = -math.inf
        """From when on it may be asked again."""
        self.answered = False
        """Whether it has answered that."""
        self._timer: float | None = None
        self._wakeable = False
        self._withdrawn = False
        self._highest = 0
        self.meter, self.retained_meter = GrowthMeter(), GrowthMeter()
        """The growth of live tasks, and of done tasks that something still references."""
        self._memory = GroupMemory()
        self._recent: deque[Counted] = deque()  # within `RATE_SECONDS`, and one before
        self._shares = Shares()
        self._batch_began, self._batch_busy = clock.looped, 0.0
        self._reported = time
        self._left_logged = 0

    def update(self, report: GroupReport, time: float, clock: AgentTime, rss: int | None) -> None:
        """Record the result of a scan.

        Args:
            report: the figures, or the last report again if they have not changed.
            time: when the scan started, on the agent's clock.
            clock: that clock.
            rss: bytes of RSS of the process.
        """
        if report is not self.report or not self._recent:
            self._reported = time
            if report.durations:
                self._seldom = self._seldom.with_durations(report.durations)
        self.report = report
        live = report.live
        if live > self._highest or report.live_peak:
            self._highest = max(self._highest, live, report.live_peak or 0)
        recent = self._recent
        recent.append((time, report.created, report.ended))
        while len(recent) > 1 and recent[1][0] <= time - RATE_SECONDS:
            recent.popleft()
        if clock.looped - self._batch_began >= BATCH:
            seconds, self._batch_began = clock.looped - self._batch_began, clock.looped
            self._shares = self._shares.add((report.busy - self._batch_busy) / seconds)
            self._batch_busy = report.busy
        self.meter.add(time, live, report.created)
        if rss is not None and time >= self._memory.due:
            self._memory.add(time, live, rss)
        if report.retained or (report.retained is not None and self.retained_meter.is_measuring):
            self.retained_meter.add(time, report.retained, 0)
        self.moment = GroupMoment(
            report,
            self.function,
            clock,
            time,
            self._reported,
            self._highest,
            recent[0],
            recent[1] if len(recent) > 1 else recent[0],
            recent[-1],
            self._shares,
            self.meter.measured,
            self._memory.slope,
            self._seldom,
        )

    @property
    def grows(self) -> bool:
        """Whether its live tasks, or the done ones still referenced, grow without an explanation."""
        return self._is_plain or self.meter.leaks or self.retained_meter.leaks

    @property
    def _is_plain(self) -> bool:
        return self.meter.is_plain and not self._withdrawn

    def add_waits(self, waits: Waits, now: float) -> None:
        """Record where its tasks wait, and until when."""
        self.answered = True
        self._change(waits=waits, waits_time=now)
        wakeable = (waits.looked - waits.timed) * waits.wakeable / max(1, waits.sampled)
        bounded = waits.looked and waits.timed + wakeable >= BOUNDED * waits.looked
        self._timer = waits.until if bounded and waits.timed else None
        self._wakeable = bool(bounded and wakeable)

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
        mean_life = self.moment.mean_life
        if self.report.ended >= LEAST_ENDED * self.report.created and mean_life is not None:
            return min(LEAST_GROWTH, LIFETIMES * mean_life)
        return LEAST_GROWTH

    def withdraw(self) -> bool:
        """Take the verdict of a leak back if it no longer grows. Return whether that happened."""
        if not self.leak or self.grows or not (self.meter.is_level and self.retained_meter.is_level_or_empty):
            return False
        self.call_leak(False)
        self._withdrawn, self.asked_at = True, None
        return True

    @property
    def waits(self) -> Waits | None:
        """Where its tasks waited when the agent was last asked; None before."""
        return self._seldom.waits

    @property
    def leak(self) -> bool:
        """Whether it was found to grow without an explanation."""
        return self._seldom.leak

    def call_leak(self, leak: bool) -> None:
        """Set whether it was found to grow without an explanation."""
        self._change(leak=leak)

    def _change(self, **changes: object) -> None:
        """Change what seldom changes, in its moment, too."""
        self._seldom = structs.replace(self._seldom, **changes)
        self.moment = structs.replace(self.moment, seldom=self._seldom)

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
