"""A real lab on real workers, without a screen: what every fault of the machine is driven with."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from concwatch.lab.catalog import Engine, find
from concwatch.lab.lab import Lab
from concwatch.lab.lane import Lane
from concwatch.lab.lane_state import State
from concwatch.lab.settings import Settings
from concwatch.links.link import Link
from concwatch.links.process import WorkerProcess

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 40.0
"""Seconds that anything may take on a loaded machine."""

SLOWEST = 250
"""Threads that are started a second on a machine that is busy with ten times what it can do."""

Wrap = Callable[[Sequence[str]], Sequence[str]]
"""Gives the command that runs a worker's command under a fault."""


@dataclass
class RealLab:
    """A lab that runs, and what a fault wants to do and to see."""

    lab: Lab

    def lane(self, name: str) -> Lane:
        """Return the lane of an engine."""
        return next(lane for lane in self.lab.lanes if lane.engine.name == name)

    def told(self, lane: Lane) -> list[str]:
        """Return a lane's events, oldest first."""
        return [event.text for event in self.lab.events.since(0) if event.lane == lane.engine.name]

    async def until(self, condition: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
        """Wait until it holds; at most ``patience`` seconds."""
        deadline = asyncio.get_running_loop().time() + patience
        while not condition():
            if asyncio.get_running_loop().time() > deadline:
                seen = [
                    (lane.engine.name, lane.state, lane.worker.reason, lane.worker.tally.tick)
                    for lane in self.lab.lanes
                ]
                events = "\n".join(event.text for event in self.lab.events.since(0))
                raise AssertionError(f"{what}: not within {patience:g} s\n{seen}\n{events}")
            await asyncio.sleep(0.01)

    async def holds(self, lane: Lane, tasks: int) -> None:
        """Have a lane hold so many tasks, and see that it does."""
        self.lab.set_target(lane, tasks)
        await self.until(
            lambda: lane.state is State.RUNNING and lane.live == tasks and lane.worker.limit is None,
            f"{lane.engine.name} holds {tasks}",
            PATIENCE + tasks / SLOWEST,
        )

    async def hits(self, lane: Lane, tasks: int, wall: str, value: int) -> int:
        """Ask a lane for more than a wall allows; see which one it names; give how many tasks stand."""
        before = len(self.told(lane))
        self.lab.set_target(lane, tasks)
        await self.until(
            lambda: lane.worker.limit is not None,
            f"{lane.engine.name} meets a wall",
            PATIENCE + tasks / SLOWEST,
        )
        limit = lane.worker.limit
        assert limit is not None
        assert (limit.wall, limit.value, limit.wanted) == (wall, value, tasks), limit
        (text,) = [text for text in self.told(lane)[before:] if "reached at" in text]
        assert f"{wall} ({value:,}) reached at" in text, text
        await self.ticks(lane, 2)
        return limit.standing

    async def ticks(self, lane: Lane, count: int) -> None:
        """Let so many ticks of a lane pass."""
        for _ in range(count):
            last = lane.worker.tally.tick
            await self.until(
                lambda last=last: lane.worker.tally.tick is not last, f"{lane.engine.name} ticks"
            )  # type: ignore[misc]  # bound here

    async def settles(self, lane: Lane, *states: State) -> None:
        """Wait until a lane is in one of ``states``."""
        await self.until(lambda: lane.state in states, f"{lane.engine.name} is one of {states}")


@asynccontextmanager
async def real_lab(
    *engines: str, wraps: dict[str, Wrap] | None = None, settings: Settings | None = None, **more: Any
) -> AsyncIterator[RealLab]:
    """Run a lab with a lane an engine, all off; see that no process is left at the end.

    Args:
        engines: of the catalog.
        wraps: by engine, what its worker's command is run under.
        settings: of all lanes.
        more: what else the lab is made with.
    """

    def open_link(engine: Engine) -> Link:
        wrap = (wraps or {}).get(engine.name)
        return WorkerProcess(wrap(engine.command()) if wrap else engine.command())

    before = set(psutil.Process().children(recursive=True))
    lab = Lab(
        find(engines),
        settings=settings or Settings(workload="hold", trace=False),
        open_link=open_link,
        **more,
    )
    clock = asyncio.create_task(lab.run())
    try:
        yield RealLab(lab)
        assert not clock.done(), clock.exception()
    finally:
        clock.cancel()
        await lab.close()
    left = set(psutil.Process().children(recursive=True)) - before
    # 20,000 threads take their time to end, longer than a lab waits for them.
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while any(process.is_running() for process in left):
        assert asyncio.get_running_loop().time() < deadline, left
        await asyncio.sleep(0.05)
