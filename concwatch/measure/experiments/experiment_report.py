"""The data of all reports of an experiment: when and where it ran, its tables, and a sentence for each."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from concwatch.measure.experiments.cell import READINGS
from concwatch.measure.experiments.experiment import ExperimentTable, Publication
from concwatch.measure.experiments.runner import CellState, Runner, TableFigure
from concwatch.measure.experiments.sentences import sentence
from concwatch.measure.experiments.swept import swept, uncertainty
from concwatch.measure.sweep.sweep_result import SweepResult
from concwatch.portable.protocol.text import flat
from concwatch.portable.protocol.units import (
    UNKNOWN,
    format_bytes,
    format_count,
    format_exactly,
    format_number,
    format_percent,
)
from concwatch.system.machine import describe_machine, program_version

HEADER = ("size", "engine", "published", "here", "ratio", "spread")


@dataclass(frozen=True)
class RunInfo:
    """When and where an experiment was run, and by which command."""

    command: str
    begun: datetime
    """Local time, with its offset."""
    concwatch: str
    """The version of concwatch."""
    machine: Mapping[str, Any]

    @classmethod
    def now(cls, command: str) -> "RunInfo":
        """Return that of a run that begins now."""
        return cls(command, datetime.now().astimezone(), program_version(), describe_machine())

    @property
    def place(self) -> str:
        """The machine and the versions, in one line."""
        machine = self.machine
        memory, system = (
            format_bytes(machine["memory_total"]),
            f"{machine['system']} {machine['architecture']}",
        )
        versions = f"{machine['python']}, concwatch {self.concwatch}"
        return f"{machine['cores']} cores, {memory} of memory, {system}, {versions}"


@dataclass(frozen=True)
class SheetRow:
    """One row of a table, formatted; `UNKNOWN` for values that are not known."""

    figure: TableFigure
    size: str
    engine: str
    published: str
    here: str
    """The measured figure; empty if there is a ``reason`` instead."""
    ratio: str
    spread: str
    reason: str
    """Why there is no figure."""
    remarks: tuple[str, ...]
    """Cautions about the figure."""


@dataclass(frozen=True)
class Sheet:
    """One table of an experiment with its measured figures, sorted by size."""

    table: ExperimentTable
    rows: tuple[SheetRow, ...]
    remarks: tuple[str, ...]
    """Notes about its figures: what limits them, and rows with fewer live tasks than their size."""

    @property
    def sentence(self) -> str:
        """A sentence that sums it up."""
        text = sentence(self.table, [row.figure for row in self.rows])
        return f"{text[:1].upper()}{text[1:]}."

    @property
    def notes(self) -> tuple[str, ...]:
        """Cautions about it, a line each."""
        return (*self.remarks, self.table.note) if self.table.note else self.remarks

    @property
    def what(self) -> str:
        """The figure's meaning and unit."""
        return f"{READINGS[self.table.reading].meaning.rstrip('.')}, {self.table.unit}"


def sheets(runner: Runner) -> list[Sheet]:
    """Return the tables of an experiment, in the order of the file, with their current figures."""
    figures = runner.figures()
    found = []
    for table in runner.experiment.table:
        # An unknown engine has rows only for published figures.
        own = [
            each
            for each in figures
            if each.entry.table is table
            and (each.state is not CellState.ABSENT or each.entry.published is not None)
        ]
        own.sort(key=lambda each: each.entry.size)
        rows = tuple(_row(figure, runner) for figure in own)
        limits = [f"{flat(each.engine)}: {why}" for each in swept(table, own) if (why := _limit(each))]
        live = [note for figure in own if (note := _live_note(figure, runner))]
        found.append(Sheet(table, rows, (*limits, *live)))
    return found


def attribution(source: Publication) -> str:
    """Return the author and the date, if stated."""
    author = "author not stated" if source.author == "not stated" else flat(source.author)
    when = flat(source.date) or source.year
    return f"{author}, {when}" if when else author


def cite(source: Publication) -> str:
    """Return the source of the published figures, in one line."""
    site = f" ({source.site})" if source.site else ""
    return flat(f"{attribution(source)}: {source.article}{site}")


def progress_note(runner: Runner) -> str:
    """Return how much of a partial result was measured; empty if it is complete."""
    if not runner.partial:
        return ""
    tried = sum(not outcome.state.unfinished for outcome in runner.outcomes.values())
    return f"partial: stopped after {tried} of {len(runner.outcomes)} cells"


def runtimes(runner: Runner) -> list[str]:
    """List the runtimes of the workers, with flags and variables, each once."""
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
    unknown = uncertainty(figure)
    if unknown is not None:
        remarks.append(f"± {format_percent(unknown)}")
    if entry.cell is not None and figure.state is not CellState.DONE:
        remarks.append(f"{len(figure.runs)} of {runner.repeats(entry.cell)} runs")
    return SheetRow(
        figure,
        size=format_count(entry.size),
        engine=flat(entry.series.name),
        published=UNKNOWN if entry.published is None else format_exactly(entry.published),
        here="" if here is None else format_number(here),
        ratio=UNKNOWN if figure.ratio is None else format_number(figure.ratio, 3),
        spread=UNKNOWN if figure.spread is None else format_percent(figure.spread),
        reason=_reason(figure) if here is None else "",
        remarks=() if here is None else tuple(remarks),
    )


def _limit(result: SweepResult) -> str:
    """Return what limits the throughput of a series beyond the number that is enough; empty if unknown."""
    knee, limit = result.knee, result.limited_by
    return f"from {format_count(int(knee.tasks.value))} on limited by {limit}" if knee and limit else ""


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
    values = ", ".join(format_number(value) for value in figure.runs)
    return f"{reason} (until then {values})"


def _live_note(figure: TableFigure, runner: Runner) -> str:
    """Return how many tasks were live when a figure was read, if fewer than its size."""
    cell = figure.entry.cell
    # Only traced figures of a burst are read at one moment; held tasks are all live.
    if cell is None or figure.here is None or not READINGS[figure.entry.table.reading].needs_tracing:
        return ""
    live = [run.live for run in runner.outcomes[cell].runs if run.live is not None]
    if not live or min(live) >= figure.entry.size:
        return ""
    size, name = format_count(figure.entry.size), flat(figure.entry.series.name)
    return f"{name}: {format_count(min(live))} of {size} live when read"
