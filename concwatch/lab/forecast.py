"""What a target would take, compared with what there is, before anything is started."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct, structs

from concwatch.lab.catalog import Engine
from concwatch.lab.cost import Cost
from concwatch.lab.settings import Settings, fetches
from concwatch.system.memory import BUDGET, Memory, MemoryBudget, memory_now
from concwatch.system.open_files import WALL as OPEN_FILES
from concwatch.system.open_files import process_limits
from concwatch.system.walls import Wall, thread_walls
from concwatch.units import LARGEST_COUNT, format_bytes, format_count
from concwatch.worker.engines import default_threads
from concwatch.worker.workloads import USER, parse

MARGIN = 1.2
"""How much more than the catalog's bytes a task is taken to weigh until it has been measured here."""

OFFERED = 0.97
"""Share of the room that is offered where not all fit: growth is stopped a little before the wall."""

IDLE = 20 << 20
"""Bytes of a worker without tasks, until it has been measured."""

UNMEASURED = 256 << 10
"""Bytes that a task of the user's own is taken to weigh while tasks are granted, until some are live."""

HTTP_BYTES = 400_000
"""Bytes of a task that holds a page of 100 KB, its buffers and its client."""

FILES_KEPT = 64
"""Open files that a process needs besides one for each connection."""

UNBOUND = "no wall found"
"""What comes where nothing of the machine's does."""


class Fit(Struct, frozen=True):
    """How many tasks a machine would hold, and which wall comes first."""

    tasks: int
    wall: str


class Demand(Struct, frozen=True):
    """What one worker takes by the number of its tasks; bytes of RSS."""

    each: float
    """Of every live task."""
    held: float = 0.0
    """More of a task that has begun: what its workload holds."""
    begun: int | None = None
    """How many can have begun at once; None where all have."""
    measured: bool = False
    """Whether that was measured here; else it is the catalog's."""
    idle: float = IDLE
    """Before the first task."""
    rss: int = 0
    """Now: a worker hardly gives memory back, but fills again what it has."""
    walls: tuple[Fit, ...] = ()
    """How many tasks each wall but memory lets stand."""
    unmeasured: int = 0
    """What a task may take of which nobody knows anything yet."""

    @property
    def one_more(self) -> float:
        """What one task more is expected to take."""
        return self.each + (self.held if self.begun is None else 0.0)

    def added(self, tasks: int) -> float:
        """Return what so many tasks are taken to add, rather too much than too little."""
        margin = 1.0 if self.measured else MARGIN
        begun = tasks if self.begun is None else min(tasks, self.begun)
        return self.each * margin * tasks + self.held * begun

    def bytes(self, tasks: int) -> float:
        """Return the RSS with so many tasks."""
        return max(self.rss, self.idle + self.added(tasks))


def weigh(engine: Engine, settings: Settings, cost: Cost | None = None) -> Demand:
    """Return what tasks take; their measured ``cost`` counts if it was taken in the same way."""
    workload = parse(settings.workload)
    held = float(str(workload.values[0])) if workload.word == "payload" else 0.0
    held += HTTP_BYTES if fetches(settings.workload) else 0
    # Of a mean over jobs that hold something and jobs that wait it cannot be told what more of them take.
    mixed = bool(held) and engine.queues
    if cost is not None and cost.clean and cost.tracing == settings.trace and not mixed:
        return Demand(max(1.0, cost.rss), measured=True)
    begun = (settings.threads or default_threads()) if engine.queues else None
    return Demand(engine.bytes_per_task * (engine.traced_factor if settings.trace else 1.0), held, begun)


def walls_of(engine: Engine, settings: Settings, walls: Iterable[Wall]) -> tuple[Fit, ...]:
    """Return how many tasks the first limit on threads and that on open files let stand.

    ``walls`` are the limits on threads with no task live.
    """
    first = min(engine.bound_by(walls), key=lambda wall: wall.threads, default=None)
    found = [Fit(first.threads, first.name)] if first else []
    if fetches(settings.workload) and not engine.queues:
        found.append(Fit(max(0, most_files() - FILES_KEPT), OPEN_FILES))
    return tuple(found)


def demand(engine: Engine, settings: Settings, walls: Iterable[Wall], cost: Cost | None = None) -> Demand:
    """Return what a worker takes that has not been started; for the arguments see `weigh` and `walls_of`.

    Where tasks end as fast as they are started hardly any are ever live, so they take nothing.
    """
    word = parse(settings.workload).word
    if word == "nop" and not engine.queues:
        return Demand(0.0)
    return structs.replace(
        weigh(engine, settings, cost),
        walls=walls_of(engine, settings, walls),
        unmeasured=UNMEASURED if word == USER else 0,
    )


