"""How long the tasks of a worker took, how late they started, and how late its event loop was."""

from typing import Any

from concwatch.links.messages import Tick
from concwatch.monitor.statistics.histogram import Histogram
from concwatch.monitor.workers.timed_tasks import TimedTasks

GENERATION = 1.5
"""Ends by the most tasks live at once after which even the longest of the first tasks have ended."""


class TaskTimes:
    """The times that the ticks of one worker report."""

    def __init__(self) -> None:
        self.timed = TimedTasks()
        """How long the tasks of the workload took."""
        self._lags, self._delays = Histogram(), Histogram()
        self._longest_stall: float | None = None
        self._duration: float | None = None  # the median in the last tick that reported any
        self._ended_before = 0  # tasks of earlier workloads that have ended

    def add(self, tick: Tick, before: Tick) -> None:
        """Add a tick, given the one before."""
        if before.live or before.created != tick.created:  # the lag of an idle worker does not count
            self._lags.add((tick.lag,))
            self._longest_stall = max(self._longest_stall or 0.0, tick.lag)
        # A pool cancels those that are queued before those that run.
        cancelled = max(0, tick.cancelled - before.cancelled - before.queued)
        self.timed.add(
            tick.time,
            len(tick.delays or ()),
            tick.durations or (),
            tick.live,
            queued=tick.queued,
            completed=tick.completed - before.completed,
            lost=tick.failed - before.failed + cancelled,
        )
        if tick.durations:
            from statistics import median  # not needed for the first frame

            self._duration = float(f"{median(tick.durations):.3g}")
        if not tick.live:
            self._duration = None
        self._delays.add(tick.delays or ())

    def reset(self, tick: Tick | None) -> None:
        """Discard what is known about tasks, since the workload has changed; ``tick`` is the last one."""
        self._delays, self._duration = Histogram(), None
        self.restart(tick)
        self._ended_before = tick.completed + tick.failed if tick else 0

    def restart(self, tick: Tick | None) -> None:
        """Discard how long tasks took, because those that begin now may take another time."""
        self.timed = TimedTasks(tick.time, tick.live) if tick else TimedTasks()

    def duration(self, tick: Tick | None, live: int, peak_live: int) -> float | None:
        """Return the median duration of tasks that have just ended.

        None until all tasks have ended once: those that end first are the shortest.
        """
        ended = tick.completed + tick.failed - self._ended_before if tick else 0
        return None if live > 0 and 0 < ended < GENERATION * peak_live else self._duration

    def status(self) -> dict[str, Any]:
        """Return the fields of a `LaneStatus` that are times of tasks."""
        median, p99 = self.timed.quantile(0.5), self.timed.quantile(0.99)
        return {
            "longest_stall": self._longest_stall,
            "wake_lag_p99": self._lags.quantile(0.99),
            "start_delay_p99": self._delays.quantile(0.99),
            "duration_p50": median.seconds,
            "duration_p99": p99.seconds,
            "durations_so_far": median.at_least,
            "duration_p99_so_far": p99.at_least,
        }
