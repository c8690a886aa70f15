"""An experiment's result for programs: as one JSON object with every run, and as CSV, a line a figure."""

import csv
import io
import json
import re
from dataclasses import asdict
from pathlib import Path

from msgspec import to_builtins

from concwatch.experiments.cell import Cell
from concwatch.experiments.report import Occasion, Sheet, SheetRow, runtimes, sheets
from concwatch.experiments.runner import CellOutcome, Runner
from concwatch.measure.result import Result

_NUMBERS = re.compile(r"\[\n\s+(?:[-+.\deE]+,\n\s+)*[-+.\deE]+\n\s+\]")


def report_json(runner: Runner, occasion: Occasion) -> str:
    """Write the whole result, a list of numbers a line."""
    text = json.dumps(as_object(runner, occasion), indent=2, ensure_ascii=False)
    # No string holds a line end as such, so what is matched are lists alone.
    return _NUMBERS.sub(lambda found: f"[{' '.join(found[0][1:-1].split())}]", text) + "\n"


def as_object(runner: Runner, occasion: Occasion) -> dict[str, object]:
    """Return the object: tables in their own units; cells in bytes, seconds, and tasks a second."""
    experiment = runner.experiment
    return {
        "concwatch": occasion.concwatch,
        "machine": dict(occasion.machine),
        "runtimes": runtimes(runner),
        "command": occasion.command,
        "experiment": {
            "name": experiment.name,
            "title": experiment.title,
            "source": to_builtins(experiment.source),
            "method": experiment.method,
        },
        "partial": runner.partial,
        "quick": runner.choice.quick,
        "begun": occasion.begun.isoformat(timespec="seconds"),
        "seconds": round(runner.seconds, 3),
        "tables": [_table(sheet, list(runner.outcomes)) for sheet in sheets(runner)],
        "cells": [_cell(cell, outcome, runner) for cell, outcome in runner.outcomes.items()],
    }


def _table(sheet: Sheet, cells: list[Cell]) -> dict[str, object]:
    about = {name: getattr(sheet.table, name) for name in ("title", "reading", "unit", "counted", "note")}
    rows = [
        {**_row(row), "cell": None if cell is None else cells.index(cell)}
        for row in sheet.rows
        for cell in [row.figure.entry.cell]
    ]
    return {**about, "sentence": sheet.sentence, "rows": rows}


def _row(row: SheetRow) -> dict[str, object]:
    """Return a line of a table: figures in the table's unit, the spread as a share."""
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


def _cell(cell: Cell, outcome: CellOutcome, runner: Runner) -> dict[str, object]:
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
        "figures": {name: value for name, value in run.figures.items() if value is not None},
        **{name: getattr(run, name) for name in names},
        "trail": [list(point) for point in run.trail],
    }


CSV_HEADER = (
    "experiment", "table", "series", "engine", "size", "reading", "unit", "published", "here", "ratio",
    "spread", "repeats", "state", "reason",
)  # fmt: skip


def report_csv(runner: Runner, _: Occasion) -> str:
    """Write every line of every table; figures in the table's unit, the spread as a share."""
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
