"""What the agent of a watched process has reported: its tasks by group, and what else it holds."""

import math
from operator import attrgetter

from msgspec import structs

from concwatch.links.agent_messages import AgentTick, Finished, GroupReport, Groups, Waits
from concwatch.monitor.groups.group import Group
from concwatch.monitor.groups.group_moment import AgentTime, GroupMoment
from concwatch.monitor.groups.resources import Resources
from concwatch.monitor.verdicts.events import EventSink

AGED = 0.5
"""Seconds after which the ages of tasks in a snapshot are recomputed."""

COUNTS = ("created", "live", "ended", "failed", "retained", "left_over", "destroyed")
"""The counts of a process that are sums over its groups."""

OF_TASKS = (*COUNTS, "live_peak", "live_at_end")
"""The figures that are unknown if the agent cannot count the tasks of a process."""

_counts_of = attrgetter(*COUNTS)


class AgentReports:
    """The figures of one agent as of its last tick and scan. Times are in seconds of the agent's clock.

    Args:
        log: adds an event.
    """

    def __init__(self, log: EventSink) -> None:
        self.tick: AgentTick | None = None
        """The last one."""
        self.groups: dict[int, Group] = {}
        """By the agent's number of the group."""
        self.resources = Resources()
        """Its threads, executor queues and open files."""
        self.leaks = 0
        """Groups that leak, as of the last verdicts on them."""
        self.misses_tasks = False
        """Whether tasks of a group were not counted at creation."""
        self._log = log
        self._clock = AgentTime()
        self._changed: dict[int, GroupReport] = {}  # of a scan that is not completely reported yet
        self._scanned = -math.inf
        self._moments: tuple[GroupMoment, ...] | None = None  # None if they have changed
        self._counts: dict[str, int | None] = {}
        """The sums of `COUNTS` over the groups; empty until computed."""

    @property
    def live(self) -> int | None:
        """The live tasks; None if they are unknown."""
        return self.tick.live if self.tick else None

    @property
    def uncounted(self) -> str:
        """Why the tasks of the process are not counted; empty if they are."""
        return self.tick.uncounted if self.tick else ""

    def add_tick(self, tick: AgentTick, rss: int | None, began: float | None) -> None:
        """Record a tick.

        Args:
            tick: the figures.
            rss: RSS of the process in bytes.
            began: when the agent started; None if unknown.
        """
        if tick.uncounted and not self.uncounted:
            self._log(f"tasks are unknown: {tick.uncounted}", "info", "agent")
        self.tick = tick
        self._clock = self._clock._replace(now=tick.time)
        # Groups that have not changed are not reported again; keep their rates and growth up to date.
        if tick.groups_time is not None and tick.groups_time > self._scanned:
            self._update_groups(tick.groups_time, rss, began)
        self._clock = AgentTime(self._clock.now, tick.looped or 0.0, tick.covered or 0.0)
        self.resources.update(tick)

    def add_groups(self, found: Groups, rss: int | None, began: float | None) -> None:
        """Record groups that have changed, or a part of them; see `add_tick` for the arguments."""
        self._changed.update({report.group: report for report in found.groups})
        if not found.more:
            self._update_groups(found.time, rss, began)

    def _update_groups(self, time: float, rss: int | None, began: float | None) -> None:
        """Update all groups as of a scan at ``time``; those that were not reported have not changed."""
        self._scanned = time
        self._clock = self._clock._replace(now=max(self._clock.now, time))
        self._moments = None
        reports, self._changed = self._changed, {}
        if reports:
            self._counts = {}
        self.misses_tasks = self.misses_tasks or any(report.direct for report in reports.values())
        for number, report in reports.items():
            if number not in self.groups:
                self.groups[number] = Group(report, time, self._clock, began)
        for number, group in self.groups.items():
            report = reports.get(number, group.report)
            group.update(report, time, self._clock, rss)
            if report.left_over and (text := group.left_text()):
                self._log(text, "warning", "left_over", place=group.place)

    def add_waits(self, waits: Waits) -> None:
        """Record where the tasks of a group wait."""
        if waits.group in self.groups:
            self.groups[waits.group].add_waits(waits, self._clock.now)
            self._moments = None

    def add_finished(self, found: Finished) -> None:
        """Record what holds the ended tasks of a group."""
        if found.group in self.groups:
            self.groups[found.group].finished.add_held(found)

    def add_verdicts(self, new: bool) -> None:
        """Record the verdicts on the groups; ``new`` is whether there is one."""
        if new:
            self._moments = None
        self.leaks = sum(group.leaks for group in self.groups.values())

    def growing_tasks(self) -> list[str]:
        """Return the names of the groups whose live or ended tasks grow."""
        verdicts = [verdict for group in self.groups.values() for verdict in (group, group.finished)]
        return [verdict.label for verdict in verdicts if verdict.verdict or verdict.rises]

    def counts(self, tick: AgentTick) -> dict[str, int | None]:
        """Return the sums over the groups, all as of one scan; before the first, the counts of a tick."""
        found = self._counts
        if not found:
            columns = zip(*[_counts_of(group.report) for group in self.groups.values()], strict=True)
            found = {name: getattr(tick, name) for name in COUNTS}
            for name, counts in zip(COUNTS, columns, strict=False):
                known = [count for count in counts if count is not None] if None in counts else counts
                if known:
                    found[name] = sum(known)
            self._counts = found if self.groups else {}
        return found

    def aged_moments(self) -> tuple[GroupMoment, ...]:
        """Return the groups, with the ages of their tasks as of the last tick."""
        return tuple([structs.replace(group.moment, clock=self._clock) for group in self.groups.values()])

    def moments(self) -> tuple[GroupMoment, ...]:
        """Return the groups; the same objects as before unless their figures or ages have changed."""
        found = self._moments
        if found is None:
            found = tuple([group.moment for group in self.groups.values()])
        if found and self._clock.now >= found[0].clock.now + AGED:
            found = self.aged_moments()
        self._moments = found
        return found
