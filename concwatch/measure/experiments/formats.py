"""An experiment's result as JSON, CSV, Markdown and for pyperf, and the files to write them to."""

import csv
import importlib
import importlib.util
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from msgspec import to_builtins

from concwatch.measure.experiments.cell import ExperimentCell
from concwatch.measure.experiments.experiment import Experiment
from concwatch.measure.experiments.experiment_report import (
    HEADER,
    RunInfo,
    Sheet,
    SheetRow,
    cite,
    progress_note,
    runtimes,
    sheets,
)
from concwatch.measure.experiments.runner import CellOutcome, Runner, TableFigure
from concwatch.measure.experiments.swept import swept
from concwatch.measure.layout import markdown, markdown_table, without_unknown
from concwatch.measure.result import Result
from concwatch.monitor.metrics.unit import SCALES, SECONDS
from concwatch.portable.protocol.text import flat
from concwatch.portable.protocol.units import UNKNOWN, format_count, format_seconds
from concwatch.system.files import write_atomically

STANDARD_OUTPUT = "-"

# JSON and CSV.

_NUMBERS = re.compile(r"\[\n\s+(?:[-+.\deE]+,\n\s+)*[-+.\deE]+\n\s+\]")


def report_json(runner: Runner, info: RunInfo) -> str:
    """Return the whole result as JSON, each list of numbers on one line."""
    text = json.dumps(as_object(runner, info), indent=2, ensure_ascii=False)
    # Strings contain no literal line ends, so this matches only lists.
    return _NUMBERS.sub(lambda found: f"[{' '.join(found[0][1:-1].split())}]", text) + "\n"


def as_object(runner: Runner, info: RunInfo) -> dict[str, object]:
    """Return the result as an object: tables in their units; cells in bytes, seconds, tasks per second."""
    experiment = runner.experiment
    return {
        "concwatch": info.concwatch,
        "machine": dict(info.machine),
        "runtimes": runtimes(runner),
        "command": info.command,
        "experiment": {
            "name": experiment.name,
            "title": experiment.title,
            "source": to_builtins(experiment.source),
            "method": experiment.method,
        },
        "partial": runner.partial,
        "quick": runner.selection.quick,
        "begun": info.begun.isoformat(timespec="seconds"),
        "seconds": round(runner.seconds, 3),
        "tables": [_table(sheet, list(runner.outcomes)) for sheet in sheets(runner)],
        "cells": [_cell(cell, outcome, runner) for cell, outcome in runner.outcomes.items()],
    }


def _table(sheet: Sheet, cells: list[ExperimentCell]) -> dict[str, object]:
    about = {name: getattr(sheet.table, name) for name in ("title", "reading", "unit", "counted", "note")}
    rows = [
        {**_row(row), "cell": None if cell is None else cells.index(cell)}
        for row in sheet.rows
        for cell in [row.figure.entry.cell]
    ]
    return {**about, "sentence": sheet.sentence, "enough": _enough(sheet), "rows": rows}


def _enough(sheet: Sheet) -> list[dict[str, object]]:
    """Return of each series of a table of throughput what ``concwatch sweep --json`` says of an engine."""
    found = [result.as_json() for result in swept(sheet.table, [row.figure for row in sheet.rows])]
    names = ("knee", "fit", "more_is_slower", "limited_by")
    return [{"series": result["engine"], **{name: result[name] for name in names}} for result in found]


def _row(row: SheetRow) -> dict[str, object]:
    """Return a row of a table: figures in the table's unit, the spread as a share."""
    figure, entry = row.figure, row.figure.entry
    return {
        "series": entry.series.name,
        "engine": entry.series.engine,
        "size": entry.size,
        "unit": entry.table.unit,
        "published": entry.published,
        "here": figure.here,
        "ratio": figure.ratio,
        "spread": figure.spread,
        "unsteady": figure.unsteady,
        "state": figure.state.value,
        "reason": figure.reason or None,
        "repeats": list(figure.runs),
    }


def _cell(cell: ExperimentCell, outcome: CellOutcome, runner: Runner) -> dict[str, object]:
    return {
        **asdict(cell),
        "program": cell.program and Path(cell.program).name,
        "repeats": runner.repeats(cell),
        "state": outcome.state.value,
        "reason": outcome.reason or None,
        "runs": [_run(run) for run in outcome.runs],
    }


def _run(run: Result) -> dict[str, object]:
    names = ("seconds", "own_seconds", "live", "runtime", "flags")
    return {
        "figures": {name: value for name, value in run.metrics.items() if value is not None},
        **{name: getattr(run, name) for name in names},
        "trail": [list(point) for point in run.rss_curve],
    }


CSV_HEADER = (
    "experiment", "table", "series", "engine", "size", "reading", "unit", "published", "here", "ratio",
    "spread", "repeats", "state", "reason",
)  # fmt: skip


