"""Several sweeps of one engine as one result."""

import statistics
from collections.abc import Callable, Sequence

from msgspec import structs

from concwatch.measure.sweep.sweep_result import Step, SweepResult
from concwatch.monitor.statistics.student import T95, student_t
from concwatch.monitor.verdicts.failures import added


def merge(sweeps: Sequence[SweepResult]) -> SweepResult:
    """Return one result of all sweeps of an engine, at least one.

    The throughput of a step is the mean over the sweeps that have it. Its interval is that of a mean of as
    many steps, but at least what follows from the spread between the sweeps, by Student's t. That spread is
    taken as a share of the throughput and pooled over all steps, since a step has few values.
    """
    if len(sweeps) == 1:
        return sweeps[0]
    by_tasks: dict[int, list[Step]] = {}
    for sweep in sweeps:
        for step in sweep.steps:
            by_tasks.setdefault(step.tasks, []).append(step)
    spread = _spread(list(by_tasks.values()))
    first = sweeps[0]
    return SweepResult(
        first.engine,
        first.over,
        [_mean(by_tasks[tasks], spread) for tasks in sorted(by_tasks)],
        next((sweep.ended_by for sweep in sweeps if sweep.ended_by), ""),
        added(one for sweep in sweeps for one in sweep.failures),
        any(sweep.failed for sweep in sweeps),
        next((sweep.runtime for sweep in sweeps if sweep.runtime), None),
        tuple(sweeps),
    )


def _spread(groups: Sequence[Sequence[Step]]) -> float:
    """Return half the 95 % interval of one throughput, as a share of it, from those of equal steps."""
    squares, degrees = 0.0, 0
    for group in groups:
        values = [step.throughput for step in group]
        mean = statistics.fmean(values)
        squares += sum((value / mean - 1) ** 2 for value in values)
        degrees += len(values) - 1
    return student_t(T95, degrees) * (squares / degrees) ** 0.5 if degrees else 0.0


def _mean(steps: Sequence[Step], spread: float) -> Step:
    count = len(steps)
    mean = statistics.fmean(step.throughput for step in steps)
    within = statistics.fmean(step.interval**2 for step in steps) ** 0.5

    def median(value: Callable[[Step], float | None]) -> float | None:
        known = [found for step in steps if (found := value(step)) is not None]
        return statistics.median(known) if known else None

    return structs.replace(
        steps[0],
        throughput=mean,
        interval=max(within, spread * mean) / count**0.5,
        duration_p50=median(lambda step: step.duration_p50),
        duration_p99=median(lambda step: step.duration_p99),
        cpu=median(lambda step: step.cpu),
        memory_per_task=median(lambda step: step.memory_per_task),
        seconds=sum(step.seconds for step in steps),
        limited_by=next((step.limited_by for step in steps if step.limited_by), None),
    )
