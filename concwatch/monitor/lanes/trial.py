"""Trials: what one task costs on this machine, measured by an untraced worker that holds some for a moment.

A lane that is traced takes the cost of its tasks from a trial, and a forecast that would refuse tasks is
based on one.
"""

import math
from collections.abc import Callable, Iterator, Sequence

from msgspec import structs

from concwatch.links.link import Link
from concwatch.links.messages import Anatomy
from concwatch.monitor.lanes.forecast import TaskCost, task_demand
from concwatch.monitor.lanes.lane import Lane
from concwatch.monitor.metrics.settings import Settings, connects
from concwatch.monitor.metrics.state import ACTIVE, PENDING, State
from concwatch.monitor.workers.catalog import Engine
from concwatch.monitor.workers.cost import NEAR_ALL, Cost
from concwatch.portable.protocol.workloads import HTTP, USER, parse
from concwatch.system.machine import Load

HELD = 0.4
"""Seconds for which all tasks are held, on the worker's clock: a few samples of a settled number."""

LOOK_LIMIT = 10.0
"""Seconds in which its worker must have said what a task consists of."""

GROW_LIMIT = 10.0
"""Seconds in which all tasks must have been created."""

BRIEF, THOROUGH = 32 << 20, 128 << 20
"""Bytes that the tasks of a trial take: beside running lanes, and for a forecast alone. Containers that grow
by doubling take a few percent more or less of a task at one number of tasks than at another."""

RESOLUTIONS = 40
"""The same in units of what the runtime allocates at once."""

ENOUGH = 0.9
"""Share of the tasks that must be live at the end if their number has not settled."""

FEWEST, MOST = 100, 100_000
"""Tasks of a trial."""

SHARE = 0.8
"""The largest share of the memory left that a trial may take: in a small control group, a few tasks would not
show what a heap takes that grows with their number."""

PATIENCE = 3.0
"""Seconds that a trial waits for lanes to reach their targets, so that it does not slow them down."""

_NUMBER = -1
"""The number of a lane that no snapshot has."""


class Trial:
    """One trial, in a worker of its own that ends with it.

    Args:
        engine: a row of the catalog.
        settings: those of the lane; the trial is not traced.
        tasks: how many to hold.
        open_link: starts a worker.
        load: returns the CPU time used on the machine.
        now: seconds, on the clock that is passed to `step`.
        build: whether its worker may be built first; otherwise there is no result if it has not been.
        look: whether to ask its worker what a task consists of, too.
    """

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        tasks: int,
        open_link: Callable[[Engine], Link],
        load: Callable[[], Load],
        now: float,
        build: bool = True,
        look: bool = False,
    ) -> None:
        self.found: TaskCost | None = None
        """The result; None if it is not known yet, or the trial failed."""
        self._tasks, self._build, self._look = tasks, build, look
        self._began, self._held_since, self._found_at = now, math.inf, math.inf
        self._given_up = False
        self._lane = Lane(engine, open_link, lambda *event: 0, 10.0, load, _NUMBER)
        self._lane.switch_on(structs.replace(settings, trace=False, refill=True), now)
        self._lane.set_target(tasks)

    @property
    def over(self) -> bool:
        """Whether its worker has ended."""
        return self._lane.idle

    @property
    def building(self) -> bool:
        """Whether its worker is being built."""
        return self._lane.state is State.BUILDING

    @property
    def looks(self) -> bool:
        """Whether it is to find what a task consists of."""
        return self._look

    @property
    def anatomy(self) -> Anatomy | None:
        """What a task consists of, if its worker has said so."""
        return self._lane.worker.anatomy.found

    @property
    def reason(self) -> str:
        """Why its worker failed; empty if it did not."""
        return "" if self._given_up else self._lane.worker.life.reason

    def step(self, now: float) -> None:
        """Process what the worker has reported; ``now`` in seconds."""
        lane = self._lane
        lane.step(now)
        if self.building and not self._build:
            self.stop()
        elif lane.state in PENDING:
            self._began = now  # a program may have to be built first
        elif lane.state in ACTIVE:
            late = now >= self._began + GROW_LIMIT
            if self.found is None and lane.target.reached is not None:
                self._measure(now, late)
            if self.found is None:
                over = late or lane.target.limit is not None
            else:
                over = not self._looking or now >= self._found_at + LOOK_LIMIT
            if over:
                lane.switch_off(now)

    def _measure(self, now: float, late: bool) -> None:
        """Take the cost, once it has settled; if it is ``late``, also one that has not."""
        stats = self._lane.worker.stats
        cost, idle = stats.meter.cost, stats.meter.idle
        if cost is None or idle is None or stats.tick is None:
            return
        settled = cost.live >= NEAR_ALL * self._tasks and not cost.moves
        self._held_since = min(self._held_since, stats.tick.time) if settled else math.inf
        if stats.tick.time >= self._held_since + HELD or (late and cost.live >= ENOUGH * self._tasks):
            self.found, self._found_at = TaskCost(structs.replace(cost, moves=False), idle.memory), now
            if self._look:
                self._lane.worker.ask_anatomy()

    @property
    def _looking(self) -> bool:
        """Whether its worker still looks at its tasks."""
        lane = self._lane
        answer = lane.worker.anatomy
        return self._look and lane.worker.can("anatomy") and answer.found is None and not answer.refused

    def stop(self) -> None:
        """Kill its worker, if it is running."""
        if not self.over:
            self._given_up = True
            self._lane.worker.connection.kill()


