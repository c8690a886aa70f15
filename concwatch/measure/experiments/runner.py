"""The runner of an experiment: runs each cell in fresh workers, and keeps the results."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from concwatch.hosts.host import Host
from concwatch.measure.experiments.cell import SWEEP, ExperimentCell, MissingError, NotMeasuredError, run_once
from concwatch.measure.experiments.experiment import Entry, Experiment, entries
from concwatch.measure.experiments.program import run_program
from concwatch.measure.experiments.step import run_step
from concwatch.measure.measured import Measured
from concwatch.measure.result import Result
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.unit import SCALES

PACE_PRIOR = 10.0
"""Weight, in seconds, of the forecast against the time that the cells have taken so far."""

UNSTEADY = 0.10
"""The spread above which a figure is marked as unsteady."""


class CellState(Enum):
    """The state of a cell."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"
    ABSENT = "absent"
    """The engine is unknown; only the published figure is shown."""

    @property
    def unfinished(self) -> bool:
        """Whether its runs are not finished."""
        return self in (CellState.WAITING, CellState.RUNNING)


@dataclass
class CellOutcome:
    """The results of one cell."""

    state: CellState = CellState.WAITING
    reason: str = ""
    """Why it was skipped or failed."""
    runs: list[Result] = field(default_factory=list)
    """All runs that gave figures."""


@dataclass(frozen=True)
class TableFigure:
    """One row of the result, with its figures so far in the table's unit."""

    entry: Entry
    state: CellState
    reason: str
    here: float | None
    """The median of the runs; None for a cell that failed, though its runs are kept."""
    ratio: float | None
    """The measured figure divided by the published one."""
    spread: float | None
    """The highest run minus the lowest, as a share of the median; None for fewer than two runs."""
    runs: tuple[float, ...]
    """The figure of each run."""
    results: tuple[Result, ...] = ()
    """The other figures of each run."""

    @property
    def unsteady(self) -> bool:
        """Whether the spread is too wide for a reliable median."""
        return self.spread is not None and self.spread > UNSTEADY


@dataclass(frozen=True)
class Selection:
    """Which part of an experiment to run."""

    quick: bool = False
    repeats: int | None = None
    sizes: tuple[int, ...] = ()
    hosts: tuple[Host | None, ...] = (None,)
    """The hosts to run it on; None is this machine."""


MakeLab = Callable[..., Lab]
"""Returns a lab, given engines, settings, and perhaps the samples per second, ``hz``."""


class Runner:
    """Runs one experiment, every run on a lab of its own. Its attributes show the progress meanwhile."""

    def __init__(self, experiment: Experiment, selection: Selection, make_lab: MakeLab) -> None:
        self.experiment = experiment
        self.selection = selection
        self._make_lab = make_lab
        self.entries = entries(
            experiment, quick=selection.quick, sizes=selection.sizes, hosts=selection.hosts
        )
        self.outcomes: dict[ExperimentCell, CellOutcome] = {
            entry.cell: CellOutcome() for entry in self.entries if entry.cell is not None
        }
        self.lab: Lab | None = None
        """The lab of the current run."""
        self.current: ExperimentCell | None = None
        self.finished = False
        """Whether it has finished or was cancelled."""
        self._began: float | None = None
        self._ended: float | None = None
        self._run_began = 0.0

    @property
    def partial(self) -> bool:
        """Whether some cells are not finished."""
        return any(outcome.state.unfinished for outcome in self.outcomes.values())

    def repeats(self, cell: ExperimentCell) -> int:
        """Return the number of runs of a cell."""
        few = 1 if self.selection.quick else cell.repeats
        return few if self.selection.repeats is None else self.selection.repeats

    async def run(self) -> None:
        """Run all cells in the order of the file; the figures so far are kept on cancellation.

        A cell that was cancelled keeps its runs and is waiting again.
        """
        self._began = asyncio.get_running_loop().time()
        try:
            for cell, outcome in self.outcomes.items():
                self.current = cell
                await self._run_cell(cell, outcome)
        finally:
            for outcome in self.outcomes.values():
                if outcome.state is CellState.RUNNING:
                    outcome.state = CellState.WAITING
            self.current, self.finished = None, True
            self._ended = asyncio.get_running_loop().time()

    async def _run_cell(self, cell: ExperimentCell, outcome: CellOutcome) -> None:
        outcome.state = CellState.RUNNING
        try:
            for _ in range(self.repeats(cell)):
                self._run_began = asyncio.get_running_loop().time()
                outcome.runs.append(await self._run_once(cell))
            outcome.state = CellState.DONE
        except NotMeasuredError as error:
            absent = isinstance(error, MissingError)
            outcome.state, outcome.reason = CellState.SKIPPED if absent else CellState.FAILED, str(error)

    async def _run_once(self, cell: ExperimentCell) -> Result:
        try:
            engines = [] if cell.program else [cell.worker()]
            self.lab = lab = self._make_lab(engines, cell.settings, **cell.lab_options)
        except ValueError as error:  # the Python, or a requirement of the lab, is missing
            raise MissingError(str(error)) from None
        problem = cell.problem(lab)
        if problem is not None:
            await lab.close()
            raise MissingError(problem)
        run = run_program if cell.program else run_step if cell.action == SWEEP else run_once
        return await run(lab, cell)

    def figures(self) -> list[TableFigure]:
        """Return the current figure of every row of the result."""
        return [self._figure(entry) for entry in self.entries]

    def _figure(self, entry: Entry) -> TableFigure:
        if entry.cell is None:
            reason = f"no engine {entry.series.engine} yet"
            return TableFigure(entry, CellState.ABSENT, reason, None, None, None, ())
        outcome, factor = self.outcomes[entry.cell], SCALES[entry.table.unit][1]
        measured = Measured.of_runs(outcome.runs, entry.table.reading)
        shown = None if outcome.state in (CellState.FAILED, CellState.SKIPPED) else measured
        here = shown.median / factor if shown else None
        return TableFigure(
            entry,
            outcome.state,
            outcome.reason,
            here,
            here / entry.published if here is not None and entry.published else None,
            shown.spread if shown else None,
            tuple(value / factor for value in measured.values) if measured else (),
            tuple(outcome.runs),
        )

    # Progress.

    @property
    def seconds(self) -> float:
        """Seconds from its start to now, or to its end."""
        if self._began is None:
            return 0.0
        return (self._ended or asyncio.get_running_loop().time()) - self._began

    @property
    def seconds_left(self) -> float:
        """The forecast of the remaining seconds, corrected by the pace of the runs so far."""
        took = expected = PACE_PRIOR
        for cell, outcome in self.outcomes.items():
            took += sum(run.seconds for run in outcome.runs)
            expected += cell.expected_seconds() * len(outcome.runs)
        pace = took / expected
        left = 0.0
        for cell, outcome in self.outcomes.items():
            if outcome.state.unfinished:
                left += cell.expected_seconds() * max(0, self.repeats(cell) - len(outcome.runs))
        left *= pace
        if self.current is not None:  # part of the current run is over
            ran = asyncio.get_running_loop().time() - self._run_began
            left -= min(ran, self.current.expected_seconds() * pace)
        return max(0.0, left)

    @property
    def share(self) -> float:
        """The finished share of the forecast time: 0 to 1."""
        if self.finished and not self.partial:
            return 1.0
        left = self.seconds_left
        return self.seconds / (self.seconds + left) if self.seconds + left > 0 else 0.0
