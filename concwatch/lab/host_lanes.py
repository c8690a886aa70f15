"""The lanes of one host: what they may take together there, and who watches over that."""

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import structs

from concwatch.hosts.host import LOCAL, Host
from concwatch.lab.capacity import Capacity
from concwatch.lab.events import Severity
from concwatch.lab.guard import Guard
from concwatch.lab.lane import Lane
from concwatch.lab.machine_meter import MachineMeter
from concwatch.lab.settings import Settings
from concwatch.lab.snapshot import EngineFacts, HostStatus, LaneStatus, Sample
from concwatch.links.messages import HostFigures
from concwatch.system.machine import Load
from concwatch.system.memory import Memory, MemoryBudget, bound_memory
from concwatch.system.walls import Wall

UNKNOWN_MEMORY = Memory(0, 0, "memory")
"""Of a host that has not answered yet: nothing is granted there."""

Log = Callable[[str, str, Severity], None]
"""Takes an event: the lane or host, what happened, and how bad that is."""


class OwnMachine:
    """This machine: functions that read its memory and load, and its limits on threads with no task live."""

    def __init__(
        self, memory: Callable[[], Memory], walls: Callable[[], Sequence[Wall]], load: Callable[[], Load]
    ) -> None:
        self.memory, self.load, self.walls = memory, load, walls()


class OtherMachine:
    """Another host, as the bridges of its lanes report it."""

    def __init__(self, limit: int | None = None) -> None:
        """Hold its lanes to ``limit`` bytes of RSS, where somebody has set one for them."""
        self.figures: HostFigures | None = None
        """The last report."""
        self.walls: Sequence[Wall] = ()
        """Its limits on threads at the first report."""
        self.taken = 0
        """Bytes of RSS that its lanes take."""
        self._limit = limit

    def take(self, figures: HostFigures) -> None:
        """Take a report."""
        if self.figures is None or figures.time >= self.figures.time:
            self.figures = figures
        if not self.walls:
            self.walls = [Wall(wall.name, wall.value, wall.used, wall.per_thread) for wall in figures.walls]

    def status(self, name: str, busy: float | None, delay: float | None) -> HostStatus | None:
        """Return what a snapshot says of it; None before it has answered.

        Args:
            name: the host's.
            busy: share of all its cores that all programs used.
            delay: seconds that a sign of life takes there and back.
        """
        found = self.figures
        if found is None:
            return None
        return HostStatus(
            name,
            found.system,
            found.processor,
            found.python,
            found.cores,
            found.memory_total,
            found.memory_available,
            busy,
            delay,
        )

    def memory(self) -> Memory:
        """Return its memory at the last report; of a host that has not answered yet nothing is left."""
        found = self.figures
        if found is None:
            return UNKNOWN_MEMORY
        left = found.memory_available if self._limit is None else self._limit - self.taken
        if self._limit is None or left >= found.memory_available:
            return bound_memory(found.memory_total, found.memory_available, found.memory_group)
        return Memory(self._limit, max(0, left), "memory limit of the Dask worker")

    def load(self) -> Load:
        """Return the CPU time used there, at the last report."""
        found = self.figures
        return Load(found.time, found.busy, found.own, found.cores) if found else Load(0.0, 0.0, 0.0, 1)


class HostLanes:
    """The lanes of one host."""

    def __init__(
        self,
        host: Host | None,
        machine: OwnMachine | OtherMachine,
        budget: int | None,
        settings: Callable[[], Settings],
        log: Log,
    ) -> None:
        """Begin without lanes.

        Args:
            host: where they run; None for this machine.
            machine: its memory, load and limits.
            budget: bytes of RSS that their workers may take together; None for 80 % of what is available.
            settings: returns what all lanes have in common now.
            log: takes an event.
        """
        self.host = host
        self.name = host.name if host else LOCAL
        self.lanes: list[Lane] = []
        self.machine = machine
        self.present = True
        """Whether it is there: a host of a cluster may leave, and join again."""
        self.capacity = Capacity(
            self.lanes, MemoryBudget(budget, machine.memory), lambda: machine.walls, settings
        )
        self.guard = Guard(self.lanes, self.capacity, partial(log, host.name if host else ""))
        self.meter = MachineMeter(machine.load)

    def step(self, now: float) -> None:
        """Take in what the bridges say of the machine, and watch over the budget."""
        machine = self.machine
        if isinstance(machine, OtherMachine):
            known = machine.figures is not None
            machine.taken = self.capacity.taken
            for lane in self.lanes:
                if lane.worker.host is not None and lane.worker.host is not machine.figures:
                    machine.take(lane.worker.host)
            if machine.figures is None:
                return
            if not known:
                self.capacity.budget.update(0)
        self.guard.watch(now)

    @property
    def status(self) -> HostStatus | None:
        """What a snapshot says of another host that has answered."""
        if not isinstance(self.machine, OtherMachine):
            return None
        delays = [lane.delay for lane in self.lanes if lane.delay is not None]
        return self.machine.status(self.name, self.meter.busy, min(delays, default=None))

    def parts(self, lane: Lane) -> tuple[EngineFacts, LaneStatus, Sample]:
        """Return the parts of the snapshot of one of its lanes."""
        found = self.capacity.fit(lane)
        # Of three digits, so that it changes seldom while a lane is measured.
        weight = float(f"{self.capacity.demand(lane).one_more:.3g}")
        status = structs.replace(lane.status, bytes_per_task=weight, fits=found.tasks, fits_wall=found.wall)
        return lane.facts, status, lane.sample
