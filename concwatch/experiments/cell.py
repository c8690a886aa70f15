"""One cell: a number of tasks run in one way; and the figures that can be read of it."""

from dataclasses import dataclass, field

from msgspec.structs import replace

from concwatch.hosts.host import Host
from concwatch.lab.catalog import Engine, find, known
from concwatch.lab.cost import NEAR_ALL
from concwatch.lab.forecast import forecast, walls_of, weigh
from concwatch.lab.lab import Lab
from concwatch.lab.settings import Settings
from concwatch.measure.figures import BY_NAME, Figure
from concwatch.measure.measurement import measure
from concwatch.measure.result import Outcome, Plan, Result
from concwatch.units import format_count
from concwatch.worker.burst import Burst
from concwatch.worker.workloads import parse

BURST, HOLD = "burst", "hold"
ACTIONS = {
    BURST: "create all without a pause and let them end, as the articles' scripts do",
    HOLD: "create all in short slices, as the screen does, and hold them",
}

BOTH = ("traced_added", "traced_per_task", "peak_rss", "gc_seconds", "longest_stall")
"""The figures of a burst that held tasks have, too."""

TRACED = ("traced_bytes", "traced_added", "traced_per_task", "tracer")
"""Those that need tracing; all others are never taken while tracing, unless that is the subject."""

READINGS: dict[str, Figure] = {
    name: figure for name, figure in BY_NAME.items() if name not in ("ratio", "stop_seconds", "retained_rss")
}
"""The figures that a table of an experiment can be of: none of what comes after the tasks' end."""


def actions_of(figure: Figure) -> tuple[str, ...]:
    """Return the actions that give a figure."""
    if figure.name in BOTH:
        return BURST, HOLD
    return (BURST,) if figure.burst else (HOLD,)


OVERHEAD = 0.7
"""Seconds that starting and ending a worker takes, for the forecast of time."""

WAKING = 0.00002
"""CPU seconds of waking one of very many sleepers, for the forecast of time."""


@dataclass(frozen=True)
class Cell:
    """How a run is made; two tables that read different figures of the same cell share its runs."""

    engine: str
    size: int
    action: str
    workload: str
    trace: bool = False
    gc: str = "default"
    threads: int | None = None
    stack: int | None = None
    chunks: int = 1
    older: int = 0
    read_after: float | None = None
    seconds: float = 1.0
    program: str | None = None
    """The path of the program that is run in a worker's place; the engine says what its tasks are."""
    host: Host | None = None
    """Where it runs, if not on this machine."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables that the worker or program, and the build of it, have besides what they inherit."""
    repeats: int = field(default=3, compare=False)
    """How often it is run; of two tables that share it, the first says so."""

    @property
    def settings(self) -> Settings:
        """What the lab is set to. A burst is not refilled by itself."""
        return Settings(self.workload, True, self.trace, self.gc, self.threads, self.stack)

    def row(self) -> Engine:
        """Return the catalog's row of its engine, whatever version of a runtime it asks for."""
        return known(self.engine)

    def worker(self) -> Engine:
        """Return the engine that its worker runs, on the version that it asks for, with its variables.

        Raises:
            ValueError: there is no such Python here; one line that says how to get it.
        """
        return find([self.engine])[0].on(self.host).with_variables(self.environment)

    def expected_seconds(self) -> float:
        """Forecast how long one run takes, from nothing but what it is; right within a factor of a few."""
        workload, row = parse(self.workload), self.row()
        tasks = self.size + self.older
        speed = (8_000 if row.threads else 80_000) / (3 if self.trace else 1)
        values = [float(value) for value in workload.values if isinstance(value, int | float)]
        steps = int(values[0]) if workload.word == "ticks" else 1
        each = steps * values[1] if workload.word == "ticks" else sum(values[:1])
        if self.action == BURST:
            each = max(each, steps * self.size * WAKING * (2.5 if self.trace else 1.0))
        alone = 1 if self.engine == "sequential" else tasks
        side_by_side = alone if self.threads is None else self.threads
        rounds = self.chunks * max(1, -(-self.size // self.chunks // max(1, side_by_side)))
        lasts = each * rounds if self.action == BURST else self.seconds
        return OVERHEAD + tasks / speed + lasts

    def why_not(self, lab: Lab) -> str | None:
        """Return why its machine cannot hold it, with the figures; None when it can."""
        row = self.row()
        if self.host and self.program:
            return f"{self.engine}: a program of an article runs on this machine only"
        missing = None if self.program else self.worker().missing()
        if missing or self.host:  # what another host can hold its guard finds out
            return missing
        # Whatever they do: a burst has all of its tasks live.
        capacity = lab.here.capacity
        demand = replace(weigh(row, self.settings), walls=walls_of(row, self.settings, capacity.walls))
        held = forecast(self.size + self.older, [demand], capacity.budget.room, bound=capacity.budget.bound)
        return None if held.fits else held.why()


class NotMeasuredError(Exception):
    """A run gave no figures; its text says why."""


class MissingError(NotMeasuredError):
    """What a run needs is not on this machine, or is too little."""


async def run_once(lab: Lab, cell: Cell) -> Result:
    """Run ``cell`` once on a lab of its own, which has one lane and is closed then.

    Raises:
        NotMeasuredError: there are no figures, and why.
    """
    burst = Burst(cell.size, cell.chunks, cell.older, cell.read_after) if cell.action == BURST else None
    (result,) = await measure(lab, [Plan(cell.size, cell.seconds, burst, stop=False)])
    peak = lab.lanes[0].worker.tally.peak_live
    enough = result.outcome is Outcome.SHORT and peak >= cell.size * NEAR_ALL
    if result.outcome is not Outcome.DONE and not enough:
        live = f": {format_count(peak)} of {format_count(cell.size)} live"
        limited = result.outcome is Outcome.LIMITED
        raise NotMeasuredError(f"{result.reason}{live if limited else ''}")
    if not result.figures:
        raise NotMeasuredError("its worker ended before anything could be read")
    return result
