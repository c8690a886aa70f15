"""The session of ``concwatch run``: measures engines at several sizes and collects the results."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from concwatch.measure.measured import Measured
from concwatch.measure.measurement import measure
from concwatch.measure.result import Outcome, Plan, Result
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.anatomy import TaskAnatomy
from concwatch.monitor.metrics.metric import Caveat, Combine, Metric, marks_of
from concwatch.monitor.metrics.metrics import RUN_METRICS, measured_metrics
from concwatch.monitor.verdicts.events import Event
from concwatch.monitor.verdicts.failures import added, failures_json
from concwatch.monitor.workers.catalog import ON, Engine
from concwatch.system.machine import describe_machine, program_version

OVERRIDDEN_BY = {Outcome.FAILING: "failed", Outcome.SHORT: "peak_live"}
"""Outcome → the metric whose expectation replaces it."""


@dataclass
class EngineResult:
    """The results of one engine at one size, one for each repeat."""

    engine: str
    tasks: int
    results: list[Result] = field(default_factory=list)
    host: str = ""
    """The name of the other host that it ran on; empty for this machine. ``engine`` ends with it."""

    @classmethod
    def of(cls, engine: Engine, tasks: int) -> "EngineResult":
        """Return an instance without results."""
        return cls(engine.name, tasks, host=engine.host.name if engine.host else "")

    @property
    def own_name(self) -> str:
        """The name of the engine without the host."""
        return self.engine.partition(ON)[0]

    def measured(self, metric: str) -> Measured | None:
        """Return the values of a metric, one for each run that has it; None if none has."""
        return Measured.of_runs(self.results, metric)

    def median(self, metric: str) -> float | None:
        """Return the median of a metric over the runs; None if no run has it."""
        measured = self.measured(metric)
        return measured.median if measured else None

    def problems(self, expected: Collection[str] = ()) -> dict[Outcome, str]:
        """Return the outcomes of its runs and their reasons, the most severe first; empty if all are done.

        Args:
            expected: the metrics with an expectation, which replaces the corresponding outcome.
        """
        found = {outcome: why for result in self.results for outcome, why in result.problems.items()}
        counts = (each for each in Outcome if each in found and OVERRIDDEN_BY.get(each) not in expected)
        return {outcome: found[outcome] for outcome in counts}

    def outcome(self, expected: Collection[str] = ()) -> Outcome:
        """Return the most severe outcome of its runs."""
        return next(iter(self.problems(expected)), Outcome.DONE)

    def holds(self, expected: Collection[str] = ()) -> bool:
        """Return whether no task failed and all were live at once, unless something else is ``expected``."""
        limits = {Outcome.LIMITED} if "peak_live" in expected else set()
        return self.problems(expected).keys() <= limits

    @property
    def limited_by(self) -> str | None:
        """What limited the first of its runs that was limited."""
        return next((result.limited_by for result in self.results if result.limited_by), None)

    @property
    def anatomy(self) -> TaskAnatomy | None:
        """What a task consists of, in the first of its runs in which that is known."""
        return next((result.anatomy for result in self.results if result.anatomy), None)

    @property
    def anatomy_refused(self) -> str:
        """Why a worker could not say what a task consists of."""
        return next((result.anatomy_refused for result in self.results if result.anatomy_refused), "")

    def uncertain(self, metric: Metric) -> tuple[Caveat, ...]:
        """Return what makes a metric uncertain in any run."""
        read = [result.last if metric.at_end else result.held for result in self.results]
        return tuple(dict.fromkeys(caveat for lane in read if lane for caveat in metric.uncertain(lane)))

    def text(self, metric: Metric) -> str:
        """Return a metric as text, with its marks."""
        only = self.results[0] if len(self.results) == 1 else None
        lane = (only.last if metric.at_end else only.held) if only else None
        text = metric.text(lane) if lane else metric.unit.text(self.median(metric.name))
        marks = marks_of(self.uncertain(metric))
        return f"{text} {marks}" if marks else text

    def as_json(self, expected: Collection[str]) -> dict[str, object]:
        """Return its object of ``concwatch run --json``."""
        first, problems = self.results[0], self.problems(expected)
        held = [result.held for result in self.results if result.held]
        found: dict[str, object] = {
            "engine": self.own_name,
            "host": self.host or None,
            "runtime": first.runtime,
            "flags": first.flags,
            "state": self.outcome(expected).value,
            "reason": next(iter(problems.values()), None),
            "limited_by": self.limited_by,
            "failures": failures_json(added(one for result in self.results for one in result.failures)),
            "traced": first.traced,
            "gc": first.gc,
            "tasks": self.tasks,
            **{metric.name: self.median(metric.name) for metric in measured_metrics()},
            "plus_minus": {
                metric.name: resolution
                for metric in measured_metrics()
                for resolution in [max((metric.coarse_resolution(lane) or 0.0 for lane in held), default=0.0)]
                if resolution
            },
            "marks": {
                metric.name: marks
                for metric in measured_metrics()
                if (marks := marks_of(self.uncertain(metric)))
            },
            "uncertain": {
                metric.name: [caveat.name for caveat in caveats]
                for metric in measured_metrics()
                if (caveats := self.uncertain(metric))
            },
        }
        if len(self.results) > 1:
            values = {metric.name: self.measured(metric.name) for metric in measured_metrics()}
            known = {name: taken for name, taken in values.items() if taken}
            found["runs"] = [
                {"state": result.outcome.value, **{name: result.metrics.get(name) for name in known}}
                for result in self.results
            ]
            found["spread"] = {name: taken.spread for name, taken in known.items()}
            found["interval"] = {name: taken.interval for name, taken in known.items()}
        if self.anatomy is not None:
            found["anatomy"] = self.anatomy.as_json()
        return found


SUMMED = tuple(metric.name for metric in RUN_METRICS if metric.combine is Combine.SUM)
"""The metrics that are added up over hosts."""


@dataclass(frozen=True)
class Total:
    """The sums over the hosts on which an engine ran."""

    engine: str
    tasks: int
    """Tasks requested on each host."""
    hosts: int
    metrics: Mapping[str, float]
    """Those of `SUMMED` that are known."""

    def as_json(self) -> dict[str, object]:
        """Return its object of ``concwatch run --json``."""
        return {"engine": self.engine, "tasks": self.tasks, "hosts": self.hosts, **self.metrics}


def totals(rows: Iterable[EngineResult]) -> list[Total]:
    """Return the totals of each engine and size that ran on several hosts."""
    groups: dict[tuple[str, int], list[EngineResult]] = {}
    for row in rows:
        groups.setdefault((row.own_name, row.tasks), []).append(row)
    found = []
    for (engine, tasks), group in groups.items():
        medians = {name: [row.median(name) for row in group] for name in SUMMED}
        known = {name: [value for value in of if value is not None] for name, of in medians.items()}
        sums = {name: sum(values) for name, values in known.items() if values}
        found += [Total(engine, tasks, len(group), sums)] if len(group) > 1 else []
    return found


@dataclass
class RunSession:
    """What to measure, and the results so far."""

    engines: Sequence[Engine]
    sizes: Sequence[int]
    seconds: float
    """How long to hold the tasks after all have started."""
    repeats: int = 1
    together: bool = False
    anatomy: bool = False
    """Whether to find what a task consists of."""
    rows: list[EngineResult] = field(default_factory=list)
    """Those started so far, by size, then by engine."""
    events: list[Event] = field(default_factory=list)

    async def run(
        self,
        make_lab: Callable[[Sequence[Engine]], Lab],
        progress: Callable[[Lab, str, str], None],
    ) -> None:
        """Measure everything. The results so far stay valid if this is cancelled.

        Args:
            make_lab: creates a lab for some engines.
            progress: called with the lab, a lane's name, and what the lane is doing.
        """
        groups = self._groups()
        for tasks in self.sizes:
            for group in groups:
                for number in range(self.repeats):
                    lab = make_lab(group)
                    if not number:
                        self.rows += [EngineResult.of(engine, tasks) for engine in group]
                    try:
                        plans = [Plan(tasks, self.seconds, anatomy=self.anatomy)] * len(group)
                        await measure(lab, plans, partial(progress, lab), self._keep)
                    finally:
                        self.events += lab.events.since(0)

    def _keep(self, result: Result) -> None:
        """Add a result to the last row of its engine."""
        next(row for row in reversed(self.rows) if row.engine == result.engine).results.append(result)

    def _groups(self) -> list[list[Engine]]:
        """Return the engines in groups that are measured at the same time: one engine on all its hosts."""
        if self.together:
            return [list(self.engines)]
        groups: dict[str, list[Engine]] = {}
        for engine in self.engines:
            groups.setdefault(engine.own_name, []).append(engine)
        return list(groups.values())

    def as_json(self, workload: str, expected: Callable[[str], Collection[str]]) -> dict[str, object]:
        """Return the object of ``concwatch run --json``.

        Args:
            workload: what each task did.
            expected: returns the metrics of an engine that have an expectation.
        """
        return {
            "concwatch": program_version(),
            "machine": describe_machine(),
            "workload": workload,
            "lanes": [row.as_json(expected(row.own_name)) for row in self.rows],
            "totals": [total.as_json() for total in totals(self.rows)],
        }