def report_csv(runner: Runner, _: RunInfo) -> str:
    """Return all rows of all tables as CSV; figures in the table's unit, the spread as a share."""
    text = io.StringIO()
    writer = csv.DictWriter(text, CSV_HEADER, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for sheet in sheets(runner):
        of = {
            "experiment": runner.experiment.name,
            "table": sheet.table.title,
            "reading": sheet.table.reading,
        }
        for row in sheet.rows:
            writer.writerow({**_row(row), **of, "repeats": len(row.figure.runs)})
    return text.getvalue()


# Markdown.


def report_markdown(runner: Runner, info: RunInfo) -> str:
    """Return the result as a section of a Markdown document."""
    paragraphs = [*_head(runner, info), *(part for sheet in sheets(runner) for part in _sheet(sheet))]
    return "\n\n".join([*paragraphs, f"Method: {markdown(runner.experiment.method)}"]) + "\n"


def _head(runner: Runner, info: RunInfo) -> Iterable[str]:
    experiment, source = runner.experiment, runner.experiment.source
    yield f"### {markdown(experiment.name)}: {markdown(experiment.title)}"
    if source is None:
        yield "Source: none; an experiment of concwatch's own."
    else:
        machine, version = markdown(source.machine), markdown(source.version)
        yield f"Source: {markdown(cite(source))}. Machine there: {machine}. Version there: {version}."
    ran = runtimes(runner)
    workers = f"\nWorkers: {markdown('; '.join(ran))}." if ran else ""
    day, took = f"{info.begun:%Y-%m-%d}", format_seconds(runner.seconds)
    yield f"Here: {markdown(info.place)}; {day}, {took}.{workers}"
    yield f"```sh\n{flat(info.command)}\n```"
    partial = progress_note(runner)
    if partial:
        yield f"**{partial[:1].upper()}{partial[1:]}.**"


def _sheet(sheet: Sheet) -> Iterable[str]:
    yield f"**{markdown(sheet.table.title)}** ({markdown(sheet.what)})"
    yield "\n".join(markdown_table(without_unknown([HEADER, *map(_cells, sheet.rows)]), left=[1]))
    yield markdown(sheet.sentence)
    if sheet.notes:
        yield "\n".join(f"- {markdown(note)}" for note in sheet.notes)


def _cells(row: SheetRow) -> Sequence[str]:
    spread = [row.spread] if row.spread != UNKNOWN else []
    marks = ", ".join([*spread, *row.remarks]) or UNKNOWN
    return row.size, row.engine, row.published, row.here or row.reason, row.ratio, marks


# pyperf: a file for ``pyperf compare_to``.

TIMED = (
    "burst_seconds", "create_seconds", "create_rate_cpu", "finish_rate_cpu", "throughput", "cycle_seconds",
)  # fmt: skip
"""The readings to export: times and rates, without those that may be 0, which pyperf refuses."""


def pyperf_problem(experiment: Experiment) -> str | None:
    """Return why there can be no report for pyperf, or None if there can."""
    if importlib.util.find_spec("pyperf") is None:
        return "--pyperf needs pyperf: pip install 'concwatch[pyperf]'"
    if not any(table.reading in TIMED for table in experiment.table):
        return f'--pyperf holds times, and no table of "{experiment.name}" is of times or rates'
    return None


def report_pyperf(runner: Runner, info: RunInfo) -> str:
    """Return every timed cell as a benchmark of pyperf, with a value in seconds for each run.

    Raises:
        ValueError: nothing was timed; pyperf refuses a file without benchmarks.
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
            "concwatch_version": info.concwatch,
        }
        # pyperf's own metadata would describe this process, not the measured one.
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


# Files.

FORMATS: Mapping[str, Callable[[Runner, RunInfo], str]] = {
    "json": report_json,
    "markdown": report_markdown,
    "csv": report_csv,
    "pyperf": report_pyperf,
}
"""Format → the function that writes it. A new format needs a line here and an option."""


def check(places: Mapping[str, str], experiment: Experiment) -> None:
    """Validate the output files: format → path, or ``-`` for standard output.

    Raises:
        ValueError: one line: a file is named twice, or a format does not suit the experiment.
    """
    for problem in _problems(places, experiment):
        raise ValueError(problem)


def _problems(places: Mapping[str, str], experiment: Experiment) -> Iterable[str]:
    taken: dict[str, str] = {}
    for name, place in places.items():
        first = taken.setdefault(place if place == STANDARD_OUTPUT else os.path.realpath(place), name)
        if first != name:
            yield f"--{first} and --{name} both name {place}"
    if "pyperf" in places and (problem := pyperf_problem(experiment)):
        yield problem


def save(places: Mapping[str, str], runner: Runner, info: RunInfo) -> tuple[str, list[str]]:
    """Write all files; return the text for standard output, and a line for each file that failed."""
    output, problems = "", []
    for name, place in places.items():
        try:
            text = FORMATS[name](runner, info)
            if place == STANDARD_OUTPUT:
                output = text
            else:
                write_atomically(Path(place), text)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            problems.append(f'--{name}: "{place}" not written: {why}')
    return output, problems