class Forecast(Struct, frozen=True):
    """What a number of tasks would take, against what there is."""

    tasks: int
    fitting: int
    """How many of them would fit."""
    wall: str
    """What the others would hit first; empty when all fit."""
    need: float
    room: float
    others: float = 0.0
    """Bytes of RSS that all workers would take, that they may take, and that go to other lanes."""
    bound: str = BUDGET
    """What ends the memory."""
    measured: bool = True
    """Whether it goes by what was measured here."""

    @property
    def fits(self) -> bool:
        """Whether there is room for all."""
        return not self.wall

    @property
    def memory(self) -> bool:
        """Whether memory is what ends first."""
        return self.wall == self.bound

    def why(self) -> str:
        """Return why not all fit: ``needs about 1.43 GiB, the memory budget is 300 MiB``."""
        if not self.memory:
            what = "connections" if self.wall == OPEN_FILES else "threads"
            return f"this machine holds {format_count(self.fitting)} {what}, then {self.wall} is in the way"
        others = f" with {format_bytes(self.others)} for the other lanes" if self.others else ""
        room = format_bytes(self.room)
        there = f"the {BUDGET} is {room}" if self.wall == BUDGET else f"{self.wall} leaves workers {room}"
        return f"needs about {format_bytes(self.need)}{others}, {there}"


def forecast(
    tasks: int, demands: Sequence[Demand], room: float, others: float = 0.0, bound: str = BUDGET
) -> Forecast:
    """Return how many of so many tasks each of some workers can hold.

    They have ``room`` bytes of RSS, which ``bound`` ends and of which ``others`` go to other workers.
    """

    def need(each: int) -> float:
        return others + sum(demand.bytes(each) for demand in demands)

    most = tasks
    if need(tasks) > room:
        most = _no_finer(bisect_right(range(tasks), room * OFFERED, key=need) - 1)
    walls = (wall for demand in demands for wall in demand.walls)
    best = min((Fit(most, bound), *walls), key=lambda fit: fit.tasks)
    wall = best.wall if best.tasks < tasks else ""
    measured = all(demand.measured for demand in demands)
    return Forecast(tasks, best.tasks, wall, need(tasks), room, others, bound, measured)


def fit(demand: Demand, room: float, bound: str = BUDGET) -> Fit:
    """Return how many tasks one worker can hold with nothing else running, and what comes first.

    It is the forecast that a target is compared with before it is applied.
    """
    found = forecast(LARGEST_COUNT, [demand], room, bound=bound)
    return Fit(found.fitting, found.wall or UNBOUND)


def _no_finer(tasks: int) -> int:
    """Round down to three digits: a forecast of memory knows no more."""
    grain = int(10 ** max(0, len(str(tasks)) - 3))
    return max(0, tasks // grain * grain)


def most_files() -> int:
    """Return how many files a process may open when it asks for as many as it can."""
    return process_limits("RLIMIT_NOFILE")[1] or 1 << 20  # on Windows sockets are not counted so


def why_too_many(
    engines: Sequence[Engine],
    settings: Settings,
    tasks: int,
    together: bool,
    budget: int | None,
    memory: Callable[[], Memory] = memory_now,
    walls: Callable[[], Sequence[Wall]] = thread_walls,
) -> str | None:
    """Return in one line why each of the engines, alone or ``together``, cannot hold so many tasks here.

    One that cannot run here takes nothing, nor does one on another host: there the guard grants what fits.
    ``budget`` is in bytes of RSS for all workers together, None for the default share.
    """
    here = [engine for engine in engines if engine.host is None and engine.missing() is None]
    room, found_walls = MemoryBudget(budget, memory), walls()
    for group in [here] if together else [[engine] for engine in here]:
        demands = [demand(engine, settings, found_walls) for engine in group]
        found = forecast(tasks, demands, room.room, bound=room.bound)
        if not found.fits:
            names = " and ".join(engine.name for engine in group)
            each = " each" if len(group) > 1 else ""
            return (
                f"{names}: {format_count(tasks)} tasks{each}: {found.why()}: expected at most "
                f"{format_count(found.fitting)}, or --force, with which growth stops there"
            )
    return None
