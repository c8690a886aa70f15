"""The option ``--chart``: charts in plain text on standard output."""

import io
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from concwatch.lab.lab import Lab

if TYPE_CHECKING:
    from concwatch.charts.traces import Trace
    from concwatch.recordings.recording import Recording

# What draws takes a quarter of a second to load: everything here does so only when a chart is wanted.


def check_chart(as_json: bool = False) -> None:
    """Check that charts can be printed.

    Raises:
        ValueError: one line that says why not, and what to do.
    """
    from concwatch.charts.plain import check_writes_charts

    if as_json:
        raise ValueError("--chart and --json both go to standard output: expected one of them")
    check_writes_charts(sys.stdout)


def print_charts(labs: Sequence[Lab]) -> None:
    """Print the charts of labs that have ended, below what has been printed."""
    from concwatch.charts.traces import traces_of_labs

    click.echo()
    for line in _lines(traces_of_labs(labs), sys.stdout.isatty()):
        click.echo(line)


def charts_of(recording: "Recording", to_terminal: bool) -> Iterator[bytes]:
    """Yield the charts of a recording, a line at a time; without colours where it is not for a terminal."""
    from concwatch.charts.traces import traces_of_recording

    for line in _lines(traces_of_recording(recording), to_terminal):
        yield f"{line}\n".encode()


def _lines(traces: "Sequence[Trace]", to_terminal: bool) -> Iterator[str]:
    from concwatch.charts.plain import chart_console, chart_lines

    return chart_lines(traces, chart_console(sys.stdout if to_terminal else io.StringIO()))
