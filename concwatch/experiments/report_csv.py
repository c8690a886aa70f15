"""An experiment's result as CSV: one line a figure."""

import csv
import io

from concwatch.experiments.report import Occasion, measured, sheets
from concwatch.experiments.runner import Runner

HEADER = (
    "experiment", "table", "series", "engine", "size", "reading", "unit", "published", "here", "ratio",
    "spread", "repeats", "state", "reason",
)  # fmt: skip


def report_csv(runner: Runner, _: Occasion) -> str:
    """Write every line of every table; figures in the table's unit, the spread as a share."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for sheet in sheets(runner):
        table = sheet.table
        for row in sheet.rows:
            figure, entry = row.figure, row.figure.entry
            known = (figure.here, figure.ratio, figure.spread) if measured(figure) else (None, None, None)
            writer.writerow(
                (
                    runner.experiment.name,
                    table.title,
                    entry.series.name,
                    entry.series.engine,
                    entry.size,
                    table.reading,
                    table.unit,
                    entry.published,
                    *known,
                    len(figure.runs),
                    figure.state.value,
                    figure.reason,
                )
            )
    return text.getvalue()
