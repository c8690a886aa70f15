"""A lane of a running lab, followed from snapshot to snapshot by what measures it."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.lanes.lane import Lane
from concwatch.monitor.metrics.metrics import LaneSnapshot
from concwatch.monitor.metrics.snapshot import Snapshot


def _is_newer(lane: LaneSnapshot, before: LaneSnapshot) -> bool:
    return lane.sample.time != before.sample.time and lane.sample.tick_time != before.sample.tick_time


class FollowedLane:
    """Follows one lane of a running lab.

    Args:
        lab: a lab that is stepped by somebody else.
        lane: one of its lanes.
    """

    def __init__(self, lab: Lab, lane: Lane) -> None:
        self.lab, self.lane = lab, lane
        self._published = asyncio.Event()
        self.seen = self.look()
        """The lane in the last snapshot."""

    def look(self) -> LaneSnapshot:
        """Return the lane as it is now, after a command."""
        self.seen = self.lab.snapshot().lanes[self.lane.number]
        return self.seen

    def observe(self, snapshot: Snapshot) -> None:
        """Store the lane of a snapshot, and wake `until`."""
        self._published.set()
        self.seen = snapshot.lanes[self.lane.number]

    async def next_sample(self) -> None:
        """Wait for two more ticks and samples, so that they include everything reported until now."""
        for _ in range(2):
            await self.until(partial(_is_newer, before=self.seen), 5.0)

    async def until(
        self, done: Callable[[LaneSnapshot], bool], limit: float | None = None, failed: bool = False
    ) -> bool:
        """Wait until the lane is ``done``, for at most ``limit`` seconds. Return whether it was.

        It is asked now, and after each snapshot. A failure of the lane ends the wait too, unless ``failed``.
        """
        self.look()
        with suppress(TimeoutError):
            async with asyncio.timeout(limit):
                while not done(self.seen) and (failed or not self.seen.status.state.broken):
                    self._published.clear()
                    await self._published.wait()
        return done(self.seen)
