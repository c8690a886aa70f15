"""The output of ``concwatch experiment NAME --json FILE`` as one side of a comparison.

A metric is a row of a table. Its values are the runs of its cell, in the table's unit; median and spread are
computed as in the experiment's own reports. Rows of both sides match when their table, series, size and all
options of the cell are equal. A cell that failed or was skipped has no figure.
"""

from dataclasses import dataclass, field, fields
from typing import Any

import msgspec
from msgspec import Struct

from concwatch.measure.comparing.side import Fact, Side, Subject, format_iso, joined, machine_facts
from concwatch.measure.experiments.cell import READINGS, ExperimentCell
from concwatch.measure.experiments.runner import CellState
from concwatch.measure.measured import Measured
from concwatch.monitor.metrics.unit import SCALES
from concwatch.portable.protocol.text import flat

KIND = 'a result of the experiment "{}"'


class ResultRow(Struct, frozen=True):
    """One row of a table."""

    series: str
    engine: str
    size: int
    state: CellState
    repeats: tuple[float, ...]
    cell: int | None = None
    reason: str | None = None


class ComparedTable(Struct, frozen=True):
    """One table."""

    title: str
    reading: str
    unit: str
    rows: tuple[ResultRow, ...]


class ExperimentName(Struct, frozen=True):
    """The experiment's name."""

    name: str


class RunRuntime(Struct, frozen=True):
    """The runtime of one run, with its flags."""

    runtime: str = ""
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class CellWithRuns(ExperimentCell):
    """A cell with its runs."""

    runs: tuple[RunRuntime, ...] = field(default=(), compare=False)


class ExperimentFile(Struct, frozen=True):
    """The part of the file that is compared."""

    experiment: ExperimentName
    machine: dict[str, Any]
    tables: tuple[ComparedTable, ...]
    cells: tuple[CellWithRuns, ...]
    concwatch: str = ""
    begun: str = ""
    partial: bool = False


_file = msgspec.json.Decoder(ExperimentFile)


def read_experiment(text: bytes, name: str) -> Side:
    """Parse a result; ``name`` is what the comparison calls it.

    Raises:
        ValueError: it is damaged; the message says how.
    """
    file = _file.decode(text)
    metrics, missing = {}, {}
    workers: dict[str, dict[str, Fact]] = {}
    for table in file.tables:
        for row in table.rows:
            if row.cell is None:
                continue  # published only
            if not 0 <= row.cell < len(file.cells):
                raise ValueError(f"there is no cell {row.cell}")
            cell = file.cells[row.cell]
            subject = _subject(table, row, cell)
            measured = Measured.of(row.repeats)
            if measured is None or row.state in (CellState.FAILED, CellState.SKIPPED):
                missing[subject] = _why(row)
                continue
            metrics[subject] = measured
            runtimes = sorted({joined([run.runtime, *run.flags]) for run in cell.runs})
            workers.setdefault(flat(row.series), {"worker": Fact("; ".join(runtimes))})
    return Side(
        name,
        KIND.format(flat(file.experiment.name)),
        f"experiment {flat(file.experiment.name)}, begun {format_iso(file.begun)}",
        metrics,
        machine_facts(file.machine, file.concwatch),
        workers,
        missing,
        ("partial: stopped before all of it had been measured",) if file.partial else (),
    )


def _subject(table: ComparedTable, row: ResultRow, cell: ExperimentCell) -> Subject:
    if table.unit not in SCALES:
        raise ValueError(f'unknown unit "{table.unit}"; expected one of {", ".join(SCALES)}')
    metric = READINGS.get(table.reading)
    unit = SCALES[table.unit][0], metric.worse if metric else 0, table.unit
    section = f"{flat(table.title)}, {table.unit}"
    # All options of the cell except its engine and size.
    names = [each.name for each in fields(cell) if each.compare and each.name not in ("engine", "size")]
    options = tuple((name, getattr(cell, name)) for name in names)
    return Subject(section, flat(row.series), row.engine, *unit, row.size, options, table.reading)


def _why(row: ResultRow) -> str:
    if row.state.unfinished:
        return "not run"
    return flat(f"{row.state.value}: {row.reason}" if row.reason else row.state.value)
