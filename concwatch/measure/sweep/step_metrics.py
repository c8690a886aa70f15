"""The metrics of a step of a sweep, as experiments read them; durations are those of lanes."""

from operator import attrgetter

from concwatch.measure.sweep.sweep_result import Step
from concwatch.monitor.metrics.metric import DERIVED, DOWN, EXACT, NONE, SAMPLED, UP, Metric
from concwatch.monitor.metrics.unit import RATE, SECONDS

SWEEP, ENDING = ("sweep",), ("burst", "sweep")
"""The actions of an experiment whose tasks all end."""


def _cycle(step: Step) -> float:
    return step.tasks / step.throughput


STEP_METRICS = (
    Metric(
        "throughput",
        RATE,
        "Tasks that end per second while so many are live; of a burst, its tasks divided by its seconds.",
        DERIVED, NONE, SAMPLED, (), DOWN, 1, "throughput", of=attrgetter("throughput"), actions=ENDING,
    ),
    Metric(
        "± throughput",
        RATE,
        "Half the 95 % interval of the throughput.",
        DERIVED, NONE, EXACT, (), 0, 2, "throughput_interval", of=attrgetter("interval"), actions=SWEEP,
    ),
    Metric(
        "cycle",
        SECONDS,
        "Time in which as many tasks end as are live, or all of a burst.",
        DERIVED, NONE, SAMPLED, (), UP, 3, "cycle_seconds", of=_cycle, actions=ENDING,
    ),
)  # fmt: skip
"""The rows, which are computed from a `Step`."""


def step_values(step: Step) -> dict[str, float | None]:
    """Return the values of all metrics of a step by name, with the durations of its tasks."""
    durations = {name: getattr(step, name) for name in ("duration_p50", "duration_p99")}
    return {**{row.name: row.value(step) for row in STEP_METRICS}, **durations}


def burst_values(tasks: int, seconds: float) -> dict[str, float | None]:
    """Return the values of the metrics that a burst has too."""
    step = Step(tasks, tasks / seconds, 0.0, None, None, None, None, seconds)
    return {row.name: row.value(step) for row in STEP_METRICS if row.actions == ENDING}
