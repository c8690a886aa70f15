"""The tables of ``concwatch run``: metrics by engine and size, their spread, and expectations."""

from collections.abc import Callable, Collection, Sequence

import click

from concwatch.commands.basics.console import print_columns, print_lines
from concwatch.measure.expect import Verdict
from concwatch.measure.layout import Piece
from concwatch.measure.run import EngineResult, Total, totals
from concwatch.monitor.metrics.metric import Metric
from concwatch.monitor.metrics.metrics import RUN_METRICS, explained
from concwatch.monitor.metrics.unit import SHARE
from concwatch.portable.protocol.units import format_count


def print_table(rows: Sequence[EngineResult], expected: Callable[[str], Collection[str]]) -> None:
    """Print one row for each engine and size, then notes.

    Args:
        rows: the results.
        expected: returns the metrics of an engine that the user has expectations of.
    """
    medians = {metric: [row.median(metric.name) for row in rows] for metric in RUN_METRICS}
    known = [
        metric
        for metric, of_rows in medians.items()
        if any(of_rows)  # what is 0 everywhere says nothing: no task has failed, or ended
    ]
    sizes = len({row.tasks for row in rows}) > 1
    heads = ["engine", *(["tasks"] if sizes else []), "state", *(metric.title for metric in known)]
    cells = [
        [
            row.engine,
            *([format_count(row.tasks)] if sizes else []),
            row.outcome(expected(row.own_name)).value,
            *(row.text(metric) for metric in known),
        ]
        for row in rows
    ]
    cells += [_total(total, known, sizes) for total in totals(rows)]
    print_columns([heads, *cells], range(2 + sizes))
    if any(len(row.results) > 1 for row in rows):
        click.echo()
        _print_repeats(rows, known)
    for row in rows:
        name = f"{row.engine} {format_count(row.tasks)}" if sizes else row.engine
        problems = row.problems(expected(row.own_name))
        for outcome, reason in problems.items():
            click.echo(f"{name}: {outcome.value}: {reason}")
        if row.limited_by and not any(row.limited_by in reason for reason in problems.values()):
            click.echo(f"{name}: limited by {row.limited_by}")
    for caveat in explained(caveat for row in rows for metric in known for caveat in row.uncertain(metric)):
        click.echo(f"{caveat.mark} {caveat.explanation}")


def _total(total: Total, known: Sequence[Metric], sizes: bool) -> list[str]:
    """Return the cells of the row with the totals over all hosts."""
    cells = [f"{total.engine}, {total.hosts} hosts", *([format_count(total.tasks)] if sizes else []), ""]
    for metric in known:
        value = total.metrics.get(metric.name)
        cells.append("" if value is None else metric.unit.text(value))
    return cells


def _print_repeats(rows: Sequence[EngineResult], known: Sequence[Metric]) -> None:
    """Print the median of each metric over its runs, its range, and the 95 % interval of the mean."""
    cells = [["engine", "tasks", "metric", "median", "spread", "lowest", "highest", "95 % of the mean"]]
    for row in rows:
        for metric in known:
            measured, text = row.measured(metric.name), metric.unit.text
            if measured is None or measured.interval is None:
                continue
            low, high = measured.interval
            cells.append(
                [
                    row.engine, format_count(row.tasks), metric.title, text(measured.median),
                    SHARE.text(measured.spread), text(measured.low), text(measured.high),
                    f"{text(max(0.0, low))} to {text(high)}",
                ]
            )  # fmt: skip
    print_columns(cells, range(3))


def print_verdicts(verdicts: Sequence[Verdict]) -> None:
    """Print one line for each expectation: whether it holds, its text, and the measured value."""
    sizes = len({verdict.tasks for verdict in verdicts}) > 1
    for verdict in verdicts:
        at = f" at {format_count(verdict.tasks)}" if sizes else ""
        print_lines([Piece(verdict.sentence(at), "good" if verdict.holds else "bad")])
