"""Statistics of one worker since its start, from its ticks and from readings of its process."""

from collections.abc import Callable
from typing import Any

from msgspec import structs

from concwatch.links.messages import Block, BurstDone, Failure, Reached, Ready, Tick, contradiction
from concwatch.monitor.metrics.metric import MetricSource
from concwatch.monitor.metrics.metrics import Sample, blank_sample, copied
from concwatch.monitor.statistics.rates import BestSecond, TickRates, Trailing, finite
from concwatch.monitor.verdicts.blocks import BlockedPlaces
from concwatch.monitor.verdicts.events import EventSink, ignored
from concwatch.monitor.verdicts.throttling import ThrottledTime
from concwatch.monitor.workers.cost import KERNEL_PARTS, Cost, CostMeter, CpuMeter
from concwatch.monitor.workers.creation import Creation
from concwatch.monitor.workers.task_times import TaskTimes
from concwatch.system.process import Reading

STALL = 1.0
"""Seconds without a tick, or of lag in the worker, after which it counts as stalled."""

MISSED = 3
"""Ticks that must be missing as well, so that a slow rate is no stall."""


class WorkerStats:
    """Accumulates the reports of one worker; time is passed in, in seconds.

    Args:
        now: when it was started.
        hz: samples per second.
        log: adds an event.
    """

    def __init__(self, now: float, hz: float, log: EventSink = ignored) -> None:
        self.born = now
        self._log = log
        self.ready: Ready | None = None
        self.flags: tuple[str, ...] = ()
        """Settings of its runtime that affect the figures, as the worker reports them."""
        self.tick: Tick | None = None
        self.tick_at = now
        self.reading: Reading | None = None
        self.meter = CostMeter()
        self.live = self.peak_live = 0
        """Live tasks in the last report, and the most so far."""
        self.idle_heap: int | None = None
        """Bytes of live objects by the runtime's own count before the first task."""
        self.best = BestSecond()
        self.stop_seconds: float | None = None
        self.creation = Creation()
        self.burst: BurstDone | None = None
        self.others: float | None = None
        """Share of the cores that other programs and lanes used in the last second."""
        self.untraced: Cost | None = None
        """What a task costs in a worker that is not traced, if that has been measured."""
        self.trial_due = False
        """Whether that is going to be measured."""
        self.untouched = True
        """Whether no target has been set yet."""
        self._interval = 1 / hz
        self._cpu = CpuMeter()
        self._rates = TickRates(self._interval)
        self._switches = Trailing(1.0)
        self._used = Trailing(1.0)  # the system counts CPU time in hundredths of a second
        self.throttled = ThrottledTime()
        self.times = TaskTimes()
        self.blocks = BlockedPlaces(self._log)
        """What has blocked its event loop while its tasks ran a function of the user."""
        self.failures: tuple[Failure, ...] = ()
        """The failed tasks of the workload, by kind."""
        self.paired = (0, 0)
        """Bytes of memory and live tasks of the same moment, or nearly so."""
        self._unpaired: Reading | None = None  # since the last tick
        self._outdated: Reading | None = None

    def add_tick(
        self, tick: Tick, now: float, has_target: bool, reached: Reached | None = None
    ) -> str | None:
        """Add a tick; return what contradicts the previous one, or None if it is valid.

        Args:
            tick: the tick.
            now: when it was received.
            has_target: whether the target is above 0.
            reached: the report of a target that was received since the previous tick, if any.
        """
        wrong = contradiction(self.tick, tick)
        if wrong:
            return wrong
        before, self.tick, self.tick_at = self.tick or tick, tick, now
        if tick.failures is not None:
            self.failures = tick.failures
        self._rates.add(tick, reached)
        self.best.add(tick.time, tick.completed)
        if tick.switches is not None:
            self._switches.add(tick.time, tick.switches)
        self.times.add(tick, before)
        self.set_live(tick.live)
        if self._unpaired is not None:
            # Only for a reading between two ticks it is known whether tasks started or ended around it.
            self.meter.add(self._unpaired, tick)
            self.paired = self._unpaired.memory, tick.live
            self._unpaired = None
        if self.reading is not None:
            self._cpu.add(tick, self.reading, has_target)
        return None

    @property
    def rss(self) -> int:
        """Bytes of RSS in the last reading; 0 without a worker."""
        return self.reading.rss if self.reading else 0

    def set_live(self, live: int) -> None:
        """Set the number of live tasks."""
        self.live, self.peak_live = live, max(self.peak_live, live)

    def add_reading(self, reading: Reading) -> None:
        """Record a reading of the process."""
        self.reading = self._unpaired = reading

    def note_reached(self, live: int, last: Reading | None) -> None:
        """Record that granted tasks have been created: their memory is in the reading after ``last``."""
        self.set_live(live)
        self._outdated = last

    @property
    def is_read(self) -> bool:
        """Whether the last reading is of after that. One of a process on another host arrives later."""
        return self.reading is None or self.reading is not self._outdated

    def add_block(self, block: Block, now: float, read: Callable[[], Reading | None]) -> None:
        """Record what has blocked its event loop; ``read`` reads how long the process was throttled."""

        def throttled_within(seconds: float) -> float:
            reading = read()
            if reading is not None:
                self.throttled.add(now, reading)
            return self.throttled.within(seconds)

        self.blocks.add(block, throttled_within)
        self.blocks.ended.clear()

    def set_baseline(self, reading: Reading | None) -> None:
        """Set the baseline: a reading of the process before the first task."""
        if reading is not None:
            self.meter.set_baseline(reading, self.tick.traced if self.tick else None)
            self.idle_heap = self.tick.heap if self.tick else None

    def reset_workload(self) -> None:
        """Discard what is known about tasks, since the workload has changed."""
        self.meter.reset(not self.untouched)
        self._cpu.reset()
        self.blocks = BlockedPlaces(self._log)
        self.failures = ()
        self.times.reset(self.tick)

    def stalled_for(self, now: float) -> float:
        """Return for how many seconds the worker has been silent or lagging; 0 if it is not stalled."""
        silence = now - self.tick_at
        lag = self.tick.lag if self.tick else 0.0
        stalled = lag >= STALL or silence >= max(STALL, MISSED * self._interval)
        return max(silence, lag) if stalled else 0.0

    def sample(self, now: float, lane: int, stalled: float) -> Sample:
        """Return a sample at ``now``, with the rates since the last sample."""
        reading, tick = self.reading, self.tick
        if reading is not None:
            self._used.add(now, reading.cpu_seconds)
            self.throttled.add(now, reading)
        created, completed = self._rates.read(now)
        created_mean, completed_mean = self._rates.means
        return blank_sample(
            lane,
            now,
            **copied(MetricSource.READING, reading),
            **copied(MetricSource.TICK, tick),
            **self._cost(),
            created_per_second=finite(created),
            completed_per_second=finite(completed),
            created_mean=finite(created_mean),
            completed_mean=finite(completed_mean),
            switches_per_second=finite(self._switches.rate),
            lag=max(tick.lag, now - self.tick_at - self._interval) if tick else None,
            tick_time=tick.time if tick else None,
            stalled=stalled,
            cpu=round(self._used.rate, 4) if self._used.span else reading.cpu if reading else None,
            cpu_per_task=self._cpu.per_task,
            others=self.others,
            throttled_share=self.throttled.share,
            duration=self.times.duration(tick, self.live, self.peak_live),
        )

    @property
    def cost(self) -> Cost | None:
        """What a task costs: if this worker is traced, in one that is not, if that is or will be measured."""
        own = self.meter.cost
        if own is None or not own.tracing:
            return own
        if self.untraced is None:
            return None if self.trial_due else own
        return structs.replace(self.untraced, traced=own.traced, live=own.live)

    @property
    def _tracing(self) -> bool:
        own = self.meter.cost
        return own.tracing if own else self.tick is not None and self.tick.traced is not None

    def _cost(self) -> dict[str, Any]:
        cost = self.cost
        if cost is None:
            return {}
        kernel = {f"{part}_per_task": getattr(cost, part) for part in KERNEL_PARTS}
        return {
            "rss_per_task": cost.rss,
            **kernel,
            "traced_per_task": cost.traced,
            "measured_live": cost.live,
        }

    def last_sample(self, now: float, lane: int) -> Sample:
        """Return the sample of a worker that has ended: only the cost of its tasks is still known."""
        self.reading = self.tick = None
        self.live = 0
        return blank_sample(lane, now, **self._cost())

    def status(self) -> dict[str, Any]:
        """Return the fields of a `LaneStatus` that come from the worker."""
        ready, idle, cost = self.ready, self.meter.idle, self.cost
        own = ("stop_seconds", "peak_live", "flags", "born", "burst", "failures")
        return {
            **{name: getattr(self, name) for name in own},
            **structs.asdict(self.creation),
            **self.times.status(),
            "completion_rate": self.best.best,
            # The system counts its peak and its present value apart, and not exactly.
            "peak_rss": max(self.reading.peak_rss, self.reading.rss) if self.reading else None,
            "idle_rss": idle.rss if idle else None,
            "idle_kernel": idle.kernel if idle else None,
            "idle_virtual": idle.virtual if idle else None,
            "idle_traced": self.meter.idle_traced,
            "runtime": ready.runtime if ready else None,
            "pid": ready.pid if ready else None,
            "can": ready.can if ready else (),
            "objects_known": self.reading.objects_known if self.reading else "",
            "cpu_quota": self.reading.cpu_quota if self.reading else None,
            "tracing": self._tracing,
            "traced_cost": cost is not None and cost.tracing,
            "clean": cost is not None and cost.clean,
            "rss_moves": cost is not None and cost.moves,
            "cpu_so_far": self._cpu.per_task is not None and not self._cpu.life_known,
        }
