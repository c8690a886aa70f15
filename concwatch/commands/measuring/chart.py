"""Charts in plain text on standard output: the option ``--chart`` of ``run`` and ``export``."""

import io
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from concwatch.monitor.lanes.lab import Lab

if TYPE_CHECKING:
    from concwatch.charts.painters.traces import Trace
    from concwatch.measure.sweep.sweep_result import SweepResult
    from concwatch.recordings.recording import Recording

# The modules that draw take 0.25 s to import: they are imported only when a chart is printed.


def check_chart(as_json: bool = False) -> None:
    """Raise a ValueError, in one line, unless charts can be printed.

    Args:
        as_json: whether JSON is printed on standard output too.
    """
    from concwatch.charts.painters.plain import check_writes_charts

    if as_json:
        raise ValueError("--chart and --json both print on standard output; use one of them")
    check_writes_charts(sys.stdout)


def print_charts(labs: Sequence[Lab]) -> None:
    """Print the charts of closed labs."""
    from concwatch.charts.painters.traces import traces_of_labs

    click.echo()
    for line in _lines(traces_of_labs(labs), sys.stdout.isatty()):
        click.echo(line)


def print_sweep_charts(results: "Sequence[SweepResult]", last: int) -> None:
    """Print the charts of sweeps up to ``last`` tasks: throughput, and the duration p99."""
    from concwatch.charts.colors import lane_colors
    from concwatch.charts.painters.plain import chart_console, has_dark_background, plot_lines
    from concwatch.charts.sweep import sweep_plots

    names = [result.engine for result in results]
    colors = dict(zip(names, lane_colors(names, has_dark_background()), strict=True))
    console = chart_console(sys.stdout if sys.stdout.isatty() else io.StringIO())
    for line in plot_lines(sweep_plots(results, colors, last), console):
        click.echo(line)


def recording_charts(recording: "Recording", to_terminal: bool) -> Iterator[bytes]:
    """Yield the charts of a recording, one line at a time, in colour only for a terminal."""
    from concwatch.charts.painters.traces import traces_of_recording

    for line in _lines(traces_of_recording(recording), to_terminal):
        yield f"{line}\n".encode()


def _lines(traces: "Sequence[Trace]", to_terminal: bool) -> Iterator[str]:
    from concwatch.charts.painters.plain import chart_console, chart_lines

    return chart_lines(traces, chart_console(sys.stdout if to_terminal else io.StringIO()))
