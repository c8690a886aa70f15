"""What ``concwatch run`` prints: a line of progress, and the table at the end."""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from concwatch.lab.lab import Lab
from concwatch.units import format_bytes, format_count, format_rate, format_seconds, format_short

if TYPE_CHECKING:
    from concwatch.lab.run import Result


class ProgressLine:
    """One line on standard error that says what is being done; on a terminal it is written over."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()

    def show(self, lab: Lab, lane: str, text: str) -> None:
        """Say what ``lane`` is doing."""
        line = f"{lane}: {text} · workers take {format_bytes(lab.total_rss)}"
        click.echo(f"\r\x1b[K{line}" if self._live else line, err=True, nl=not self._live)

    def clear(self) -> None:
        """Make room for what comes next."""
        if self._live:
            click.echo("\r\x1b[K", err=True, nl=False)


def _shown(value: float | None, form: Callable[[float], str]) -> str:
    return "–" if value is None else form(value)


def print_table(results: "Sequence[Result]") -> None:
    """Print the results as a table."""
    header = (
        "engine", "state", "peak live", "RSS/task", "traced/task", "created", "done, best s",
        "lag p99", "in GC", "idle RSS", "peak RSS", "retained", "stopped in",
    )  # fmt: skip
    rows = [
        (
            result.engine,
            result.state,
            format_count(result.peak_live),
            _shown(result.rss_per_task, format_bytes) + (" ᵗ" if result.traced else ""),
            _shown(result.traced_per_task, format_bytes),
            _shown(result.create_rate, format_rate),
            _shown(result.completion_rate, format_short),
            _shown(result.wake_lag_p99, format_seconds),
            _shown(result.gc_seconds, format_seconds),
            _shown(result.idle_rss, format_bytes),
            _shown(result.peak_rss, format_bytes),
            _shown(result.retained_rss, format_bytes),
            _shown(result.stop_seconds, format_seconds),
        )
        for result in results
    ]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for number, row in enumerate((header, *rows)):
        cells = [
            cell.ljust(width) if at < 2 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        click.secho("  ".join(cells), bold=number == 0)
    for result in results:
        if result.reason:
            click.echo(f"{result.engine}: {result.state}: {result.reason}")
    if any(result.traced for result in results):
        click.echo("ᵗ taken with tracing on, which about doubles RSS")
