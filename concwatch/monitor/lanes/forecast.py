"""Forecasts: the memory and threads that a target needs, compared with what is available."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct, structs

from concwatch.monitor.metrics.fit import Fit
from concwatch.monitor.metrics.settings import Settings, connects
from concwatch.monitor.workers.catalog import Engine
from concwatch.monitor.workers.cost import Cost
from concwatch.portable.machine.limits import SystemLimit, system_limits
from concwatch.portable.machine.open_files import NAME as OPEN_FILES
from concwatch.portable.machine.open_files import process_limits
from concwatch.portable.protocol.units import LARGEST_COUNT, format_bytes, format_count
from concwatch.portable.protocol.workloads import CONNECT, HTTP, USER, Workload, parse
from concwatch.portable.worker.threads import default_threads
from concwatch.system.memory import BUDGET, Memory, MemoryBudget, memory_now

MARGIN = 1.2
"""Factor on the catalog's bytes of a task until it has been measured on this machine."""

REFUSED = 1.05
"""The ratio of the memory that tasks need, as measured, and the room from which on they are refused."""

OFFERED = 0.97
"""Share of the room that a forecast uses if not all tasks fit: growth stops at 0.98 to 1 of it, and the
cost of a task is known within 2 %."""

IDLE = 20 << 20
"""Bytes of a worker without tasks until it has been measured."""

UNMEASURED = 256 << 10
"""Bytes assumed for a task of a function of the user, while tasks are granted and none is live."""

CONNECTION_BYTES = {HTTP: 400_000, CONNECT: 9_000}
"""Workload → bytes of memory that its connection adds to a task.

For ``http``, a page of 100 KB with buffers and client; for ``connect``, the objects of an idle socket in the
kernel and in the runtime.
"""

FILES_KEPT = 64
"""Open files that a process needs in addition to its connections."""

TRACED_PACE = 0.6
"""Share of the tasks that Python replaces a second which is left while allocations are traced."""

UNBOUND = "no limit found"
"""The text for no limit."""


class Demand(Struct, frozen=True):
    """The memory of one worker as a function of its tasks: bytes of RSS and of kernel memory."""

    each: float
    """Bytes of every live task."""
    held: float = 0.0
    """Additional bytes of a task that has begun: what its workload holds."""
    begun: int | None = None
    """How many tasks can have begun at a time; None for all."""
    measured: bool = False
    """Whether ``each`` was measured on this machine, not taken from the catalog."""
    idle: float = IDLE
    """Bytes before the first task."""
    now: int = 0
    """Bytes now: a worker hardly returns memory, but reuses it."""
    limits: tuple[Fit, ...] = ()
    """How many tasks each limit other than memory allows."""
    unmeasured: int = 0
    """Bytes assumed for a task of unknown size."""

    @property
    def one_more(self) -> float:
        """Expected bytes of one more task."""
        return self.each + (self.held if self.begun is None else 0.0)

    def added(self, tasks: int) -> float:
        """Return an upper estimate of the bytes that so many tasks add."""
        margin = 1.0 if self.measured else MARGIN
        begun = tasks if self.begun is None else min(tasks, self.begun)
        return self.each * margin * tasks + self.held * begun

    def bytes(self, tasks: int) -> float:
        """Return the memory with so many tasks."""
        return max(self.now, self.idle + self.added(tasks))


def task_demand(engine: Engine, settings: Settings, cost: Cost | None = None) -> Demand:
    """Return the demand of tasks, from their measured ``cost`` if it was measured under the same settings."""
    workload = parse(settings.workload)
    held = float(str(workload.values[0])) if workload.word == "payload" else 0.0
    held += CONNECTION_BYTES.get(workload.word, 0)
    # The mean over jobs that hold something and jobs that wait does not predict more of them.
    mixed = bool(held) and engine.queues
    known = cost is not None and cost.memory * cost.live >= engine.resolution
    if cost is not None and known and cost.clean and cost.tracing == settings.trace and not mixed:
        # Rounded to three digits, the precision of a forecast, so that it rarely changes.
        return Demand(max(1.0, float(f"{cost.memory:.3g}")), measured=True)
    begun = (settings.threads or default_threads()) if engine.queues else None
    return Demand(engine.bytes_per_task * (engine.traced_factor if settings.trace else 1.0), held, begun)


