# Longer than other files: all that the commands print, so that it looks the same everywhere.

"""What the commands print: errors, lines of progress, the tables at the end; and the streams it goes to."""

import errno
import os
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from concwatch.layout import Piece, aligned
from concwatch.text import flat, plain
from concwatch.units import format_bytes, format_count, format_forecast, format_seconds

if TYPE_CHECKING:
    from concwatch.experiments.cell import Cell
    from concwatch.experiments.runner import Runner
    from concwatch.lab.lab import Lab
    from concwatch.measure.expect import Verdict
    from concwatch.measure.figures import Figure
    from concwatch.measure.run import EngineResult

BAD_INPUT = 2
"""Exit status for what was asked wrongly."""

PROGRESS_INTERVAL = 0.5
"""Seconds between two looks at how far an experiment is."""

STREAMS = {"stdin": "r", "stdout": "w", "stderr": "w"}
"""The three by name, in the order of their descriptors, and what is done with each."""

UNWRITABLE = (errno.ENOSPC, errno.EFBIG, errno.EIO)
"""What comes of writing on a full disk, or to a terminal that is gone."""

UNREAD = 141
"""Exit status where nobody reads standard output any more: 128 + SIGPIPE."""

LONGEST_AUTHOR = 23


def fill_missing_streams() -> None:
    """Open the null device for each standard stream that was closed when the program was started.

    Otherwise a pipe or a file of this program's own takes the free descriptor, and what is meant for a
    person goes there.
    """
    for name, mode in STREAMS.items():
        if getattr(sys, name) is None:
            # The lowest free descriptor is the missing one's, since those before it are there by now.
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  # open as long as the program runs


def is_unwritable(error: OSError) -> bool:
    """Return whether it was standard output that could not be written: an error with a file names that."""
    return error.filename is None and error.errno in UNWRITABLE


def discard_output(descriptor: int) -> None:
    """Lead a descriptor to the null device, with all that is still buffered for it."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)


def print_note(text: str, nl: bool = True) -> None:
    """Write ``text`` on standard error; where nobody reads that, the work goes on all the same."""
    try:
        click.echo(text, err=True, nl=nl)
    except OSError:
        discard_output(sys.stderr.fileno())


def print_error(text: str) -> None:
    """Write ``text`` on standard error as one line, whatever a person typed into it."""
    print_note(f"concwatch: {plain(flat(text))}")


def print_json(value: object) -> None:
    """Write ``value`` on standard output."""
    import json  # only here: the screen has no use for it

    click.echo(json.dumps(value, indent=2))


class ProgressLine:
    """One line on standard error that says what is being done; on a terminal it is written over."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()

    def show(self, lab: "Lab", lane: str, text: str) -> None:
        """Show what ``lane`` is doing."""
        line = f"{lane}: {text} · workers take {format_bytes(lab.total_rss)}"
        print_note(f"\r\x1b[K{line}" if self._live else line, nl=not self._live)

    def clear(self) -> None:
        """Make room for what comes next, where there still is a terminal."""
        if self._live:
            print_note("\r\x1b[K", nl=False)


COLUMNS = (
    "failed", "peak_live", "rss_per_task", "traced_per_task", "cpu_per_task", "create_rate",
    "completion_rate", "duration_p50", "duration_p99", "wake_lag_p99", "gc_seconds", "idle_rss",
    "peak_rss", "retained_rss", "stop_seconds",
)  # fmt: skip
"""The figures of the table, from the left; one that no row knows has no column, and nothing failed has none.
"""


def print_table(rows: "Sequence[EngineResult]", expected: "Callable[[str], Collection[str]]") -> None:
    """Print what was measured as a table, and below it what there is to know of it.

    Args:
        rows: a row an engine and size.
        expected: returns the figures of an engine of which something is expected.
    """
    from concwatch.measure.figures import BY_NAME, DOUBTS

    medians = {name: [row.median(name) for row in rows] for name in COLUMNS}
    known = [
        BY_NAME[name]
        for name, of_rows in medians.items()
        if (any(of_rows) if name == "failed" else any(value is not None for value in of_rows))
    ]
    sizes = len({row.tasks for row in rows}) > 1
    heads = ["engine", *(["tasks"] if sizes else []), "state", *(figure.title for figure in known)]
    cells = [
        [
            row.engine,
            *([format_count(row.tasks)] if sizes else []),
            row.outcome(expected(row.own_name)).value,
            *(row.text(figure) for figure in known),
        ]
        for row in rows
    ]
    cells += [_total(group, known, sizes) for group in _by_engine(rows) if len(group) > 1]
    _print_cells([heads, *cells], 2 + sizes)
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
    marks = {mark for row in rows for figure in known for mark in row.marks(figure)}
    for doubt in DOUBTS:
        if doubt.mark in marks:
            click.echo(f"{doubt.mark} {doubt.note}")


SUMMED = ("failed", "peak_live", "create_rate", "completion_rate", "idle_rss", "peak_rss", "retained_rss")
"""The figures that add up over hosts."""


def _by_engine(rows: "Sequence[EngineResult]") -> "Iterable[list[EngineResult]]":
    """Yield the rows of each engine and size, one a host."""
    groups: dict[tuple[str, int], list[EngineResult]] = {}
    for row in rows:
        groups.setdefault((row.own_name, row.tasks), []).append(row)
    return groups.values()


