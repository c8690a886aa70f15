"""One cell: a number of tasks run in one way, which gives one or more figures."""

from dataclasses import dataclass, field

from concwatch.experiments.readings import BURST
from concwatch.lab.catalog import CATALOG, Engine
from concwatch.lab.lab import Lab
from concwatch.lab.limits import fits
from concwatch.lab.settings import Settings
from concwatch.units import format_bytes, format_count
from concwatch.worker.workloads import parse

OVERHEAD = 0.7
"""Seconds that starting and ending a worker takes, for the forecast of time."""

WAKING = 0.00002
"""CPU seconds of waking one of very many sleepers, for the forecast of time."""

MARGIN = 1.2
"""How much more than the catalog's bytes a task is taken to weigh, so that no size is tried blindly."""

IDLE = 20 << 20
"""Bytes of a worker without tasks."""

HTTP_BYTES = 400_000
"""Bytes of a task that holds a page of 100 KB, its buffers and its client."""

FILES_KEPT = 64
"""Open files that a process needs besides one for each connection."""


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
    repeats: int = field(default=3, compare=False)
    """How often it is run; of two tables that share it, the first says so."""

    @property
    def settings(self) -> Settings:
        """What the lab is set to. A burst is not refilled by itself."""
        return Settings(
            workload=self.workload,
            refill=True,
            trace=self.trace,
            gc=self.gc,
            threads=self.threads,
            stack=self.stack,
        )

    def row(self) -> Engine:
        """Give the catalog's row of its engine."""
        return next(engine for engine in CATALOG if engine.name == self.engine)

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

    def forecast_bytes(self) -> float:
        """Forecast the RSS in bytes of its worker with all of its tasks."""
        row, workload = self.row(), parse(self.workload)
        weight = row.bytes_per_task * (row.traced_factor if self.trace else 1.0) * MARGIN
        if workload.word == "payload":
            weight += float(str(workload.values[0]))
        elif workload.word == "http":
            weight += HTTP_BYTES
        return IDLE + weight * (self.size + self.older)

    def why_not(self, lab: Lab) -> str | None:
        """Say why this machine cannot hold it, with the figures; None when it can."""
        row = self.row()
        missing = row.missing()
        if missing:
            return missing
        need = self.forecast_bytes()
        if need > lab.budget:
            return f"needs about {format_bytes(need)}, the memory budget is {format_bytes(lab.budget)}"
        if row.threads:
            fit = fits(1.0, lab.budget, lab.walls)
            if self.size > fit.tasks:
                return f"this machine holds {format_count(fit.tasks)} threads, then {fit.wall} is in the way"
        if parse(self.workload).word == "http":
            most = most_files() - FILES_KEPT
            if self.size > most:
                return f"this machine lets a process open {format_count(most)} connections (ulimit -n)"
        return None


def most_files() -> int:
    """Give how many files a process may open when it asks for as many as it can."""
    try:
        import resource
    except ImportError:  # Windows, where sockets are not counted so
        return 1 << 20
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return 1 << 20 if hard == resource.RLIM_INFINITY else hard
