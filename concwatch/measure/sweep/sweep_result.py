"""The result of a sweep: the steps of one engine, and what follows from them."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec import Struct, to_builtins

from concwatch.links.messages import Failure
from concwatch.measure.measured import Measured
from concwatch.measure.sweep.knee import (
    FittedLaw,
    IntervalEstimate,
    Knee,
    estimate_best,
    find_knee,
    find_peak,
    fit_law,
    more_is_slower,
)
from concwatch.measure.sweep.law import Point
from concwatch.monitor.metrics.unit import COUNT, RATE, SECONDS, SHARE, Unit
from concwatch.monitor.verdicts.failures import failures_json
from concwatch.portable.protocol.units import (
    counted,
    format_count,
    format_percent,
    format_rate,
    format_seconds,
)

KNOWN = 0.02
"""Half the 95 % interval, as a share of the throughput, within which it is known."""

TASKS, POOL_THREADS = "tasks", "pool threads"
"""What grows from step to step."""

DIFFERS = 1.25
"""How many times as long the p99 of two neighbouring steps must be for one between them to be measured."""

LONGER = 2.0
"""How many times as long tasks must take, for the same throughput, to be mentioned."""

FIGURES: Mapping[str, Unit] = {
    "knee": COUNT,
    "knee_throughput": RATE,
    "knee_p99": SECONDS,
    "best_throughput": RATE,
    "peak": COUNT,
    "contention": SHARE,
    "crosstalk": SHARE,
}
"""The values that can be expected of a sweep, and their units."""


class Step(Struct, frozen=True):
    """What was measured with one number of live tasks. None is unknown."""

    tasks: int
    """Live tasks, or threads of the pool."""
    throughput: float
    """Tasks that ended and were replaced, per second."""
    interval: float
    """Half the 95 % interval of the throughput."""
    duration_p50: float | None
    duration_p99: float | None
    """Seconds, of tasks that began at this step."""
    cpu: float | None
    """Cores used."""
    memory_per_task: float | None
    """Bytes, with what the kernel holds."""
    seconds: float
    """For how long it was measured."""
    limited_by: str | None = None

    @property
    def known(self) -> bool:
        """Whether the throughput is known within 2 %."""
        return self.interval <= KNOWN * self.throughput

    def text(self, over: str = TASKS) -> str:
        """Return what was measured, in a line."""
        half = f" ± {format_percent(self.interval / self.throughput)}" if not self.known else ""
        took = f", p99 {format_seconds(self.duration_p99)}" if self.duration_p99 is not None else ""
        return f"{counted(self.tasks, over.removesuffix('s'))}: {format_rate(self.throughput)}{half}{took}"

    @property
    def point(self) -> Point:
        """The step as a point of the curve."""
        return Point(self.tasks, self.throughput, self.interval / 2)


class SweepResult(Struct, dict=True):
    """The steps of one engine, and what follows from them."""

    engine: str
    over: str = TASKS
    """What grows from step to step: the live tasks, or the threads of a pool."""
    steps: list[Step] = []
    """By their number of tasks."""
    ended_by: str = ""
    """Why no more tasks were tried; empty if all were."""
    failures: Sequence[Failure] = ()
    """The tasks that failed, by kind."""
    failed: bool = False
    """Whether the worker could not run at all, or failed."""
    runtime: str | None = None
    repeats: "tuple[SweepResult, ...]" = ()
    """The sweeps of which this is the result, if there are several."""

    @property
    def points(self) -> list[Point]:
        """The curve of throughput."""
        return [step.point for step in self.steps]

    @cached_property
    def knee(self) -> Knee | None:
        """How many tasks are enough; None if throughput rises to the last step."""
        return find_knee(self.points)

    @cached_property
    def law(self) -> FittedLaw | None:
        """The law of scalability that fits; None if none does."""
        return fit_law(self.points)

    @property
    def unmeasured_knee(self) -> int | None:
        """How many tasks are enough if no step has as many, and durations differ between its neighbours."""
        tasks = int(self.knee.tasks.value) if self.knee is not None else 0
        shorter = [step.duration_p99 for step in self.steps if step.tasks < tasks][-1:]
        longer = self._step_from(tasks)
        if not shorter or longer is None or longer.tasks == tasks:
            return None
        below, above = shorter[0], longer.duration_p99
        return tasks if below and above and above > DIFFERS * below else None

    @property
    def more_is_slower(self) -> bool:
        """Whether throughput falls beyond its best."""
        return len(self.steps) > 1 and more_is_slower(self.points)

    @property
    def limited_by(self) -> str | None:
        """What limits throughput from the knee on, or with the most tasks without one, if concwatch knows."""
        knee = self.knee
        after = [step for step in self.steps if knee is not None and step.tasks >= knee.tasks.value]
        after = after or self.steps[-1:]
        return next((step.limited_by for step in after if step.limited_by), None)

    @property
    def estimates(self) -> dict[str, IntervalEstimate | None]:
        """The values of `FIGURES` by name, with their intervals; None if unknown."""
        knee, law = self.knee, self.law
        return {
            "knee": knee.tasks if knee else None,
            "knee_throughput": knee.throughput if knee else None,
            "knee_p99": self._p99_at(knee.tasks) if knee else None,
            "best_throughput": estimate_best(self.points) if self.steps else None,
            "peak": law.peak if law else find_peak(self.points),
            "contention": law.contention if law else None,
            "crosstalk": law.crosstalk if law else None,
        }

    @property
    def figures(self) -> dict[str, float | None]:
        """The values of `FIGURES` by name; None if unknown."""
        return {name: found.value if found else None for name, found in self.estimates.items()}

    def _p99_at(self, tasks: IntervalEstimate) -> IntervalEstimate | None:
        """Return the duration p99 of the first step with so many tasks.

        Its interval has those of all steps within that of the tasks, and of all repeats. With a number of
        tasks, durations are inverse to the throughput (Little's law), so they are not known better than that.
        """
        at = self._step_from(tasks.value)
        if at is None or at.duration_p99 is None:
            return None
        off = at.duration_p99 * at.interval / at.throughput
        within = [one.duration_p99 for one in self.steps if tasks.low <= one.tasks <= tasks.high]
        others = filter(None, (*within, *(sweep.p99(tasks.value) for sweep in self.repeats)))
        found = [at.duration_p99 - off, at.duration_p99 + off, *others]
        return IntervalEstimate(at.duration_p99, min(found), max(found))

    def p99(self, tasks: float) -> float | None:
        """Return the duration p99 of the first step with so many tasks."""
        at = self._step_from(tasks)
        return at.duration_p99 if at else None

    def _step_from(self, tasks: float) -> Step | None:
        """Return the first step with so many tasks."""
        return next((step for step in self.steps if step.tasks >= tasks), None)

    def add(self, step: Step) -> None:
        """Add a step."""
        self.steps = sorted([*self.steps, step], key=lambda one: one.tasks)
        for name in ("knee", "law"):
            self.__dict__.pop(name, None)

    def sentence(self) -> str:
        """Return how many tasks are enough, and what more of them bring, in one sentence."""
        knee, steps = self.knee, self.steps
        if not steps:
            return f"{self.engine}: not measured: {self.ended_by}"
        if knee is None:
            last = steps[-1]
            return (
                f"{self.engine}: throughput rises up to {format_count(last.tasks)} {self.over}: "
                f"{format_rate(last.throughput)}"
            )
        enough, p99 = int(knee.tasks.value), self.p99(knee.tasks.value)
        took = f", p99 {format_seconds(p99)}" if p99 is not None else ""
        what = "at once" if self.over == TASKS else self.over.removesuffix("s" if enough == 1 else "")
        verb = "is" if enough == 1 else "are"
        reached, best = format_rate(knee.throughput.value), format_rate(knee.best.value)
        text = (
            f"{self.engine}: {format_count(enough)} {what} {verb} enough: {reached} of at most {best}{took}"
        )
        last = steps[-1]
        if self.more_is_slower:
            return f"{text}; more is slower: {format_rate(last.throughput)} with {format_count(last.tasks)}"
        last = next((step for step in reversed(steps) if step.duration_p99), last)
        if p99 and last.duration_p99 and last.duration_p99 > LONGER * p99:
            slower = format_seconds(last.duration_p99)
            return f"{text}; with {format_count(last.tasks)} p99 is {slower} for the same throughput"
        return text

    def summary(self) -> str:
        """Return `sentence`, what limits throughput, and why no more tasks were tried."""
        notes = [f"limited by {self.limited_by}"] if self.limited_by else []
        notes += [f"ended: {self.ended_by}"] if self.ended_by and self.steps else []
        return "; ".join((self.sentence(), *notes))

    def as_json(self) -> dict[str, object]:
        """Return its object of ``concwatch sweep --json``: tasks, seconds, bytes, tasks per second."""
        knee, law, estimates = self.knee, self.law, self.estimates
        p99 = estimates["knee_p99"]
        found: dict[str, object] = {
            "engine": self.engine,
            "runtime": self.runtime,
            "over": self.over,
            "knee": knee
            and {
                "tasks": int(knee.tasks.value),
                "interval": [knee.tasks.low, knee.tasks.high],
                "throughput": knee.throughput.value,
                "p99": p99 and p99.value,
                "best_throughput": knee.best.value,
            },
            "fit": law
            and {
                "rate": _as_json(law.rate),
                "contention": _as_json(law.contention),
                "crosstalk": _as_json(law.crosstalk),
                "peak": law.peak and _as_json(law.peak),
                "bend": law.law.bend,
            },
            "more_is_slower": self.more_is_slower,
            "peak": estimates["peak"] and _as_json(estimates["peak"]),
            "limited_by": self.limited_by,
            "ended_by": self.ended_by or None,
            "failures": failures_json(self.failures),
            "failed": self.failed,
            "steps": [{**to_builtins(step), "known": step.known} for step in self.steps],
        }
        if self.repeats:
            runs = [sweep.figures for sweep in self.repeats]
            known = {name: taken for name in FIGURES if (taken := Measured.of(run[name] for run in runs))}
            found["runs"] = runs
            found["spread"] = {name: taken.spread for name, taken in known.items()}
        return found


def _as_json(estimate: IntervalEstimate) -> dict[str, object]:
    return {"value": estimate.value, "interval": [estimate.low, estimate.high]}
