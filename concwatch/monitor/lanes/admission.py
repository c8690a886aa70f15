"""Admission control stops growth before workers use more memory than their budget or the machine has."""

from collections.abc import Callable, Sequence

from msgspec import structs

from concwatch.monitor.lanes.forecast import IDLE, Demand, Forecast, demand, fit, forecast
from concwatch.monitor.lanes.lane import Lane
from concwatch.monitor.metrics.fit import Fit
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.state import ACTIVE
from concwatch.monitor.verdicts.events import EventSink
from concwatch.portable.machine.limits import SystemLimit
from concwatch.portable.protocol.units import format_bytes, format_count, format_percent
from concwatch.system.memory import BUDGET, RESERVED, MemoryBudget

IDLE_INTERVAL = 1.0
"""Seconds between two readings of the machine's memory while nothing grows."""

FASTEST = 2 << 30
"""The approximate maximum of bytes that tasks can allocate per second."""

SHORTEST, LONGEST = 0.02, 0.1
"""Seconds between two steps while tasks grow: close to the budget, and far from it."""

AHEAD = 4
"""Steps that the remaining memory lasts at `FASTEST`."""

SURE = 0.7
"""Share of the remaining memory up to which a forecast is granted at once."""

GRANTED = 0.5
"""Share of the remaining memory that is granted otherwise, before the real usage is read again."""

GRANTABLE = 0.99
"""Share of the room that tasks are granted for."""

SPENT = 0.01
"""Share of the budget that is too small for another grant."""

RELEASE_LIMIT = 5.0
"""Seconds that a stopped worker has to free its memory before another one is stopped."""


class Capacity:
    """Compares what lanes use, and would use, with the memory budget and the limits on threads.

    ``limits`` returns these limits as they were with no task live, ``settings`` the common settings.
    """

    def __init__(
        self,
        lanes: Sequence[Lane],
        budget: MemoryBudget,
        limits: Callable[[], Sequence[SystemLimit]],
        settings: Callable[[], Settings],
    ) -> None:
        self.budget = budget
        self._limits = limits
        self._lanes = lanes
        self._settings = settings
        self._demands: dict[tuple[Lane, bool], tuple[tuple[object, ...], Demand]] = {}
        self._fits: dict[Lane, tuple[object, Fit]] = {}

    @property
    def limits(self) -> Sequence[SystemLimit]:
        """The limits on threads, as they were with no task live."""
        return self._limits()

    @property
    def used(self) -> int:
        """Bytes of memory of all workers together, RSS and kernel."""
        return sum(lane.memory for lane in self._lanes)

    @property
    def left(self) -> float:
        """Bytes that workers may take in addition."""
        return self.budget.room - self.used

    @property
    def rss(self) -> int:
        """Bytes of RSS of all workers together."""
        return sum(lane.worker.stats.rss for lane in self._lanes)

    def demand(self, lane: Lane, untraced: bool = False) -> Demand:
        """Return the memory of a lane's worker as a function of its tasks; ``untraced``: as if not traced."""
        stats, settings = lane.worker.stats, self._settings()
        idle = stats.meter.idle if lane.on else None
        if untraced and settings.trace:
            settings = structs.replace(settings, trace=False)
        arguments = settings, self.limits, stats.cost if untraced else stats.meter.cost
        known = self._demands.get((lane, untraced))
        if known is None or known[0] != arguments:
            self._demands[lane, untraced] = known = arguments, demand(lane.engine, *arguments)
        now = lane.memory if lane.on else 0
        return structs.replace(known[1], idle=idle.memory if idle else IDLE, now=now)

    def forecast(self, lane: Lane, tasks: int) -> Forecast:
        """Return the forecast for a target of a lane, with the other lanes at their targets."""
        others = sum(
            self.demand(other).bytes(other.target.tasks)
            for other in self._lanes
            if other.on and other is not lane
        )
        return forecast(tasks, [self.demand(lane)], self.budget.room, others, self.budget.bound)

    def fit(self, lane: Lane) -> Fit:
        """Return how many of a lane's untraced tasks would fit if nothing else ran, and the first limit."""
        arguments = (
            structs.replace(self.demand(lane, untraced=True), now=0),
            self.budget.room,
            self.budget.bound,
        )
        known = self._fits.get(lane)
        if known is None or known[0] != arguments:
            self._fits[lane] = known = arguments, fit(*arguments)
        return known[1]


def memory_text(rss: int, memory: int) -> str:
    """Return of what ``memory`` consists: ``185 MiB RSS, 308 MiB kernel``."""
    return f"{format_bytes(rss)} RSS, {format_bytes(memory - rss)} kernel"


def step_interval(left: float) -> float:
    """Return the seconds until the next step while tasks grow, with ``left`` bytes left for them."""
    return min(LONGEST, max(SHORTEST, left / FASTEST / AHEAD))