def _total(rows: "Sequence[EngineResult]", known: "Sequence[Figure]", sizes: bool) -> list[str]:
    """Return the cells of what all hosts have together."""
    cells = [f"{rows[0].own_name}, {len(rows)} hosts", *([format_count(rows[0].tasks)] if sizes else []), ""]
    for figure in known:
        values = [value for row in rows if (value := row.median(figure.name)) is not None]
        cells.append(figure.unit.text(sum(values)) if figure.name in SUMMED and values else "")
    return cells


def _print_repeats(rows: "Sequence[EngineResult]", known: "Sequence[Figure]") -> None:
    """Print the median of each figure over its runs, its range, and the 95 % interval of the mean."""
    from concwatch.measure.units import SHARE

    cells = [["engine", "tasks", "figure", "median", "spread", "lowest", "highest", "95 % of the mean"]]
    for row in rows:
        for figure in known:
            measured, text = row.measured(figure.name), figure.unit.text
            if measured is None or measured.interval is None:
                continue
            low, high = measured.interval
            cells.append(
                [
                    row.engine, format_count(row.tasks), figure.title, text(measured.median),
                    SHARE.text(measured.spread), text(measured.low), text(measured.high),
                    f"{text(max(0.0, low))} to {text(high)}",
                ]
            )  # fmt: skip
    _print_cells(cells, 3)


def _print_cells(rows: "Sequence[Sequence[str]]", left: int) -> None:
    """Print rows, the first of them as heads, the first ``left`` columns to the left."""
    title, *lines = aligned(rows, range(left))
    print_lines([Piece(title, "heading"), *map(Piece, lines)])


def print_verdicts(verdicts: "Sequence[Verdict]") -> None:
    """Print what was expected, what was measured, and whether it holds: a line each."""
    width = max((len(verdict.expectation.text) for verdict in verdicts), default=0)
    sizes = len({verdict.tasks for verdict in verdicts}) > 1
    for verdict in verdicts:
        state = click.style("holds", fg="green") if verdict.holds else click.style("fails", fg="red")
        size = f" at {format_count(verdict.tasks)}" if sizes else ""
        click.echo(f"{state}  {plain(verdict.expectation.text):{width}}  {verdict.shown}{size}")


# Experiments.


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


class ExperimentProgress:
    """Shows on standard error how far an experiment is.

    On a terminal that is a line with a bar, written over; elsewhere it is a line for each cell that is over.
    """

    def __init__(self, runner: "Runner") -> None:
        self._runner = runner
        self._told: set[Cell] = set()
        self._names = {
            entry.cell: f"{entry.series.name} {format_count(entry.size)}"
            for entry in reversed(runner.entries)  # of all that share a cell the first names it
            if entry.cell is not None
        }

    async def follow(self) -> None:
        """Show it until cancelled, and then what is left to show."""
        import asyncio

        if sys.stderr.isatty():
            with suppress(OSError):  # where nobody reads it, what is done goes on all the same
                await self._follow_with_bar()
            return
        try:
            while True:
                self._print_cells_done()
                await asyncio.sleep(PROGRESS_INTERVAL)
        finally:
            self._print_cells_done()

    async def _follow_with_bar(self) -> None:
        import asyncio

        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.table import Column

        text = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True))
        console = Console(stderr=True)
        with Progress(BarColumn(), text, console=console, transient=True, auto_refresh=False) as bar:
            task = bar.add_task("", total=1.0)
            while True:
                bar.update(task, completed=self._runner.share, description=self.text(), refresh=True)
                await asyncio.sleep(PROGRESS_INTERVAL)

    def text(self) -> str:
        """Return which cell is being measured, and how long it will take to the end."""
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
        return plain(f"{runner.experiment.name}: {text} · {format_forecast(runner.seconds_left)} left")

    def _print_cells_done(self) -> None:
        outcomes = self._runner.outcomes
        for number, (cell, outcome) in enumerate(outcomes.items(), 1):
            if cell in self._told or outcome.state.open:
                continue
            self._told.add(cell)
            took = format_seconds(sum(run.seconds for run in outcome.runs))
            what = f"{outcome.state.value} in {took}" if outcome.runs else outcome.state.value
            reason = f": {outcome.reason}" if outcome.reason else ""
            where = f"{self._runner.experiment.name}: {number} of {len(outcomes)}"
            print_note(plain(flat(f"{where} · {self._names[cell]} · {what}{reason}")))


_TONES: dict[str, dict[str, object]] = {
    "heading": {"bold": True},
    "good": {"fg": "green"},
    "doubt": {"fg": "yellow"},
    "bad": {"fg": "red"},
    "quiet": {"dim": True},
    "copy": {"fg": "cyan"},
}


def print_lines(lines: "Iterable[Piece | Sequence[tuple[str, str]]]") -> None:
    """Print lines, each a piece or several, each piece in the colour of how it is meant."""
    for line in lines:
        pieces = [line] if isinstance(line, Piece) else line
        told = [(plain(text), _TONES.get(tone)) for text, tone in pieces]
        click.echo("".join(click.style(text, **style) if style else text for text, style in told))  # type: ignore[arg-type]


def print_experiments(runners: "Sequence[Runner]") -> None:
    """Print what there is to run: name, source, about how long it takes, title."""
    from concwatch.experiments.report import whose

    rows = []
    for runner in runners:
        experiment = runner.experiment
        source = experiment.source
        by = textwrap.shorten(whose(source), LONGEST_AUTHOR, placeholder="…") if source else "ours"
        rows.append((experiment.name, by, format_forecast(runner.seconds_left), experiment.title))
    for (name, *_), line in zip(rows, aligned(rows, range(4)), strict=True):
        print_lines([(Piece(name, "heading"), Piece(line.removeprefix(name)))])
