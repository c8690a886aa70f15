"""An experiment's result as one JSON object: every figure, every run, and what it was measured with."""

import json
import re
from dataclasses import asdict
from pathlib import Path

from msgspec import to_builtins

from concwatch.experiments.cell import Cell
from concwatch.experiments.report import Occasion, Row, Sheet, measured, runtimes, sheets
from concwatch.experiments.runner import Outcome, Runner
from concwatch.measure.measurement import Result

_NUMBERS = re.compile(r"\[\n\s+(?:[-+.\deE]+,\n\s+)*[-+.\deE]+\n\s+\]")


def report_json(runner: Runner, occasion: Occasion) -> str:
    """Write the whole result, a list of numbers a line."""
    text = json.dumps(as_object(runner, occasion), indent=2, ensure_ascii=False)
    # No string holds a line end as such, so what is matched are lists alone.
    return _NUMBERS.sub(lambda found: f"[{' '.join(found[0][1:-1].split())}]", text) + "\n"


def as_object(runner: Runner, occasion: Occasion) -> dict[str, object]:
    """Give the object: tables in their own units; cells in bytes, seconds, and tasks a second."""
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
    table = sheet.table
    return {
        "title": table.title,
        "reading": table.reading,
        "unit": table.unit,
        "counted": table.counted,
        "note": table.note,
        "sentence": sheet.sentence,
        "rows": [_row(row, cells) for row in sheet.rows],
    }


def _row(row: Row, cells: list[Cell]) -> dict[str, object]:
    figure, entry = row.figure, row.figure.entry
    shown = measured(figure)
    return {
        "series": entry.series.name,
        "engine": entry.series.engine,
        "size": entry.size,
        "unit": entry.table.unit,
        "published": entry.published,
        "here": figure.here if shown else None,
        "ratio": figure.ratio if shown else None,
        "spread": figure.spread if shown else None,
        "unsteady": figure.unsteady and shown,
        "state": figure.state.value,
        "reason": figure.reason or None,
        "repeats": list(figure.runs),
        "cell": None if entry.cell is None else cells.index(entry.cell),
    }


def _cell(cell: Cell, outcome: Outcome, runner: Runner) -> dict[str, object]:
    return {
        **asdict(cell),
        "program": cell.program and Path(cell.program).name,
        "repeats": runner.repeats(cell),
        "state": outcome.state.value,
        "reason": outcome.reason or None,
        "runs": [_run(run) for run in outcome.runs],
    }


def _run(run: Result) -> dict[str, object]:
    return {
        "figures": {name: value for name, value in run.figures.items() if value is not None},
        "seconds": run.seconds,
        "own_seconds": run.own_seconds,
        "live": run.live,
        "runtime": run.runtime,
        "flags": run.flags,
        "trail": [list(point) for point in run.trail],
    }
