"""An experiment's times in pyperf's own format, so that ``pyperf compare_to`` works on two of them."""

import importlib
import importlib.util
import io
from collections.abc import Iterable

from concwatch.experiments.experiment import Experiment, Table
from concwatch.experiments.report import Occasion, Sheet, sheets
from concwatch.experiments.runner import Runner, TableFigure
from concwatch.measure.units import RATE, SCALES, SECONDS
from concwatch.text import flat
from concwatch.units import format_count


def why_not_pyperf(experiment: Experiment) -> str | None:
    """Return why there can be no such report, before anything runs; None when there can."""
    if importlib.util.find_spec("pyperf") is None:
        return "--pyperf needs pyperf: pip install 'concwatch[pyperf]'"
    if not any(map(_timed, experiment.table)):
        return f'--pyperf holds times, and no table of "{experiment.name}" is of times or rates'
    return None


def report_pyperf(runner: Runner, occasion: Occasion) -> str:
    """Write every timed cell as a benchmark, every run of it as a value: seconds, whatever the table's unit.

    Raises:
        ValueError: nothing was timed, and a file without a benchmark is none of pyperf's.
    """
    pyperf = importlib.import_module("pyperf")
    name, benchmarks = runner.experiment.name, []
    for sheet in sheets(runner):
        for label, values, runtime in _timed_cells(sheet, runner):
            metadata = {"name": f"{name}: {label}", "unit": "second", "runtime": runtime}
            metadata["concwatch_version"] = occasion.concwatch
            # What pyperf would collect by itself is of this process, where nothing was measured.
            runs = [pyperf.Run([value], metadata=metadata, collect_metadata=False) for value in values]
            benchmarks.append(pyperf.Benchmark(runs))
    if not benchmarks:
        raise ValueError("nothing was timed")
    text = io.StringIO()
    pyperf.BenchmarkSuite(benchmarks).dump(text)
    return text.getvalue()


def _timed(table: Table) -> bool:
    # Time in the collector, or a stall, may be none at all, which pyperf takes for an error.
    return table.reading in ("burst_seconds", "create_seconds", "create_rate_cpu", "finish_rate_cpu")


def _timed_cells(sheet: Sheet, runner: Runner) -> Iterable[tuple[str, list[float], str]]:
    if not _timed(sheet.table):
        return
    for row in sheet.rows:
        figure, cell = row.figure, row.figure.entry.cell
        values = [value for value in _seconds(figure) if value > 0]
        if cell is None or figure.here is None or not values:
            continue
        table, series = flat(sheet.table.title), flat(figure.entry.series.name)
        runtime = runner.outcomes[cell].runs[0].runtime or ""
        yield f"{table}: {series} {format_count(cell.size)}", values, runtime


def _seconds(figure: TableFigure) -> list[float]:
    """Return the seconds that each run took."""
    kind, factor = SCALES[figure.entry.table.unit]
    if kind is SECONDS:
        return [value * factor for value in figure.runs]
    assert kind is RATE
    return [figure.entry.size / (value * factor) for value in figure.runs if value > 0]
