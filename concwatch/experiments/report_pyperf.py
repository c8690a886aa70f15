"""An experiment's times in pyperf's own format, so that ``pyperf compare_to`` works on two of them."""

import importlib
import importlib.util
import io
from collections.abc import Iterable

from concwatch.experiments.experiment import Experiment
from concwatch.experiments.report import Occasion
from concwatch.experiments.runner import Runner, TableFigure
from concwatch.measure.units import SCALES, SECONDS
from concwatch.text import flat
from concwatch.units import format_count

TIMED = ("burst_seconds", "create_seconds", "create_rate_cpu", "finish_rate_cpu")
"""Readings that are times or rates. Time in the collector, or a stall, may be 0, an error for pyperf."""


def why_not_pyperf(experiment: Experiment) -> str | None:
    """Return why there can be no such report, before anything runs; None when there can."""
    if importlib.util.find_spec("pyperf") is None:
        return "--pyperf needs pyperf: pip install 'concwatch[pyperf]'"
    if not any(table.reading in TIMED for table in experiment.table):
        return f'--pyperf holds times, and no table of "{experiment.name}" is of times or rates'
    return None


def report_pyperf(runner: Runner, occasion: Occasion) -> str:
    """Write every timed cell as a benchmark, every run of it as a value: seconds, whatever the table's unit.

    Raises:
        ValueError: nothing was timed, and a file without a benchmark is none of pyperf's.
    """
    pyperf = importlib.import_module("pyperf")
    benchmarks = []
    for figure in runner.figures():
        values, cell = [value for value in _seconds(figure) if value > 0], figure.entry.cell
        if cell is None or figure.here is None or not values:
            continue
        title, series = flat(figure.entry.table.title), flat(figure.entry.series.name)
        metadata = {
            "name": f"{runner.experiment.name}: {title}: {series} {format_count(cell.size)}",
            "unit": "second",
            "runtime": runner.outcomes[cell].runs[0].runtime or "",
            "concwatch_version": occasion.concwatch,
        }
        # What pyperf would collect by itself is of this process, where nothing was measured.
        runs = [pyperf.Run([value], metadata=metadata, collect_metadata=False) for value in values]
        benchmarks.append(pyperf.Benchmark(runs))
    if not benchmarks:
        raise ValueError("nothing was timed")
    text = io.StringIO()
    pyperf.BenchmarkSuite(benchmarks).dump(text)
    return text.getvalue()


def _seconds(figure: TableFigure) -> Iterable[float]:
    """Return the seconds that each run of a timed figure took."""
    kind, factor = SCALES[figure.entry.table.unit]
    runs = figure.runs if figure.entry.table.reading in TIMED else ()
    if kind is SECONDS:
        return [value * factor for value in runs]
    return [figure.entry.size / (value * factor) for value in runs if value > 0]
