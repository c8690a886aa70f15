"""How many tasks at once are enough, by the steps of each series of a table of throughput."""

import math
import statistics
from collections.abc import Iterator, Sequence
from functools import lru_cache

from concwatch.measure.experiments.experiment import ExperimentTable
from concwatch.measure.experiments.runner import TableFigure
from concwatch.measure.measured import Measured
from concwatch.measure.result import Result
from concwatch.measure.sweep.sweep_result import KNOWN, Step, SweepResult
from concwatch.monitor.metrics.unit import SCALES

LEAST_STEPS = 3
"""Fewer steps show no bend."""


def swept(table: ExperimentTable, figures: Sequence[TableFigure]) -> Iterator[SweepResult]:
    """Yield the steps of each series of a table of throughput as a sweep; nothing for other tables.

    Figures of other tables are ignored, and so are series of fewer than three sizes. The engine of a sweep is
    the name of its series.
    """
    if table.reading != "throughput":
        return
    found: dict[str, list[Step]] = {}
    for figure in sorted(figures, key=lambda each: each.entry.size):
        if figure.entry.table is table and figure.here:
            found.setdefault(figure.entry.series.name, []).append(_step(figure, figure.here))
    for name, steps in found.items():
        if len(steps) >= LEAST_STEPS:
            yield _result(name, tuple(steps))


def _step(figure: TableFigure, here: float) -> Step:
    rate, runs = here * SCALES[figure.entry.table.unit][1], figure.results
    own = _median(runs, "throughput_interval") or 0.0
    # Each run knows its own error, unless it is a burst; how runs differ is known of several.
    error = own / 2
    if len(figure.runs) > 1:
        error = max(error, rate / here * statistics.stdev(figure.runs)) / math.sqrt(len(figure.runs))
    p50, p99 = (_median(runs, name) for name in ("duration_p50", "duration_p99"))
    return Step(
        figure.entry.size,
        rate,
        2 * error,
        duration_p50=p50,
        duration_p99=p99,
        cpu=None,
        memory_per_task=None,
        seconds=sum(run.own_seconds for run in runs),
        limited_by=next((run.limited_by for run in runs if run.limited_by), None),
    )


def _median(runs: Sequence[Result], metric: str) -> float | None:
    measured = Measured.of_runs(runs, metric)
    return measured.median if measured else None


def uncertainty(figure: TableFigure) -> float | None:
    """Return half the 95 % interval of the throughput of its runs as a share; None if that is within 2 %."""
    if figure.entry.table.reading not in ("throughput", "cycle_seconds"):
        return None
    rate, half = (_median(figure.results, name) for name in ("throughput", "throughput_interval"))
    share = half / rate if half and rate else 0.0
    return share if share > KNOWN else None


@lru_cache(maxsize=64)  # the screen asks several times a second, and an interval takes milliseconds
def _result(name: str, steps: tuple[Step, ...]) -> SweepResult:
    return SweepResult(name, steps=list(steps))