def tasks_to_try(engine: Engine, settings: Settings, room: float, size: int = BRIEF) -> int:
    """Return how many tasks a trial holds so that their memory stands out; 0 if no trial is possible.

    Functions of the user are not called more often than they were asked for, and tasks that end at once or
    fetch a page are never all live. ``room`` is the bytes that are left for workers, ``size`` those to take.
    """
    word = parse(settings.workload).word
    if word in (USER, HTTP, "nop", "spin") or (connects(settings.workload) and settings.url is None):
        return 0
    each = task_demand(engine, structs.replace(settings, trace=False)).one_more
    tasks = math.ceil(max(size, RESOLUTIONS * engine.resolution) / each)
    tasks = min(MOST, max(FEWEST, tasks), int(room * SHARE / each))
    return tasks if tasks >= FEWEST else 0


_Key = tuple[str, Settings]


class Trials:
    """Runs the trials that the traced lanes of a lab need, one at a time.

    Args:
        open_link: starts a worker.
    """

    def __init__(self, open_link: Callable[[Engine], Link]) -> None:
        self._open = open_link
        self._found: dict[_Key, TaskCost | None] = {}
        self._looks: set[_Key] = set()  # those of which is to be known what a task consists of
        self._looked: dict[_Key, Anatomy | None] = {}
        self._running: tuple[_Key, Trial] | None = None
        self._waiting_since = math.inf

    def cost(self, engine: Engine, settings: Settings) -> Cost | None:
        """Return what a task costs untraced; None if it is not known yet."""
        found = self._found.get(_key(engine, settings))
        return found.cost if found else None

    def due(self, lane: Lane, settings: Settings) -> bool:
        """Return whether a lane that is traced will have the cost of an untraced task."""
        return lane.worker.can("trace") and settings.trace and _key(lane.engine, settings) not in self._found

    def look(self, engine: Engine, settings: Settings, on: bool = True) -> None:
        """Run a trial that finds what an untraced task consists of, or no longer."""
        (self._looks.add if on else self._looks.discard)(_key(engine, settings))

    def looking(self, engine: Engine, settings: Settings) -> bool:
        """Return whether that is still to be found."""
        return _key(engine, settings) in self._looks

    def anatomy(self, engine: Engine, settings: Settings) -> Anatomy | None:
        """Return what was found; None if it could not be."""
        return self._looked.get(_key(engine, settings))

    @property
    def running(self) -> bool:
        """Whether a trial is running."""
        return self._running is not None

    def step(
        self,
        now: float,
        settings: Settings,
        lanes: Sequence[Lane],
        room: Callable[[Lane], float],
        load: Callable[[Lane], Callable[[], Load]],
    ) -> None:
        """Start, continue or end a trial.

        Args:
            now: seconds.
            settings: the common settings.
            lanes: all lanes.
            room: returns the bytes that are left on a lane's host.
            load: returns what reads the load of a lane's host.
        """
        if self._running is not None:
            key, trial = self._running
            trial.step(now)
            if trial.over:
                self._running = None
                self._found[key] = trial.found or self._found.get(key)
                if trial.looks:
                    self._end_look(key, trial.anatomy)
            return
        wanted = next(self._wanted(settings, lanes), None)
        if wanted is None or not self._may_start(now, lanes):
            return
        key, tasks = _key(wanted.engine, settings), tasks_to_try(wanted.engine, settings, room(wanted))
        if tasks:
            look = key in self._looks
            trial = Trial(wanted.engine, settings, tasks, self._open, load(wanted), now, look=look)
            self._running = key, trial
        else:
            self._found.setdefault(key, None)
            self._end_look(key, None)

    def _wanted(self, settings: Settings, lanes: Sequence[Lane]) -> Iterator[Lane]:
        """Yield the lanes with tasks that are traced and whose engine needs a trial."""
        for lane in lanes:
            if lane.on and lane.live and (self.due(lane, settings) or self.looking(lane.engine, settings)):
                yield lane

    def _end_look(self, key: _Key, found: Anatomy | None) -> None:
        self._looks.discard(key)
        self._looked[key] = found

    def _may_start(self, now: float, lanes: Sequence[Lane]) -> bool:
        """Return whether all lanes have reached their targets, or that has taken too long."""
        if not any(lane.growing and lane.target.reached is None for lane in lanes):
            self._waiting_since = math.inf
            return True
        self._waiting_since = min(self._waiting_since, now)
        return now >= self._waiting_since + PATIENCE

    def stop(self) -> None:
        """Kill the worker of a running trial."""
        if self._running is not None:
            self._running[1].stop()


def _key(engine: Engine, settings: Settings) -> _Key:
    return engine.name, structs.replace(settings, trace=False, refill=True, url=None, addresses=1)
