"""What the lanes of one machine may take together, and what is left of it for more tasks."""

from collections.abc import Callable, Sequence

from msgspec import structs

from concwatch.lab.forecast import IDLE, Demand, Fit, Forecast, demand, fit, forecast
from concwatch.lab.lane import Lane
from concwatch.lab.settings import Settings
from concwatch.system.memory import MemoryBudget
from concwatch.system.walls import Wall


class Capacity:
    """Compares what lanes take, and would take, with the memory budget and the limits on threads.

    ``walls`` returns these limits as they were with no task live, ``settings`` what all lanes have in common.
    """

    def __init__(
        self,
        lanes: Sequence[Lane],
        budget: MemoryBudget,
        walls: Callable[[], Sequence[Wall]],
        settings: Callable[[], Settings],
    ) -> None:
        self.budget = budget
        self._walls = walls
        self._lanes = lanes
        self._settings = settings
        self._fits: dict[Lane, tuple[object, Fit]] = {}

    @property
    def walls(self) -> Sequence[Wall]:
        """The limits on threads, as they were with no task live."""
        return self._walls()

    @property
    def taken(self) -> int:
        """Bytes of RSS of all workers together."""
        return sum(lane.rss for lane in self._lanes)

    def demand(self, lane: Lane) -> Demand:
        """Return what a lane's worker takes, by the number of its tasks."""
        meter = lane.worker.tally.meter
        idle = meter.idle if lane.on else None
        found = demand(lane.engine, self._settings(), self.walls, meter.cost)
        return structs.replace(found, idle=idle.rss if idle else IDLE, rss=lane.rss if lane.on else 0)

    def forecast(self, lane: Lane, tasks: int) -> Forecast:
        """Return what so many tasks in a lane would take, with all that the other lanes are still to hold."""
        others = sum(
            self.demand(other).bytes(other.target) for other in self._lanes if other.on and other is not lane
        )
        return forecast(tasks, [self.demand(lane)], self.budget.room, others, self.budget.bound)

    def fit(self, lane: Lane) -> Fit:
        """Return how many of a lane's tasks would fit if nothing else ran, and what comes first."""
        asked = structs.replace(self.demand(lane), rss=0), self.budget.room, self.budget.bound
        known = self._fits.get(lane)
        if known is None or known[0] != asked:
            self._fits[lane] = known = asked, fit(*asked)
        return known[1]
