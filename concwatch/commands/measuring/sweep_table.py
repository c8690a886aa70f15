"""The tables of ``concwatch sweep``: the steps of each engine, and how many tasks are enough."""

from collections.abc import Sequence

import click

from concwatch.commands.basics.console import print_columns
from concwatch.measure.sweep.sweep_result import Step, SweepResult
from concwatch.monitor.metrics.unit import BYTES, COUNT, RATE, SECONDS, SHARE, Unit
from concwatch.portable.protocol.units import format_count

UNCERTAIN = "±"
"""The mark of a throughput that is not known within 2 %."""

CORES = Unit("cores", float, lambda value: f"{value:.2f}", "1.5", lambda value: f"{value:.2f}")

COLUMNS: Sequence[tuple[str, str, Unit]] = (
    ("throughput", "throughput", RATE),
    ("p50", "duration_p50", SECONDS),
    ("p99", "duration_p99", SECONDS),
    ("cores", "cpu", CORES),
    ("memory/task", "memory_per_task", BYTES),
)
"""Title, field of a step, and unit of each column."""


def print_sweep(results: Sequence[SweepResult]) -> None:
    """Print the steps of each engine, then what they say."""
    for result in results:
        if result.steps:
            _print_steps(result)
            click.echo()
    for result in results:
        click.echo(result.sentence())
        for line in _notes(result):
            click.echo(f"  {line}")
    if any(not step.known for result in results for step in result.steps):
        click.echo(
            f"{UNCERTAIN} not known within 2 %; more --seconds help, and a machine that does less else"
        )


def _print_steps(result: SweepResult) -> None:
    values = {title: [getattr(step, name) for step in result.steps] for title, name, _ in COLUMNS}
    shown = [column for column in COLUMNS if any(values[column[0]])]
    knee = result.knee.tasks.value if result.knee else None
    first = next((step for step in result.steps if knee is not None and step.tasks >= knee), None)
    rows = [["engine", result.over, *(title for title, _, _ in shown), ""]]
    for step in result.steps:
        cells = [_cell(step, name, unit) for _, name, unit in shown]
        rows.append([result.engine, format_count(step.tasks), *cells, "◂ enough" if step is first else ""])
    print_columns(rows, (0, 2 + len(shown)))


def _cell(step: Step, name: str, unit: Unit) -> str:
    value = getattr(step, name)
    text = unit.text(value)
    return f"{text} {UNCERTAIN}" if name == "throughput" and not step.known else text


def _notes(result: SweepResult) -> list[str]:
    """Return what else is known: the interval, the law, what limits, why it ended."""
    found = []
    if result.knee is not None:
        tasks = result.knee.tasks
        if round(tasks.low) < round(tasks.high):
            found.append(f"95 % interval: {COUNT.text(round(tasks.low))} to {COUNT.text(round(tasks.high))}")
    law, highest = result.law, result.figures["peak"]
    peak = f", highest with {format_count(round(highest))}" if highest else ""
    if law is None and highest:
        found.append(f"highest with {format_count(round(highest))}")
    if law is not None:
        found.append(
            f"{RATE.text(law.rate.value)} alone, contention {SHARE.text(law.contention.value)}{peak}: "
            f"X(N) fits {'Gunther’s law' if law.law.bend == 1 else 'it with a sharper bend'}"
        )
    if result.limited_by:
        found.append(f"limited by {result.limited_by}")
    if result.ended_by and result.steps:
        found.append(f"ended: {result.ended_by}")
    return found
