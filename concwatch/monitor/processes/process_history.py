"""What is remembered of a watched process: its series, rates, peaks, and how late its event loops were."""

import math
from typing import Any

from concwatch.links.agent_messages import AgentTick
from concwatch.monitor.groups.group_moment import RATE_SECONDS
from concwatch.monitor.metrics.metric import MetricSource
from concwatch.monitor.metrics.metrics import Sample, blank_sample, copied
from concwatch.monitor.metrics.series import Series
from concwatch.monitor.processes.agent_reports import OF_TASKS
from concwatch.monitor.statistics.buckets import EMPTY
from concwatch.monitor.statistics.histogram import Histogram
from concwatch.monitor.statistics.rates import Trailing, finite
from concwatch.monitor.verdicts.throttling import ThrottledTime
from concwatch.system.process import Reading

BUSY_SECONDS = 2.0
"""Seconds over which the share of the loops' time in which tasks run is averaged."""

TASK_RATES = ("created_per_second", "completed_per_second", "created_mean", "completed_mean")


class ProcessHistory:
    """What the readings and ticks of one process leave, beyond the last of each.

    Args:
        number: the index of its lane.
    """

    def __init__(self, number: int) -> None:
        self.series = Series()
        self.sample: Sample = blank_sample(number, -math.inf)
        """The last one."""
        self.rss_first: int | None = None
        self.rss_peak: int | None = None
        self.cpu_seconds = 0.0
        self.threads_peak = 0
        self.throttled: float | None = None
        """The seconds for which a CPU quota has throttled it."""
        self.queued_peak: int | None = None
        self.live_peak: int | None = None
        self.lags = Histogram()
        self.lag_buckets = EMPTY
        """The same readings, as Prometheus gets them."""
        self._number = number
        self._created, self._ended, self._cpu = Trailing(1.0), Trailing(1.0), Trailing(1.0)
        self._created_mean, self._ended_mean = Trailing(RATE_SECONDS), Trailing(RATE_SECONDS)
        self._busy = Trailing(BUSY_SECONDS)
        self._throttled = ThrottledTime()

    def add_reading(self, reading: Reading, now: float) -> None:
        """Record the system's figures."""
        self.rss_first = self.rss_first or reading.rss
        self.rss_peak = max(self.rss_peak or 0, reading.rss, reading.peak_rss or 0)
        self.cpu_seconds = max(self.cpu_seconds, reading.cpu_seconds)
        self.threads_peak = max(self.threads_peak, reading.threads)
        self._cpu.add(now, reading.cpu_seconds)
        self.add_throttled(reading, now)

    def add_throttled(self, reading: Reading, now: float) -> None:
        """Record for how long a CPU quota has throttled the process."""
        self._throttled.add(now, reading)
        self.throttled = reading.throttled if reading.throttled is not None else self.throttled

    def throttled_within(self, seconds: float) -> float:
        """Return for how many of the ``seconds`` before the last reading it was throttled."""
        return self._throttled.within(seconds)

    def add_tick(self, tick: AgentTick) -> None:
        """Record the agent's figures."""
        self._busy.add(tick.looped or 0.0, tick.busy or 0.0)
        if tick.queued is not None:
            self.queued_peak = max(self.queued_peak or 0, tick.queued)
        if tick.live is not None:
            self.live_peak = max(self.live_peak or 0, tick.live, tick.live_peak or 0)
        for rate in (self._created, self._created_mean):
            rate.add(tick.time, tick.created)
        if tick.ended is not None and tick.scan_time is not None:
            for rate in (self._ended, self._ended_mean):
                rate.add(tick.scan_time, tick.ended)
        if tick.lag is not None:
            self.lags.add((tick.lag,))
            self.lag_buckets = self.lag_buckets.with_weighted(((tick.lag, 1),))

    def add_sample(self, reading: Reading, tick: AgentTick | None, stalled: float, now: float) -> None:
        """Add a sample to the series.

        Args:
            reading: the system's figures.
            tick: the agent's figures; None without an agent.
            stalled: for how many seconds the agent has not reported.
            now: the time in seconds.
        """
        reported: dict[str, Any] = {}
        if tick is not None:
            reported = copied(MetricSource.TICK, tick) | {
                "lag": tick.lag,
                "busy": None if not tick.looped else finite(self._busy.rate),
                "created_per_second": finite(self._created.rate),
                "completed_per_second": finite(self._ended.rate),
                "created_mean": finite(self._created_mean.rate),
                "completed_mean": finite(self._ended_mean.rate),
                "completed": tick.ended if tick.completed is None else tick.completed,
                "tick_time": tick.time,
                # As of the last scan, to be consistent with the live and ended tasks.
                "created": tick.created if tick.scan_created is None else tick.scan_created,
            }
            if tick.uncounted:
                reported |= dict.fromkeys(reported.keys() & {*OF_TASKS, "completed", *TASK_RATES})
        self._append(
            blank_sample(
                self._number,
                now,
                cpu=round(self._cpu.rate, 4) if self._cpu.span else reading.cpu,
                stalled=stalled,
                throttled_share=self._throttled.share,
                **copied(MetricSource.READING, reading),
                **reported,
            )
        )

    def add_end(self, now: float) -> None:
        """Add a sample without figures, because the process has ended."""
        self._append(blank_sample(self._number, now))

    def _append(self, sample: Sample) -> None:
        self.sample = sample
        self.series.append(sample)
