"""What the commands print: lines of progress, and the tables at the end."""

import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import click

from concwatch.lab.events import plain
from concwatch.lab.lab import Lab
from concwatch.streams import let_go
from concwatch.units import (
    format_bytes,
    format_count,
    format_forecast,
    format_rate,
    format_seconds,
    format_short,
)

if TYPE_CHECKING:
    from concwatch.doctor.piece import Piece
    from concwatch.experiments.cell import Cell
    from concwatch.experiments.report import Occasion
    from concwatch.experiments.runner import Runner
    from concwatch.experiments.table import Line
    from concwatch.lab.expect import Verdict
    from concwatch.lab.run import Result

PROGRESS_INTERVAL = 0.5
"""Seconds between two looks at how far an experiment is."""

LONGEST_BAR, SHORTEST_BAR = 30, 5
LONGEST_AUTHOR = 23


def tell(text: str, nl: bool = True) -> None:
    """Write ``text`` on standard error; where nobody reads that, what is done goes on all the same."""
    try:
        click.echo(text, err=True, nl=nl)
    except OSError:
        let_go(sys.stderr.fileno())


class ProgressLine:
    """One line on standard error that says what is being done; on a terminal it is written over."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()

    def show(self, lab: Lab, lane: str, text: str) -> None:
        """Say what ``lane`` is doing."""
        line = f"{lane}: {text} · workers take {format_bytes(lab.total_rss)}"
        tell(f"\r\x1b[K{line}" if self._live else line, nl=not self._live)

    def clear(self) -> None:
        """Make room for what comes next, where there still is a terminal."""
        if self._live:
            tell("\r\x1b[K", nl=False)


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


def print_verdicts(verdicts: "Sequence[Verdict]") -> None:
    """Print what was expected, what was measured, and whether it holds: a line each."""
    width = max((len(verdict.expectation.text) for verdict in verdicts), default=0)
    for verdict in verdicts:
        state = click.style("holds", fg="green") if verdict.holds else click.style("fails", fg="red")
        click.echo(f"{state}  {plain(verdict.expectation.text):{width}}  {verdict.shown}")


# Experiments.


def _terminal_width() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):  # ValueError: not a file at all
        return 80


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


class ExperimentProgress:
    """Says on standard error how far an experiment is.

    On a terminal that is a line with a bar, written over; elsewhere it is a line for each cell that is over.
    """

    def __init__(self, runner: "Runner") -> None:
        self._runner = runner
        self._live = sys.stderr.isatty()
        self._told: set[Cell] = set()
        self._names = {
            entry.cell: f"{entry.series.name} {format_count(entry.size)}"
            for entry in reversed(runner.entries)  # of all that share a cell the first names it
            if entry.cell is not None
        }

    async def follow(self) -> None:
        """Tell it from now on, until cancelled."""
        import asyncio

        while True:
            self.tell()
            await asyncio.sleep(PROGRESS_INTERVAL)

    def tell(self) -> None:
        """Tell how far it is now."""
        if self._live:
            tell(f"\r\x1b[K{plain(self.line(_terminal_width() - 1))}", nl=False)
        else:
            self._tell_cells()

    def end(self) -> None:
        """Tell what is left to tell, and make room for what comes next."""
        if self._live:
            tell("\r\x1b[K", nl=False)
        else:
            self._tell_cells()

    def line(self, width: int) -> str:
        """Give the line for a terminal, at most ``width`` columns: the bar takes what is left of them."""
        runner = self._runner
        cells = list(runner.outcomes)
        current = runner.current
        if current is None:
            text = f"{len(cells)} cells"
        else:
            text = f"{cells.index(current) + 1} of {len(cells)} · {self._names[current]}"
            repeats, run = runner.repeats(current), len(runner.outcomes[current].runs) + 1
            if repeats > 1:
                text += f" ({_ordinal(min(run, repeats))} of {repeats})"
        name, text = runner.experiment.name, f"{text} · {format_forecast(runner.seconds_left)} left"
        bar = min(LONGEST_BAR, width - len(name) - len(text) - 4)
        if bar < SHORTEST_BAR:
            return f"{name}  {text}"[:width]
        full = round(min(1.0, runner.share) * bar)
        return f"{name}  {'█' * full}{'░' * (bar - full)}  {text}"

    def _tell_cells(self) -> None:
        from concwatch.experiments.runner import State

        outcomes = self._runner.outcomes
        for number, (cell, outcome) in enumerate(outcomes.items(), 1):
            if cell in self._told or outcome.state in (State.WAITING, State.RUNNING):
                continue
            self._told.add(cell)
            took = format_seconds(sum(run.seconds for run in outcome.runs))
            what = f"{outcome.state.value} in {took}" if outcome.runs else outcome.state.value
            reason = f": {outcome.reason}" if outcome.reason else ""
            where = f"{self._runner.experiment.name}: {number} of {len(outcomes)}"
            text = " ".join(f"{where} · {self._names[cell]} · {what}{reason}".split())
            tell(plain(text))


_TONES: dict[str, dict[str, object]] = {
    "heading": {"bold": True},
    "good": {"fg": "green"},
    "doubt": {"fg": "yellow"},
    "bad": {"fg": "red"},
    "quiet": {"dim": True},
    "copy": {"fg": "cyan"},
}


def print_experiment(runner: "Runner", occasion: "Occasion") -> None:
    """Print the result of an experiment as tables."""
    from concwatch.experiments.table import table_lines

    print_lines(table_lines(runner, occasion))


def print_lines(lines: "Iterable[Line]") -> None:
    """Print lines, each in the colour of how it is meant."""
    for line in lines:
        click.echo(click.style(plain(line.text), **_TONES[line.tone]) if line.tone else plain(line.text))  # type: ignore[arg-type]


def print_pieces(rows: "Iterable[Sequence[Piece]]") -> None:
    """Print rows of pieces, each piece in the colour of how it is meant."""
    for row in rows:
        pieces = [(plain(piece.text), _TONES[piece.tone] if piece.tone else {}) for piece in row]
        click.echo("".join(click.style(text, **tone) if tone else text for text, tone in pieces))  # type: ignore[arg-type]


def print_experiments(runners: "Sequence[Runner]") -> None:
    """Print what there is to run: name, source, about how long it takes, title."""
    from concwatch.experiments.report import whose

    rows = []
    for runner in runners:
        source = runner.experiment.source
        by = textwrap.shorten(whose(source), LONGEST_AUTHOR, placeholder="…") if source else "ours"
        rows.append((runner.experiment.name, by, format_forecast(runner.seconds_left)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for runner, row in zip(runners, rows, strict=True):
        name, by, takes = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo(f"{click.style(name, bold=True)}  {by}  {takes}  {runner.experiment.title}")
