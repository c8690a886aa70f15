"""How long the tasks of a group take: those that were timed, and all by Little's law."""

from typing import NamedTuple

from concwatch.links.agent_messages import GroupReport
from concwatch.monitor.statistics.histogram import Histogram
from concwatch.monitor.statistics.survival import Estimate, Survival

TIMED_TOO = 0.25
"""How far the number of ended tasks that the timed ones stand for may be from that of all."""


class Lifetimes(NamedTuple):
    """What is known of the lifetimes of a group's tasks at one moment."""

    report: GroupReport
    """The last report of the group."""
    durations: Histogram
    """How long its timed tasks took."""
    aged: float
    """Seconds between the scan whose result the report is and the last scan, which found no change."""
    observed: float
    """Seconds between the start of the agent and the last scan."""

    @property
    def survival(self) -> Survival:
        """How long its tasks take, from those that are timed."""
        return Survival(self.durations, [(age + self.aged, tasks) for age, tasks in self.report.timing])

    def mean(self) -> Estimate:
        """Return the mean life; it is at least the time observed if that is all that is known."""
        report = self.report
        if not report.ended or report.task_seconds is None:
            return Estimate(None, False)
        seconds = report.task_seconds + report.live * self.aged
        if abs(self.durations.count - report.ended) <= TIMED_TOO * report.ended:
            # By how much Little's law is wrong while tasks live is known of those that are timed.
            survival = self.survival
            mean = survival.mean()
            if mean.seconds and not mean.at_least:
                return Estimate(seconds / report.ended * mean.seconds / survival.lived_per_end, False)
        longer = seconds > self.observed * report.ended > 0
        return Estimate(self.observed if longer else seconds / report.ended, longer)
