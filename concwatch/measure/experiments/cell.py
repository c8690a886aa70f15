"""One cell of an experiment: a number of tasks run with one set of options, and the figures to read."""

from dataclasses import dataclass, field

from msgspec.structs import replace

from concwatch.hosts.host import Host
from concwatch.measure.measurement import measure
from concwatch.measure.result import Outcome, Plan, Result
from concwatch.measure.sweep.engine_sweep import HZ, MOST_LIVES
from concwatch.measure.sweep.step_metrics import STEP_METRICS, burst_values
from concwatch.monitor.lanes.forecast import forecast, limit_fits, task_demand
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.metric import Metric
from concwatch.monitor.metrics.metrics import LISTED
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.workers.catalog import Engine, catalog_row, find_engines
from concwatch.monitor.workers.cost import NEAR_ALL
from concwatch.portable.protocol.units import format_count
from concwatch.portable.protocol.workloads import parse
from concwatch.portable.worker.burst import Burst

BURST, HOLD, SWEEP = "burst", "hold", "sweep"
ACTIONS = {
    BURST: "create all tasks without a pause and let them end, as the articles' scripts do",
    HOLD: "create all tasks in short slices, as the screen does, and hold them",
    SWEEP: "hold them and replace each that ends, until their throughput is known: a step of a sweep",
}

READINGS: dict[str, Metric] = {metric.name: metric for metric in (*LISTED, *STEP_METRICS) if metric.actions}
"""The metrics that a table of an experiment can have: all that are read before the tasks end."""

OVERHEAD = 0.7
"""Seconds to start and stop a worker, for the forecast of time."""

WAKE_SECONDS = 0.00002
"""CPU seconds to wake one of very many sleepers, for the forecast of time."""


@dataclass(frozen=True)
class ExperimentCell:
    """The options of a run. Two tables that read different figures of equal cells share their runs."""

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
    """Path of a program that runs instead of a worker; its tasks are those of the engine."""
    host: Host | None = None
    """The host that it runs on; None for this machine."""
    environment: tuple[tuple[str, str], ...] = ()
    """Environment variables added for the worker or program, and for its build."""
    repeats: int = field(default=3, compare=False)
    """Number of runs; if tables share the cell, that of the first."""

    @property
    def settings(self) -> Settings:
        """The settings of the lab. Tasks of a burst are not refilled in any case."""
        return Settings(self.workload, True, self.trace, self.gc, self.threads, self.stack)

    @property
    def lab_options(self) -> dict[str, float]:
        """The options of its lab besides its settings: a sweep knows to within a tick when tasks end."""
        return {"hz": HZ} if self.action == SWEEP else {}

    def row(self) -> Engine:
        """Return the catalog's row of its engine, ignoring the version."""
        return catalog_row(self.engine)

    def worker(self) -> Engine:
        """Return the engine of its worker, with the version, host and variables.

        Raises:
            ValueError: this Python is not installed; one line that says how to install it.
        """
        return find_engines([self.engine])[0].on(self.host).with_variables(self.environment)

    def expected_seconds(self) -> float:
        """Forecast the seconds of one run from its options alone, to within a small factor."""
        workload, row = parse(self.workload), self.row()
        tasks = self.size + self.older
        speed = (8_000 if row.threads else 80_000) / (3 if self.trace else 1)
        values = [float(value) for value in workload.values if isinstance(value, int | float)]
        steps = int(values[0]) if workload.word == "ticks" else 1
        each = steps * values[1] if workload.word == "ticks" else sum(values[:1])
        if self.action != HOLD:
            each = max(each, steps * self.size * WAKE_SECONDS * (2.5 if self.trace else 1.0))
        unlimited = 1 if self.engine == "sequential" else tasks
        concurrent = unlimited if self.threads is None else self.threads
        rounds = self.chunks * max(1, -(-self.size // self.chunks // max(1, concurrent)))
        duration = each * rounds if self.action == BURST else self.seconds
        if self.action == SWEEP:  # until each task has been replaced, and then until throughput is known
            duration = each + max(duration, MOST_LIVES * each)
        return OVERHEAD + tasks / speed + duration

    def problem(self, lab: Lab) -> str | None:
        """Return why the machine cannot run the cell, or None if it can."""
        row = self.row()
        if self.host and self.program:
            return f"{self.engine}: a program of an article runs on this machine only"
        missing = None if self.program else self.worker().missing()
        if missing or self.host:  # admission control checks the memory of another host
            return missing
        # A burst also has all of its tasks live at once.
        capacity = lab.fleet.local.capacity
        demand = replace(
            task_demand(row, self.settings), limits=limit_fits(row, self.settings, capacity.limits)
        )
        held = forecast(self.size + self.older, [demand], capacity.budget.room, bound=capacity.budget.bound)
        return None if held.fits else held.why()


class NotMeasuredError(Exception):
    """A run gave no figures; the message says why."""


class MissingError(NotMeasuredError):
    """The machine lacks software or resources that a run needs."""


async def run_once(lab: Lab, cell: ExperimentCell) -> Result:
    """Run ``cell`` once on ``lab``, which has one lane, and close the lab.

    Raises:
        NotMeasuredError: there are no figures; the message says why.
    """
    burst = Burst(cell.size, cell.chunks, cell.older, cell.read_after) if cell.action == BURST else None
    (result,) = await measure(lab, [Plan(cell.size, cell.seconds, burst, stop=False)])
    peak = lab.snapshot().lanes[0].status.peak_live
    enough = result.outcome is Outcome.SHORT and peak >= cell.size * NEAR_ALL
    if result.outcome is not Outcome.DONE and not enough:
        live = f": {format_count(peak)} of {format_count(cell.size)} live"
        limited = result.outcome is Outcome.LIMITED
        raise NotMeasuredError(f"{result.reason}{live if limited else ''}")
    if not result.metrics:
        raise NotMeasuredError("its worker ended before a figure could be read")
    if burst and (seconds := result.metrics["burst_seconds"]):
        result.metrics.update(burst_values(cell.size, seconds))
    return result
