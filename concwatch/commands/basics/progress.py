"""The progress of a command, on standard error."""

import asyncio
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from concwatch.commands.basics.console import print_note
from concwatch.portable.protocol.text import flat, plain
from concwatch.portable.protocol.units import format_bytes, format_count, format_forecast, format_seconds

if TYPE_CHECKING:
    from concwatch.measure.experiments.cell import ExperimentCell
    from concwatch.measure.experiments.runner import Runner
    from concwatch.monitor.lanes.lab import Lab

PROGRESS_INTERVAL = 0.5
"""Seconds between two updates."""


class ProgressLine:
    """A line on standard error that says what is being done; on a terminal each replaces the last."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()

    def show(self, lab: "Lab", lane: str, text: str) -> None:
        """Print what ``lane`` is doing, and the memory of all workers."""
        self.write(f"{lane}: {text} · workers use {format_bytes(lab.fleet.memory)}")

    def write(self, line: str) -> None:
        """Print a line of text."""
        print_note(f"\r\x1b[K{line}" if self._live else line, nl=not self._live)

    def clear(self) -> None:
        """Erase the line on a terminal."""
        if self._live:
            print_note("\r\x1b[K", nl=False)


class ExperimentProgress:
    """The progress of an experiment: on a terminal a bar; elsewhere a line for each cell that is done."""

    def __init__(self, runner: "Runner") -> None:
        self._runner = runner
        self._printed: set[ExperimentCell] = set()
        self._names = {
            entry.cell: f"{entry.series.name} {format_count(entry.size)}"
            for entry in reversed(runner.entries)  # reversed: the first entry that has a cell names it
            if entry.cell is not None
        }

    async def follow(self) -> None:
        """Show the progress until cancelled, then print the cells that were done since."""
        if sys.stderr.isatty():
            with suppress(OSError):  # a closed terminal does not stop the experiment
                await self._follow_with_bar()
            return
        try:
            while True:
                self._print_cells_done()
                await asyncio.sleep(PROGRESS_INTERVAL)
        finally:
            self._print_cells_done()

    async def _follow_with_bar(self) -> None:
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
        """Return which cell is being measured, and the time left for the whole experiment."""
        runner = self._runner
        cells = list(runner.outcomes)
        current = runner.current
        if current is None:
            text = f"{len(cells)} cells"
        else:
            text = f"{cells.index(current) + 1} of {len(cells)} · {self._names[current]}"
            repeats, run = runner.repeats(current), len(runner.outcomes[current].runs) + 1
            if repeats > 1:
                text += f" (run {min(run, repeats)} of {repeats})"
        return plain(f"{runner.experiment.name}: {text} · {format_forecast(runner.seconds_left)} left")

    def _print_cells_done(self) -> None:
        outcomes = self._runner.outcomes
        for number, (cell, outcome) in enumerate(outcomes.items(), 1):
            if cell in self._printed or outcome.state.unfinished:
                continue
            self._printed.add(cell)
            took = format_seconds(sum(run.seconds for run in outcome.runs))
            what = f"{outcome.state.value} in {took}" if outcome.runs else outcome.state.value
            reason = f": {outcome.reason}" if outcome.reason else ""
            where = f"{self._runner.experiment.name}: {number} of {len(outcomes)}"
            print_note(plain(flat(f"{where} · {self._names[cell]} · {what}{reason}")))