def limit_fits(engine: Engine, settings: Settings, limits: Iterable[SystemLimit]) -> tuple[Fit, ...]:
    """Return how many tasks the tightest limit on threads and the limit on open files allow.

    ``limits`` are the limits on threads with no task live. How many they allow is rounded down to three
    digits, as the others depend on what else runs, and on the process that reads the limits.
    """
    first = min(engine.bound_by(limits), key=lambda limit: limit.threads, default=None)
    found = [Fit(_round_down(first.threads), first.name)] if first else []
    if connects(settings.workload) and not engine.queues:
        found.append(Fit(max(0, most_files() - FILES_KEPT), OPEN_FILES))
    return tuple(found)


def demand(
    engine: Engine, settings: Settings, limits: Iterable[SystemLimit], cost: Cost | None = None
) -> Demand:
    """Return the demand of a worker that has not started; see `task_demand` and `limit_fits`.

    Tasks that end at once add nothing, since hardly any are ever live.
    """
    word = parse(settings.workload).word
    if word == "nop" and not engine.queues:
        return Demand(0.0)
    return structs.replace(
        task_demand(engine, settings, cost),
        limits=limit_fits(engine, settings, limits),
        unmeasured=UNMEASURED if word == USER else 0,
    )


class TaskCost(Struct, frozen=True):
    """What a trial has found."""

    cost: Cost
    idle: int
    """Bytes of the worker before its first task."""


TrialResults = Mapping[str, TaskCost | str]
"""By engine what a task costs here, or why its worker failed."""


def tried_demand(
    engine: Engine, settings: Settings, limits: Iterable[SystemLimit], trial: TaskCost | str | None
) -> Demand:
    """Return the demand of a worker that has not started, as measured if there was a trial."""
    if not isinstance(trial, TaskCost):
        return demand(engine, settings, limits)
    return structs.replace(demand(engine, settings, limits, trial.cost), idle=trial.idle)


def mean_life(workload: Workload) -> float | None:
    """Return how many seconds a task lives on average; None if that is not in the workload, or unlimited."""
    values = [float(str(value)) for value in workload.values if workload.word in ("sleep", "ticks")]
    if workload.word == "nop":
        return 0.0
    if workload.word == "ticks":
        return values[0] * values[1]
    return sum(values) / len(values) if values else None


def most_held(engine: Engine, settings: Settings, cpu_per_task: float | None = None) -> int | None:
    """Return how many tasks of the workload can be live at once, if each that ends is replaced; None for any.

    By Little's law, that is the mean life times the tasks a second that the engine can replace: those of the
    catalog, or fewer if a task has been measured to use more CPU time (seconds). Jobs that wait for a thread
    are live, so that any number of them can be held.
    """
    life = mean_life(parse(settings.workload))
    if life is None or engine.queues or not settings.refill:
        return None
    pace = engine.replaces * (TRACED_PACE if settings.trace and engine.traced_factor > 1 else 1.0)
    if cpu_per_task and not engine.ways:  # Python runs one task at a time
        pace = min(pace, 1.0 / cpu_per_task)
    return _round_down(int(life * pace), digits=2)


