"""What a demo can see of the program: its lanes, its figures, and since when a target stands."""

from concwatch.lab.lab import Lab
from concwatch.lab.lane import Lane
from concwatch.lab.lane_state import State
from concwatch.lab.messages import Reached
from concwatch.lab.snapshot import LaneSnapshot, Snapshot
from concwatch.ui.app import ConcwatchApp
from concwatch.ui.experiment_runs import ExperimentRuns


class Scene:
    """Looks at a running app."""

    def __init__(self, app: ConcwatchApp) -> None:
        assert app.lab is not None
        self.lab: Lab = app.lab
        self._app = app
        self._reached: dict[str, tuple[Reached, float]] = {}

    @property
    def runs(self) -> ExperimentRuns | None:
        """The experiments, once somebody has looked at them."""
        return self._app.runs

    def lane(self, name: str) -> Lane:
        """Give the lane of one engine."""
        return next(lane for lane in self.lab.lanes if lane.engine.name == name)

    def cannot_run(self, name: str) -> str | None:
        """Say why a lane's engine cannot run here; None when nothing is known against it, or it runs."""
        lane = self.lane(name)
        never_stood = lane.state is State.FAILED and lane.tally.ready is None
        return None if lane.wanted else lane.missing or (lane.reason if never_stood else None)

    def view(self) -> Snapshot:
        """Take a picture of all lanes."""
        return self.lab.snapshot()

    def lane_view(self, name: str) -> LaneSnapshot:
        """Take a picture of one lane."""
        return next(lane for lane in self.view().lanes if lane.name == name)

    def look(self) -> None:
        """Note which lanes have reached their targets since the last look; due every moment."""
        now = self.lab.clock()
        for lane in self.lab.lanes:
            name, reached = lane.engine.name, lane.reached
            if reached is None or not lane.on:
                self._reached.pop(name, None)
            elif name not in self._reached or self._reached[name][0] is not reached:
                self._reached[name] = reached, now

    def held(self, name: str) -> float | None:
        """Give the seconds on the lab's clock since a lane reached its target; None before."""
        self.look()
        since = self._reached.get(name)
        return None if since is None else self.lab.clock() - since[1]
