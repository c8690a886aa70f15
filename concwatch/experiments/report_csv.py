"""An experiment's result as CSV: one line a figure."""

import csv
import io

from concwatch.experiments.report import Occasion, sheets
from concwatch.experiments.report_json import told_row
from concwatch.experiments.runner import Runner

HEADER = (
    "experiment", "table", "series", "engine", "size", "reading", "unit", "published", "here", "ratio",
    "spread", "repeats", "state", "reason",
)  # fmt: skip


def report_csv(runner: Runner, _: Occasion) -> str:
    """Write every line of every table; figures in the table's unit, the spread as a share."""
    text = io.StringIO()
    writer = csv.DictWriter(text, HEADER, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for sheet in sheets(runner):
        of = {
            "experiment": runner.experiment.name,
            "table": sheet.table.title,
            "reading": sheet.table.reading,
        }
        for row in sheet.rows:
            writer.writerow({**told_row(row), **of, "repeats": len(row.figure.runs)})
    return text.getvalue()
