"""What is known of one worker since its start, by each tick and each look at its process."""

import math
from statistics import median
from typing import Any

from concwatch.lab.cost import CostMeter, CpuMeter
from concwatch.lab.histogram import Histogram
from concwatch.lab.rates import BestSecond, TickRates, Trailing
from concwatch.lab.snapshot import Sample, blank_sample
from concwatch.links.messages import BurstDone, Reached, Ready, Tick, contradiction
from concwatch.system.machine import Load
from concwatch.system.process import Reading

OF_READING = ("rss", "threads", "virtual", "cpu_seconds")
OF_TICK = (
    "live", "created", "completed", "failed", "cancelled", "queued", "gc", "traced", "tracer", "heap",
    "switches",
)  # fmt: skip
"""What a sample takes as it is from the last look at the process, and from the last tick."""

STALL = 1.0
"""Seconds without a tick, or that something in the worker is overdue, from which on it is stalled."""

MISSED = 3
"""Ticks that must be missing besides, so that a slow rate is no stall."""


def finite(value: float) -> float | None:
    """Return ``value``, or None where it is not a number."""
    return value if math.isfinite(value) else None


class Tally:
    """Adds up what one worker reports; time is passed in, in seconds."""

    def __init__(self, now: float, hz: float) -> None:
        self.born = now
        self.ready: Ready | None = None
        self.flags: tuple[str, ...] = ()
        """What shapes the worker's figures besides its runtime, in its own words."""
        self.tick: Tick | None = None
        self.tick_at = now
        self.reading: Reading | None = None
        self.meter = CostMeter()
        self.live = self.peak_live = 0
        """Tasks live by the newest report, and the most so far."""
        self.best = BestSecond()
        self.longest_stall: float | None = None
        self.stop_seconds: float | None = None
        self.create_rate: float | None = None
        self.create_seconds: float | None = None
        self.create_others: float | None = None
        """Of the creation of the last target: tasks a second, seconds, share of the cores that others had."""
        self.burst: BurstDone | None = None
        self.others: float | None = None
        """Share of the cores that other programs and lanes have had of late."""
        self.untouched = True
        """Whether no task has been asked for yet."""
        self._interval = 1 / hz
        self._cpu = CpuMeter()
        self._rates = TickRates(self._interval)
        self._switches = Trailing(1.0)
        self._used = Trailing(1.0)  # the system counts CPU time in hundredths of a second
        self.lags, self.durations, self.delays = Histogram(), Histogram(), Histogram()
        self._duration: float | None = None  # the median of those in the last tick that had any
        self._unjudged: Reading | None = None  # taken since the last tick

    def add_tick(self, tick: Tick, now: float, asked: bool, reached: Reached | None = None) -> str | None:
        """Take the next tick, or return what cannot be in it.

        Args:
            tick: as it came.
            now: when it came.
            asked: whether tasks are asked for.
            reached: the report of a target that came since the tick before, if one did.
        """
        wrong = contradiction(self.tick, tick)
        if wrong:
            return wrong
        before, self.tick, self.tick_at = self.tick or tick, tick, now
        self._rates.add(tick, reached)
        self.best.add(tick.time, tick.completed)
        if tick.switches is not None:
            self._switches.add(tick.time, tick.switches)
        if before.live or before.created != tick.created:  # of an idle worker no lag counts
            self.lags.add((tick.lag,))
            self.longest_stall = max(self.longest_stall or 0.0, tick.lag)
        self.durations.add(tick.durations or ())
        if tick.durations:
            self._duration = float(f"{median(tick.durations):.3g}")
        if not tick.live:
            self._duration = None
        self.delays.add(tick.delays or ())
        self.count_live(tick.live)
        if self._unjudged is not None:
            # Only of a reading between two ticks is it known whether tasks came or went about then.
            self.meter.add(self._unjudged.rss, tick)
            self._unjudged = None
        if self.reading is not None:
            self._cpu.add(tick, self.reading, asked)
        return None

    def count_live(self, live: int) -> None:
        """Note how many tasks are live."""
        self.live, self.peak_live = live, max(self.peak_live, live)

    def add_reading(self, reading: Reading) -> None:
        """Take a look at the process."""
        self.reading = self._unjudged = reading

    def take_baseline(self, reading: Reading | None) -> None:
        """Take the process as it is before the first task."""
        if reading is not None:
            self.meter.baseline(reading, self.tick.traced if self.tick else None)

    def workload_changed(self) -> None:
        """Note that tasks do something else from now on."""
        self.meter.changed(not self.untouched)
        self._cpu.changed()
        self.durations, self.delays, self._duration = Histogram(), Histogram(), None

    def grew(self, reached: Reached, before: tuple[Load, float] | None, now: tuple[Load, float]) -> None:
        """Note how fast a target was created, and what share of the cores others had meanwhile.

        ``before`` and ``now`` are the load of the machine, and the CPU seconds of the worker.
        """
        self.create_seconds = reached.seconds
        self.create_rate = reached.created / max(reached.seconds, 1e-6)
        self.create_others = now[0].others_since(before[0], now[1] - before[1]) if before else None

    def stalled_for(self, now: float) -> float:
        """Return the seconds that it has been silent, or something in it overdue; 0 when all is well."""
        silence = now - self.tick_at
        overdue = self.tick.lag if self.tick else 0.0
        stalled = overdue >= STALL or silence >= max(STALL, MISSED * self._interval)
        return max(silence, overdue) if stalled else 0.0

    def sample(self, now: float, lane: int, stalled: float) -> Sample:
        """Return what is known now; rates since the last sample."""
        reading, tick = self.reading, self.tick
        if reading is not None:
            self._used.add(now, reading.cpu_seconds)
        created, completed = self._rates.take(now)
        known: dict[str, Any] = {name: getattr(reading, name, None) for name in OF_READING}
        known |= {name: getattr(tick, name, None) for name in OF_TICK}
        return blank_sample(
            lane,
            now,
            **known,
            **self._cost(),
            created_per_second=finite(created),
            completed_per_second=finite(completed),
            completed_mean=finite(self._rates.mean_completed),
            switches_per_second=finite(self._switches.rate),
            lag=max(tick.lag, now - self.tick_at - self._interval) if tick else None,
            tick_time=tick.time if tick else None,
            stalled=stalled,
            cpu=round(self._used.rate, 4) if self._used.span else reading.cpu if reading else None,
            cpu_per_task=self._cpu.per_task,
            others=self.others,
            duration=self._duration,
        )

    def _cost(self) -> dict[str, Any]:
        cost = self.meter.cost
        if cost is None:
            return {}
        return {"rss_per_task": cost.rss, "traced_per_task": cost.traced, "measured_live": cost.live}

    def last_sample(self, now: float, lane: int) -> Sample:
        """Return the sample of a worker that has ended: only what a task has cost is known all the same."""
        self.reading = self.tick = None
        self.live = 0
        return blank_sample(lane, now, **self._cost())

    def status(self) -> dict[str, Any]:
        """Return the fields of a `LaneStatus` that the worker has reported, or that are derived from it."""
        ready, idle, cost = self.ready, self.meter.idle, self.meter.cost
        own = ("create_rate", "create_seconds", "create_others", "stop_seconds", "longest_stall", "peak_live")
        return {
            **{name: getattr(self, name) for name in (*own, "flags", "born", "burst")},
            "completion_rate": self.best.best,
            "wake_lag_p99": self.lags.quantile(0.99),
            "start_delay_p99": self.delays.quantile(0.99),
            "duration_p50": self.durations.quantile(0.5),
            "duration_p99": self.durations.quantile(0.99),
            "peak_rss": self.reading.peak_rss if self.reading else None,
            "idle_rss": idle.rss if idle else None,
            "idle_virtual": idle.virtual if idle else None,
            "idle_traced": self.meter.idle_traced,
            "runtime": ready.runtime if ready else None,
            "pid": ready.pid if ready else None,
            "can": ready.can if ready else (),
            "tracing": cost.tracing if cost else self.tick is not None and self.tick.traced is not None,
            "clean": cost is not None and cost.clean,
        }
