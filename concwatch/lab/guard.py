"""The guard: watches what all workers take, and what the machine has left, and stops what would harm it."""

from collections.abc import Sequence

from concwatch.lab.capacity import Capacity
from concwatch.lab.events import EventSink
from concwatch.lab.forecast import OFFERED
from concwatch.lab.lane import Lane
from concwatch.lab.lane_state import STANDING
from concwatch.system.memory import BUDGET, RESERVED
from concwatch.units import format_bytes, format_percent

LOOK = 1.0
"""Seconds between two looks at the machine's memory while nothing grows."""

FASTEST = 2 << 30
"""Bytes a second that tasks can fill at most, or nearly."""

SHORTEST, LONGEST = 0.02, 0.1
"""Seconds between two steps while anything grows: near the end, and far from it."""

AHEAD = 4
"""Steps in which what is left could be filled at the fastest."""

SURE = 0.7
"""Share of what is left that tasks may take by the forecast to be granted all at once."""

GRANTED = 0.5
"""Share of what is left that is granted else, before it is looked again what the tasks really take."""

SPENT = 0.015
"""Share of the budget that is not worth another grant."""

RELEASE_LIMIT = 5.0
"""Seconds that a stopped worker gets to give its memory back before another is stopped."""


def step_interval(left: float) -> float:
    """Return the seconds until the next step while tasks grow and ``left`` bytes are left for them."""
    return min(LONGEST, max(SHORTEST, left / FASTEST / AHEAD))


class Guard:
    """Stops growth at the budget, and the largest lane when the machine itself runs out of memory."""

    def __init__(self, lanes: Sequence[Lane], capacity: Capacity, say: EventSink) -> None:
        """Watch over all ``lanes`` of a host."""
        self.budget = capacity.budget
        self._capacity = capacity
        self._lanes = lanes
        self._say = say
        self._looked = 0.0
        self._last_total = 0
        self._halted: set[Lane] = set()  # since something was asked for last
        self._stopped: Lane | None = None
        self._stopped_at = 0.0

    @property
    def interval(self) -> float:
        """Seconds after which to watch again."""
        return step_interval(self.budget.room - self._capacity.taken) if self._growing else LONGEST

    @property
    def _growing(self) -> list[Lane]:
        return [lane for lane in self._lanes if lane.growing]

    def asked(self) -> None:
        """Note that something has been asked for, by which more may grow than before."""
        self._halted.clear()

    def granted(self, lane: Lane, target: int) -> int:
        """Return how many tasks a lane that is to hold ``target`` may hold at present.

        All of them where they will surely fit, else some, so that growth cannot pass the budget however
        fast it is: what these really take decides on the next.
        """
        wanted = target - lane.live
        if wanted <= 0:
            return target
        left = self._left - self._coming(self._others(lane))
        more = max(0.0, left) / self._bytes_a_task(lane)
        # Of as many as are live already it is well known what they take.
        if wanted <= more * (1.0 if lane.live >= wanted else SURE):
            return target
        return lane.live + int(more * GRANTED) if left > SPENT * self.budget.size else lane.live

    @property
    def _left(self) -> float:
        return self.budget.room * OFFERED - self._capacity.taken

    def _others(self, lane: Lane) -> list[Lane]:
        """List the other lanes that have not met their target yet."""
        return [other for other in self._growing if other is not lane and not other.worker.goal.reached]

    def _coming(self, lanes: Sequence[Lane]) -> float:
        """Return the bytes that tasks of ``lanes`` will take which are granted and not yet created."""
        return sum(max(0, lane.worker.goal.granted - lane.live) * self._bytes_a_task(lane) for lane in lanes)

    def _bytes_a_task(self, lane: Lane) -> float:
        demand = self._capacity.demand(lane)
        seen = (lane.rss - demand.idle) / lane.live if lane.live else demand.unseen
        return max(1.0, demand.added(1), seen)

    def watch(self, now: float) -> None:
        """Look, and stop what has to be stopped; ``now`` in seconds on the lab's clock."""
        self._grant()
        self.hold_back()
        self._last_total = self._capacity.taken
        releasing = self._stopped is not None and not self._stopped.idle
        if self._growing or releasing or now >= self._looked + LOOK:
            self._looked = now
            self.budget.update(self._capacity.taken)
            self._relieve(now)

    def _grant(self) -> None:
        """Grant more tasks to lanes that have created what they were granted."""
        for lane in self._lanes:
            if lane.worker.waits and lane not in self._halted:
                granted = self.granted(lane, lane.target)
                if granted > lane.live:
                    lane.worker.grant(granted)
                elif lane.state in STANDING and self._coming(self._others(lane)) <= SPENT * self.budget.size:
                    self._halt([lane])  # else what others leave of theirs may be for this one

    def hold_back(self) -> None:
        """Stop all growth when one more interval like the last one would pass the budget."""
        # Once some were stopped, what stood before is only refilled.
        growing = [
            lane
            for lane in self._growing
            if lane not in self._halted and not (self._halted and lane.worker.goal.reached)
        ]
        growth = max(0, self._capacity.taken - self._last_total)
        if growing and self._capacity.taken + min(1.5 * growth, self._coming(growing)) >= self.budget.size:
            self._halt(growing)

    def _halt(self, growing: Sequence[Lane]) -> None:
        for lane in growing:
            lane.worker.halt(BUDGET, self.budget.size)
        if not self._halted:
            self._say(
                f"{BUDGET}: workers take {format_bytes(self._capacity.taken)} of "
                f"{format_bytes(self.budget.size)}: growth stopped, what stands goes on",
                "warning",
            )
        self._halted.update(growing)

    def _relieve(self, now: float) -> None:
        """Stop the largest lane when the machine's memory is nearly gone; one at a time."""
        if not self.budget.nearly_gone:
            return
        if self._stopped is not None and not self._stopped.idle and now < self._stopped_at + RELEASE_LIMIT:
            return
        running = [lane for lane in self._lanes if lane.on and lane.rss]
        if not running:
            return
        largest = max(running, key=lambda lane: lane.rss)
        memory, self._stopped, self._stopped_at = self.budget.now, largest, now
        self._say(
            f"{memory.bound}: {format_bytes(memory.available)} left of the "
            f"{format_bytes(self.budget.start.available)} available at the start, "
            f"less than {format_percent(RESERVED)}: the largest lane is stopped",
            "warning",
        )
        took = format_bytes(largest.rss)
        largest.worker.fail(f"stopped at {took}: the machine's {memory.bound} was nearly gone")