class AdmissionControl:
    """Stops growth at the budget, and stops the largest lane when the machine runs out of memory."""

    def __init__(self, lanes: Sequence[Lane], capacity: Capacity, log: EventSink) -> None:
        self.budget = capacity.budget
        self._capacity = capacity
        self._lanes = lanes
        self._log = log
        self._read_at = 0.0
        self._last_total = 0
        self._halted: set[Lane] = set()  # since the last command
        self._stopped: Lane | None = None
        self._stopped_at = 0.0

    @property
    def interval(self) -> float:
        """Seconds until the next step."""
        return step_interval(self._capacity.left) if self._growing else LONGEST

    @property
    def _growing(self) -> list[Lane]:
        return [lane for lane in self._lanes if lane.growing]

    def reset(self) -> None:
        """Allow halted lanes to grow again, after a command that changes what they need."""
        self._halted.clear()

    def grantable(self, lane: Lane, target: int) -> int:
        """Return how many tasks of its ``target`` a lane may hold at present.

        All of them if they surely fit; otherwise a part, so that growth cannot exceed the budget however
        fast it is: what these tasks really use decides about the next part.
        """
        wanted = target - lane.live
        if wanted <= 0:
            return target
        left = max(0.0, self._left - self._pending(self._others(lane)))
        more = left / self._bytes_per_task(lane, wanted)
        if wanted <= more * (1.0 if lane.live >= wanted else SURE):
            return target
        return lane.live + int(more * GRANTED) if left > SPENT * self.budget.size else lane.live

    @property
    def _left(self) -> float:
        return self.budget.room * GRANTABLE - self._capacity.used

    def _others(self, lane: Lane) -> list[Lane]:
        """Return the other lanes that have not reached their target yet."""
        return [other for other in self._growing if other is not lane and not other.target.reached]

    def _pending(self, lanes: Sequence[Lane]) -> float:
        """Return the bytes that granted tasks will use which do not use them yet."""
        return sum(map(self._pending_of, lanes))

    def _pending_of(self, lane: Lane) -> float:
        # Of the same moment: tasks created since the last tick use memory already, but are not counted yet.
        memory, live = lane.worker.stats.paired
        missing = max(0, lane.target.granted - live)
        return max(0.0, memory + missing * self._bytes_per_task(lane, missing) - max(memory, lane.memory))

    def _bytes_per_task(self, lane: Lane, more: int) -> float:
        """Return the bytes of each of ``more`` tasks; with as many live already, that is well known."""
        demand, live = self._capacity.demand(lane), lane.live
        # Too high rather than too low while tasks are created: memory is read after they are counted.
        seen = max(1.0, (lane.memory - demand.idle) / live) if live else float(demand.unmeasured)
        return seen if live >= more and live else max(1.0, demand.added(1), seen)

    def step(self, now: float) -> None:
        """Grant what fits, and stop what does not; ``now`` in seconds on the lab's clock."""
        self._grant()
        self._halt_growth()
        self._last_total = self._capacity.used
        releasing = self._stopped is not None and not self._stopped.idle
        if self._growing or releasing or now >= self._read_at + IDLE_INTERVAL:
            self._read_at = now
            self.budget.update(self._capacity.used)
            self._stop_largest(now)

    def _grant(self) -> None:
        """Grant more tasks to lanes that have created those granted before."""
        for lane in self._lanes:
            if lane.awaits_grant and lane not in self._halted:
                granted = self.grantable(lane, lane.target.tasks)
                if granted > lane.live:
                    lane.grant(granted)
                elif lane.state in ACTIVE and self._pending(self._others(lane)) <= SPENT * self.budget.size:
                    self._halt([lane])  # otherwise it waits for what other lanes may leave over

    def _halt_growth(self) -> None:
        """Halt all growth if another interval like the last one would exceed the budget."""
        # Once lanes are halted, those that have reached their target only replace tasks that end.
        growing = [
            lane
            for lane in self._growing
            if lane not in self._halted and not (self._halted and lane.target.reached)
        ]
        growth = max(0, self._capacity.used - self._last_total)
        if growing and self._capacity.used + min(1.5 * growth, self._pending(growing)) >= self.budget.size:
            self._halt(growing)

    def _halt(self, growing: Sequence[Lane]) -> None:
        for lane in growing:
            lane.halt(BUDGET, self.budget.size)
        if not self._halted:
            self._log(
                f"{BUDGET}: workers use {format_bytes(self._capacity.used)} of "
                f"{format_bytes(self.budget.size)} ({memory_text(self._capacity.rss, self._capacity.used)}), "
                "growth stopped, live tasks continue",
                "warning",
            )
        self._halted.update(growing)

    def _stop_largest(self, now: float) -> None:
        """Stop the largest lane, one at a time, while the machine is nearly out of memory."""
        if not self.budget.nearly_gone:
            return
        if self._stopped is not None and not self._stopped.idle and now < self._stopped_at + RELEASE_LIMIT:
            return
        running = [lane for lane in self._lanes if lane.on and lane.memory]
        if not running:
            return
        largest = max(running, key=lambda lane: lane.memory)
        memory, self._stopped, self._stopped_at = self.budget.now, largest, now
        self._log(
            f"{memory.bound}: {format_bytes(memory.available)} left of the "
            f"{format_bytes(self.budget.start.available)} available at the start, "
            f"less than {format_percent(RESERVED)}; the largest lane is stopped",
            "warning",
        )
        live = f"{format_count(largest.live)} {'threads' if largest.engine.threads else 'tasks'}"
        used = f"{format_bytes(memory.total - memory.available)} of {format_bytes(memory.total)}"
        of = "the control group" if memory.group else "the machine"
        parts = memory_text(largest.worker.stats.rss, largest.memory)
        largest.worker.fail(f"stopped at {live}, since {used} of {of} are used ({parts})")
