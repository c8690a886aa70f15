"""Lost lanes are connected again by themselves, after a wait that doubles: exponential back-off."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from concwatch.lab.lane import Lane
from concwatch.lab.lane_state import STANDING, State

FIRST, LONGEST = 1.0, 30.0
"""Seconds before the first attempt, and between two at most."""


class _Attempts(Struct):
    tasks: int
    """What was asked for when the lane was lost."""
    count: int = 0
    due: float = 0.0


class Reconnect:
    """Switches lanes on again that have lost their host, until they stand or somebody switches them off."""

    def __init__(self, lanes: Sequence[Lane], switch_on: Callable[[Lane, int], None]) -> None:
        """Look after ``lanes``; ``switch_on`` switches one on for so many tasks."""
        self._lanes = lanes
        self._switch_on = switch_on
        self._attempts: dict[Lane, _Attempts] = {}

    def step(self, now: float) -> None:
        """Try again where it is time; ``now`` in seconds."""
        for lane in self._lanes:
            attempts = self._attempts.get(lane)
            if lane.state in STANDING or lane.state is State.OFF:
                self._attempts.pop(lane, None)
            elif lane.idle and (lane.state is State.LOST or (attempts and lane.state is State.FAILED)):
                self._try(lane, attempts, now)

    def _try(self, lane: Lane, attempts: _Attempts | None, now: float) -> None:
        if attempts is None or not attempts.due:
            attempts = self._attempts.setdefault(lane, _Attempts(lane.worker.goal.asked))
            attempts.due = now + min(LONGEST, FIRST * 2**attempts.count)
        elif now >= attempts.due:
            attempts.count, attempts.due = attempts.count + 1, 0.0
            self._switch_on(lane, attempts.tasks)
