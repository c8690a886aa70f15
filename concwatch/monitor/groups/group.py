"""The tasks of one coroutine function in one watched process, over time."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from msgspec import structs

from concwatch.links.agent_messages import GroupReport, HeldValue, WaitPlace, Waits
from concwatch.monitor.groups.group_memory import GroupMemory
from concwatch.monitor.groups.group_moment import (
    BATCH,
    RATE_SECONDS,
    AgentTime,
    Counted,
    GroupMoment,
    Seldom,
    Shares,
)
from concwatch.monitor.metrics.group_status import Function
from concwatch.monitor.verdicts.events import Place
from concwatch.monitor.verdicts.growth import LEAST_ENDED, GrowthMeter
from concwatch.monitor.verdicts.growth_verdict import GrowthEvent, GrowthVerdict
from concwatch.monitor.verdicts.holders import kept_text
from concwatch.monitor.verdicts.leak_rule import (
    NOT_KNOWN,
    GracePeriod,
    ending_of_tasks,
    grace_period,
)
from concwatch.portable.protocol.text import short_place
from concwatch.portable.protocol.units import counted, format_count

SAME_TASK = 2.0
"""Seconds by which the creation of a task may seem to differ, as scans take some time."""


class FinishedTasks(GrowthVerdict):
    """The verdict on the ended tasks of a group that are still referenced."""

    def __init__(self, name: str, place: Place) -> None:
        super().__init__()
        self._name, self._place = name, place
        self._held: HeldValue | None = None
        self._all = GrowthMeter()

    def add_held(self, held: HeldValue) -> None:
        """Record what holds them."""
        self._held, self.is_answered = held, True

    @property
    def is_held_known(self) -> bool:
        """Whether it is known what holds them, or that nothing was found."""
        return self._held is not None

    def add(self, time: float, finished: int, live: int) -> None:
        """Add a reading: how many ended tasks are still referenced, and how many tasks are live."""
        self.meter.add(time, finished, 0)
        self._all.add(time, finished + live, 0)

    @property
    def is_evident(self) -> bool:
        """Whether their number rises steadily, other than by the tasks of one batch ending in turn."""
        return self.meter.rises_evenly and self._all.rises_evenly

    @property
    def place(self) -> Place:
        """Where the function of the group is defined."""
        return self._place

    @property
    def label(self) -> str:
        """What they are, with the name of the group."""
        return f"ended tasks of {self._name}"

    def text(self) -> str:
        """Return the name of the group, how fast their number grows, and what holds them."""
        rate = self.meter.growth.text(format_count) if self.meter.growth else ""
        held = kept_text(self._held) if self._held else ""
        return f"{self._name}: ended tasks are still referenced; their number grows{rate}{held}"

    def grace_period(self, sockets: int) -> GracePeriod:
        """Return what may end the growth."""
        return grace_period("ended tasks")


class Group(GrowthVerdict):
    """The figures of one group over time, and the verdict on them. Times are in seconds of the agent's clock.

    Args:
        report: its first report.
        time: when the scan of this report started.
        clock: the agent's clock at that time.
        began: when the agent started; None if unknown.
    """

    def __init__(
        self, report: GroupReport, time: float, clock: AgentTime, began: float | None = None
    ) -> None:
        super().__init__()
        self.moment: GroupMoment
        """Its figures as of the last scan; immutable."""
        self.report = report
        self.function: Function = (report.name, report.file, report.line)
        """Its function."""
        self._seldom = Seldom(time if began is None else began, waits_time=time)
        self._ending = NOT_KNOWN
        self._highest = 0
        self._oldest: float | None = None
        """When its oldest known task was created, on the agent's clock; None without one."""
        self._longest_life = 0.0
        """The longest time for which a task that has ended is known to have lived, in seconds."""
        self.finished = FinishedTasks(self.label, self.place)
        self._memory = GroupMemory()
        self._recent: deque[Counted] = deque()  # within `RATE_SECONDS`, and one before that
        self._shares = Shares()
        self._batch_began, self._batch_busy = clock.looped, 0.0
        self._reported = time
        self._left_logged = 0

    def update(self, report: GroupReport, time: float, clock: AgentTime, rss: int | None) -> None:
        """Record the result of a scan.

        Args:
            report: the figures; the previous report if they have not changed.
            time: when the scan started, on the agent's clock.
            clock: the agent's clock.
            rss: RSS of the process in bytes.
        """
        if report is not self.report or not self._recent:
            self._note_oldest(report.oldest, time)
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
        finished = report.kept if report.retained is None else report.retained
        if finished or (finished is not None and self.finished.meter.is_measuring):
            self.finished.add(time, finished, live)
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

    def _note_oldest(self, age: float | None, time: float) -> None:
        """Record how long the task that was the oldest one has lived, if it has ended since."""
        oldest = None if age is None else time - age
        if self._oldest is not None and (oldest is None or oldest > self._oldest + SAME_TASK):
            self._longest_life = max(self._longest_life, self._reported - self._oldest)
        self._oldest = oldest

    @property
    def grows(self) -> bool:
        """Whether growth of its live or ended tasks was reported, and not withdrawn."""
        return super().grows or self.finished.grows

    @property
    def leaks(self) -> bool:
        """Whether a leak of its live or ended tasks was reported, and not withdrawn."""
        return super().leaks or self.finished.leaks

    @property
    def is_evident(self) -> bool:
        """Whether the number of its live tasks has risen steadily while none has ended."""
        return self.meter.is_evident

    def add_waits(self, waits: Waits, now: float) -> None:
        """Record where its tasks wait, and for how long at most."""
        self.is_answered = True
        self._change(waits=waits, waits_time=now)
        self._ending = ending_of_tasks(waits)

    def grace_period(self, sockets: int) -> GracePeriod:
        """Return how long its growth must last to be called a leak, and what may end its tasks until then."""
        report = self.report
        mean_life = self.moment.figure("mean_life") if report.ended >= LEAST_ENDED * report.created else None
        return grace_period("tasks", self._ending, self.meter.rise, sockets, mean_life, self._longest_life)

    def judge_tasks(
        self, now: float, sockets: int, ask: Callable[[], object], ask_finished: Callable[[], object]
    ) -> Iterator[GrowthEvent]:
        """Yield the events of new verdicts on its live and ended tasks; see `judge` for the arguments."""
        ask_held = None if self.finished.is_held_known else ask_finished
        for event in (self.judge(now, sockets, ask), self.finished.judge(now, ask=ask_held)):
            if event is not None:
                self._change(grows=self.grows, leak=self.leaks)
                yield event

    @property
    def waits(self) -> Waits | None:
        """Where its tasks waited when the agent last answered; None before it has."""
        return self._seldom.waits

    def _change(self, **changes: object) -> None:
        """Change figures that seldom change, also in the current moment."""
        self._seldom = structs.replace(self._seldom, **changes)
        self.moment = structs.replace(self.moment, seldom=self._seldom)

    @property
    def awaited(self) -> str:
        """What most of its tasks wait for, as far as that is known."""
        return self.waits.waits[0].on if self.waits and self.waits.waits else ""

    def left_text(self) -> str:
        """Return how many tasks are left over, and what created most of them.

        Empty until there are ten times as many as when they were last logged.
        """
        report = self.report
        left = report.left_over or 0
        if not left or left < 10 * self._left_logged:
            return ""
        self._left_logged = left
        line = report.left_lines[0].line if report.left_lines else ""
        created = f", created at {short_place(line)}" if line else ""
        return f"{self.label}: {counted(left, 'task')} left over when the main coroutine ended{created}"

    @property
    def place(self) -> Place:
        """Where its function is defined."""
        return Place.at(*self.function)

    @property
    def label(self) -> str:
        """The name of its function, and where that is defined."""
        return with_place(*self.function)

    def text(self) -> str:
        """Return how fast the number of its live tasks grows, and where most of them wait."""
        rate = self.meter.growth.text(format_count) if self.meter.growth else ""
        return f"{self.label} grows{rate}{most_wait_at(self.waits.waits if self.waits else ())}"


def with_place(name: str, file: str, line: int) -> str:
    """Return a function's name, and where it is defined if known: ``login (app/views.py:12)``."""
    return f"{name} ({short_place(file)}:{line})" if file else name


def most_wait_at(waits: Sequence[WaitPlace]) -> str:
    """Return where most tasks wait, to be appended to a sentence; empty if unknown."""
    if not waits:
        return ""
    most = waits[0]
    text = f"; {format_count(most.tasks)} wait at {short_place(most.where)}"
    return f"{text} for {most.on}" if most.on else text
