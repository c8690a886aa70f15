"""A lane as demos see it."""

from concwatch.links.messages import Reached
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.lanes.lane import Lane
from concwatch.monitor.metrics.metrics import BY_NAME, LaneSnapshot
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.metrics.state import State
from concwatch.portable.protocol.text import suggest
from concwatch.portable.protocol.units import format_count

MIN_MEASURED = 0.95
"""Share of the target that must have been live when the bytes per task were measured."""


class DemoFailed(Exception):
    """A step failed; the message says what was expected and what was seen instead."""


class CannotRun(DemoFailed):
    """A lane's engine cannot run on this machine."""

    def __init__(self, lane: str, reason: str) -> None:
        super().__init__(f"{lane} cannot run here: {reason}")
        self.lane = lane
        self.reason = reason


class DemoLane:
    """One lane, for the conditions of a demo."""

    def __init__(self, lab: Lab, lane: Lane) -> None:
        self.name = lane.engine.name
        self._lab = lab
        self._number = lane.number
        self._reached: Reached | None = None
        self._since = 0.0
        lab.observers.append(self._observe)

    def _observe(self, snapshot: Snapshot) -> None:
        """Record when a target was reached."""
        reached = snapshot.lanes[self._number].target.reached
        if reached is not self._reached:
            self._reached, self._since = reached, snapshot.time

    def check(self) -> None:
        """Raise an error if the lane has failed or cannot run.

        Raises:
            CannotRun: its engine cannot run on this machine.
            DemoFailed: its worker has failed.
        """
        lane = self.snapshot
        failed = lane.status.state.broken
        reason = lane.status.missing or (lane.status.reason if failed and not lane.status.runtime else None)
        if reason and not lane.wanted:
            raise CannotRun(self.name, reason)
        if failed:
            raise DemoFailed(f"{self.name} has failed: {lane.status.reason}")

    @property
    def snapshot(self) -> LaneSnapshot:
        """The current snapshot of the lane."""
        return self._lab.snapshot().lanes[self._number]

    @property
    def wanted(self) -> bool:
        """Whether it is switched on."""
        return self.snapshot.wanted

    @property
    def on(self) -> bool:
        """Whether its worker is running."""
        return self.snapshot.status.state is State.RUNNING

    @property
    def off(self) -> bool:
        """Whether its worker has ended."""
        return self.snapshot.idle

    @property
    def live(self) -> int:
        """Tasks created and not yet ended."""
        return self.snapshot.live or 0

    @property
    def target(self) -> int:
        """Tasks that it should hold."""
        return self.snapshot.status.target

    @property
    def held_back(self) -> bool:
        """Whether a limit keeps it below its target."""
        return bool(self.snapshot.status.limit)

    @property
    def settled(self) -> bool:
        """Whether it has reached its target, and the memory per task is known."""
        snapshot = self.snapshot
        reached, status, sample = snapshot.target.reached, snapshot.status, snapshot.sample
        if reached is None or reached.target != status.target or sample.rss_per_task is None:
            return False
        traced = self._lab.settings.current.trace and "trace" in status.can
        return (sample.measured_live or 0) >= status.target * MIN_MEASURED and status.tracing == traced

    def held(self, seconds: float) -> bool:
        """Return whether it has held its target for that many seconds."""
        reached = self.snapshot.target.reached
        holding = reached is not None and reached is self._reached and self.snapshot.on
        return holding and self._lab.clock() - self._since >= seconds

    def figure(self, name: str) -> float:
        """Return a metric's value by its name, as `concwatch metrics` lists it; NaN if not known yet.

        Raises:
            DemoFailed: there is no such metric.
        """
        if name not in BY_NAME:
            raise DemoFailed(f'unknown metric "{name}": see concwatch metrics{suggest(name, BY_NAME)}')
        value = BY_NAME[name].value(self.snapshot)
        return float("nan") if value is None else value

    def __str__(self) -> str:
        status = self.snapshot.status
        why = status.reason or (f"limited by {status.limit}" if status.limit else "")
        count = f"{format_count(self.live)} of {format_count(status.target)} tasks live"
        return f"{self.name} is {status.state.value}, {count}{f' ({why})' if why else ''}"