class Forecast(Struct, frozen=True):
    """What a number of tasks would use, compared with what is available."""

    tasks: int
    fitting: int
    """How many of them would fit."""
    limit: str
    """The first limit; empty if all tasks fit."""
    need: float
    room: float
    others: float = 0.0
    """Bytes that all workers would use, that they may use, and that other lanes use."""
    bound: str = BUDGET
    """What limits memory."""
    measured: bool = True
    """Whether it is based on measurements on this machine."""

    @property
    def fits(self) -> bool:
        """Whether all tasks fit."""
        return not self.limit

    @property
    def memory(self) -> bool:
        """Whether memory is the first limit."""
        return self.limit == self.bound

    def why(self) -> str:
        """Return why not all tasks fit: ``needs about 1.43 GiB, the memory budget is 300 MiB``."""
        if not self.memory:
            what = "connections" if self.limit == OPEN_FILES else "threads"
            return f"this machine can hold {format_count(self.fitting)} {what}, limited by {self.limit}"
        others = f" with {format_bytes(self.others)} for the other lanes" if self.others else ""
        room = format_bytes(self.room)
        there = (
            f"the {BUDGET} is {room}" if self.limit == BUDGET else f"workers may use {room} of {self.limit}"
        )
        return f"needs about {format_bytes(self.need)}{others}, {there}"


def forecast(
    tasks: int, demands: Sequence[Demand], room: float, others: float = 0.0, bound: str = BUDGET
) -> Forecast:
    """Return how many of ``tasks`` each of several workers can hold.

    They may use ``room`` bytes, limited by ``bound``, of which ``others`` belong to other workers.
    """

    def need(each: int) -> float:
        return others + sum(demand.bytes(each) for demand in demands)

    most = tasks
    if need(tasks) > room:
        most = _round_down(bisect_right(range(tasks), room * OFFERED, key=need) - 1)
    limits = (limit for demand in demands for limit in demand.limits)
    best = min((Fit(most, bound), *limits), key=lambda fit: fit.tasks)
    limit = best.limit if best.tasks < tasks else ""
    measured = all(demand.measured for demand in demands)
    return Forecast(tasks, best.tasks, limit, need(tasks), room, others, bound, measured)


def fit(demand: Demand, room: float, bound: str = BUDGET) -> Fit:
    """Return how many tasks one worker can hold if nothing else runs, and the first limit."""
    found = forecast(LARGEST_COUNT, [demand], room, bound=bound)
    return Fit(found.fitting, found.limit or UNBOUND, found.memory and not demand.measured)


def _round_down(tasks: int, digits: int = 3) -> int:
    """Round down to three digits, the precision of a forecast."""
    unit = int(10 ** max(0, len(str(tasks)) - digits))
    return max(0, tasks // unit * unit)


def most_files() -> int:
    """Return the hard limit on open files of a process."""
    return process_limits("RLIMIT_NOFILE")[1] or 1 << 20  # Windows does not count sockets as files


def why_too_many(
    engines: Sequence[Engine],
    settings: Settings,
    tasks: int,
    together: bool,
    budget: int | None,
    memory: Callable[[], Memory] = memory_now,
    limits: Callable[[], Sequence[SystemLimit]] = system_limits,
    trials: TrialResults = MappingProxyType({}),
) -> str | None:
    """Return in one line why engines, each alone or all ``together``, cannot hold so many tasks; else None.

    Engines that cannot run are ignored, and so are remote ones: admission control there grants what fits.
    ``budget`` is the bytes of memory for all workers together, None for the default share; ``trials`` are
    those of the engines, as far as there were any.
    """
    local = [engine for engine in engines if engine.host is None and engine.missing() is None]
    room, found_limits = MemoryBudget(budget, memory), limits()
    for group in [local] if together else [[engine] for engine in local]:
        demands = [tried_demand(engine, settings, found_limits, trials.get(engine.name)) for engine in group]
        sure = all(demand.measured for demand in demands)
        if not forecast(tasks, demands, room.room * (REFUSED if sure else 1.0), bound=room.bound).fits:
            found = forecast(tasks, demands, room.room, bound=room.bound)
            names = " and ".join(engine.name for engine in group)
            each = " each" if len(group) > 1 else ""
            return (
                f"{names}: {format_count(tasks)} tasks{each} do not fit ({found.why()}). Ask for at most "
                f"{format_count(found.fitting)}"
            )
    return None
