"""What all reports of an experiment have in common: its occasion, its tables, and a sentence for each."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from concwatch.experiments.cell import READINGS, TRACED
from concwatch.experiments.experiment import Source, Table
from concwatch.experiments.runner import CellState, Runner, TableFigure
from concwatch.experiments.sentences import sentence
from concwatch.system.machine import describe_machine, program_version
from concwatch.text import flat
from concwatch.units import UNKNOWN, format_bytes, format_count, format_exactly, format_figure, format_percent

HEADER = ("size", "engine", "published", "here", "ratio", "spread")


@dataclass(frozen=True)
class Occasion:
    """When, where and by which command an experiment was run."""

    command: str
    begun: datetime
    """Local time, with its offset."""
    concwatch: str
    """The program's own version."""
    machine: Mapping[str, Any]

    @classmethod
    def now(cls, command: str) -> "Occasion":
        """Return the present one."""
        return cls(command, datetime.now().astimezone(), program_version(), describe_machine())

    @property
    def place(self) -> str:
        """Machine and versions, in a line."""
        machine = self.machine
        memory, system = (
            format_bytes(machine["memory_total"]),
            f"{machine['system']} {machine['architecture']}",
        )
        versions = f"{machine['python']}, concwatch {self.concwatch}"
        return f"{machine['cores']} cores, {memory} of memory, {system}, {versions}"


@dataclass(frozen=True)
class SheetRow:
    """One line of a table as a person reads it; what is not known is `UNKNOWN`."""

    figure: TableFigure
    size: str
    engine: str
    published: str
    here: str
    """Empty where ``reason`` stands in its place."""
    ratio: str
    spread: str
    reason: str
    """Why there is no figure."""
    remarks: tuple[str, ...]
    """What to know before believing the figure."""


@dataclass(frozen=True)
class Sheet:
    """One table of an experiment with what has been measured, its rows by size."""

    table: Table
    rows: tuple[SheetRow, ...]
    live: tuple[str, ...]
    """Where fewer tasks were live at the reading than the size says."""

    @property
    def sentence(self) -> str:
        """What it shows, as a sentence."""
        text = sentence(self.table, [row.figure for row in self.rows])
        return f"{text[:1].upper()}{text[1:]}."

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of it, a line each."""
        return (*self.live, self.table.note) if self.table.note else self.live

    @property
    def what(self) -> str:
        """What is read, and in which unit."""
        return f"{READINGS[self.table.reading].meaning.rstrip('.')}, {self.table.unit}"


def sheets(runner: Runner) -> list[Sheet]:
    """Return the tables of an experiment, in the order of the file, with their figures as they stand."""
    figures = runner.figures()
    found = []
    for table in runner.experiment.table:
        # An engine that does not exist yet has a row only where something was published.
        own = [
            each
            for each in figures
            if each.entry.table is table
            and (each.state is not CellState.ABSENT or each.entry.published is not None)
        ]
        own.sort(key=lambda each: each.entry.size)
        rows = tuple(_row(figure, runner) for figure in own)
        live = tuple(note for figure in own if (note := _live_note(figure, runner)))
        found.append(Sheet(table, rows, live))
    return found


def attribution(source: Source) -> str:
    """Return author and date, as far as they are stated."""
    author = "author not stated" if source.author == "not stated" else flat(source.author)
    when = flat(source.date) or source.year
    return f"{author}, {when}" if when else author


def cite(source: Source) -> str:
    """Return the source of published figures, in a line."""
    site = f" ({source.site})" if source.site else ""
    return flat(f"{attribution(source)}: {source.article}{site}")


def progress_note(runner: Runner) -> str:
    """Return how much of it has been measured, where that is not all; else an empty string."""
    if not runner.partial:
        return ""
    tried = sum(not outcome.state.open for outcome in runner.outcomes.values())
    return f"partial: stopped after {tried} of {len(runner.outcomes)} cells"


def runtimes(runner: Runner) -> list[str]:
    """List what the workers ran on, and what else shaped their figures, each once."""
    runs = ((run, cell) for cell, outcome in runner.outcomes.items() for run in outcome.runs)
    return sorted(
        {
            ", ".join([run.runtime, *run.flags, *(f"{name}={value}" for name, value in cell.environment)])
            for run, cell in runs
            if run.runtime
        }
    )


# Rows.


def _row(figure: TableFigure, runner: Runner) -> SheetRow:
    entry, here = figure.entry, figure.here
    remarks = ["unsteady"] if figure.unsteady else []
    if entry.cell is not None and figure.state is not CellState.DONE:
        remarks.append(f"{len(figure.runs)} of {runner.repeats(entry.cell)} runs")
    return SheetRow(
        figure,
        size=format_count(entry.size),
        engine=flat(entry.series.name),
        published=UNKNOWN if entry.published is None else format_exactly(entry.published),
        here="" if here is None else format_figure(here),
        ratio=UNKNOWN if figure.ratio is None else format_figure(figure.ratio, 3),
        spread=UNKNOWN if figure.spread is None else format_percent(figure.spread),
        reason=_reason(figure) if here is None else "",
        remarks=() if here is None else tuple(remarks),
    )


def _reason(figure: TableFigure) -> str:
    match figure.state:
        case CellState.ABSENT:
            return "published only"
        case CellState.WAITING | CellState.RUNNING:
            return "not run"
        case CellState.DONE:
            return f"no figure: its worker reported no {figure.entry.table.reading}"
    reason = f"{figure.state.value}: {flat(figure.reason)}"
    if not figure.runs:
        return reason
    values = ", ".join(format_figure(value) for value in figure.runs)
    return f"{reason} (until then {values})"


def _live_note(figure: TableFigure, runner: Runner) -> str:
    """Return how many tasks were live at the reading, where a figure for all of them misleads."""
    cell = figure.entry.cell
    # Of a burst nothing else is read at one moment; what is held has been waited for.
    if cell is None or figure.here is None or figure.entry.table.reading not in TRACED:
        return ""
    live = [run.live for run in runner.outcomes[cell].runs if run.live is not None]
    if not live or min(live) >= figure.entry.size:
        return ""
    size, name = format_count(figure.entry.size), flat(figure.entry.series.name)
    return f"{name}: {format_count(min(live))} of {size} live when read"
