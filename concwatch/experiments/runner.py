"""Running an experiment: each cell in fresh workers, as often as it says, and what came of it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from concwatch.experiments.cell import Cell, MissingError, NotMeasuredError, run_once
from concwatch.experiments.experiment import Entry, Experiment, entries
from concwatch.experiments.program import run_program
from concwatch.hosts.host import Host
from concwatch.lab.catalog import Engine
from concwatch.lab.lab import Lab
from concwatch.lab.settings import Settings
from concwatch.measure.measured import Measured
from concwatch.measure.result import Result
from concwatch.measure.units import SCALES

PACE_PRIOR = 10.0
"""Seconds that the forecast of time is taken to have been right for, before any cell has run."""

UNSTEADY = 0.10
"""Spread over which a cell is marked."""


class CellState(Enum):
    """What has become of a cell."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"
    ABSENT = "absent"
    """There is no such engine yet; what was published stands alone."""

    @property
    def open(self) -> bool:
        """Whether it has not been tried to the end."""
        return self in (CellState.WAITING, CellState.RUNNING)


@dataclass
class CellOutcome:
    """What has become of one cell."""

    state: CellState = CellState.WAITING
    reason: str = ""
    """Why there are no figures."""
    runs: list[Result] = field(default_factory=list)
    """Every run that gave figures, whatever they are."""


@dataclass(frozen=True)
class TableFigure:
    """One line of the result, with what has been measured so far; figures in the table's unit."""

    entry: Entry
    state: CellState
    reason: str
    here: float | None
    """The median over the runs; of a cell that failed there is none, though its runs are kept."""
    ratio: float | None
    """Here over published."""
    spread: float | None
    """Share of the median between the lowest and the highest run; None for fewer than two."""
    runs: tuple[float, ...]
    """Every run."""

    @property
    def unsteady(self) -> bool:
        """Whether the spread is too wide to believe the median."""
        return self.spread is not None and self.spread > UNSTEADY


@dataclass(frozen=True)
class Choice:
    """What a person chose to run of an experiment."""

    quick: bool = False
    repeats: int | None = None
    sizes: tuple[int, ...] = ()
    hosts: tuple[Host | None, ...] = (None,)
    """Where it is run: on each; None is this machine."""


MakeLab = Callable[[Sequence[Engine], Settings], Lab]


class Runner:
    """Runs one experiment; whoever wants to see how far it is looks at it meanwhile."""

    def __init__(self, experiment: Experiment, choice: Choice, make_lab: MakeLab) -> None:
        """Prepare to run what was chosen of an experiment, each run on a lab of its own."""
        self.experiment = experiment
        self.choice = choice
        self._make_lab = make_lab
        self.entries = entries(experiment, quick=choice.quick, sizes=choice.sizes, hosts=choice.hosts)
        self.outcomes: dict[Cell, CellOutcome] = {
            entry.cell: CellOutcome() for entry in self.entries if entry.cell is not None
        }
        self.lab: Lab | None = None
        """The lab of the present run."""
        self.current: Cell | None = None
        self.over = False
        """Whether nothing runs any more."""
        self._began: float | None = None
        self._ended: float | None = None
        self._run_began = 0.0

    @property
    def partial(self) -> bool:
        """Whether cells are left that have not been tried."""
        return any(outcome.state.open for outcome in self.outcomes.values())

    def repeats(self, cell: Cell) -> int:
        """Return how often a cell is run."""
        few = 1 if self.choice.quick else cell.repeats
        return few if self.choice.repeats is None else self.choice.repeats

    async def run(self) -> None:
        """Run all cells in the order of the file; when cancelled, what has been measured stays.

        A cell with fewer runs than it should have is not done: it waits, with the runs that it has.
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
            self.current, self.over = None, True
            self._ended = asyncio.get_running_loop().time()

    async def _run_cell(self, cell: Cell, outcome: CellOutcome) -> None:
        outcome.state = CellState.RUNNING
        try:
            for _ in range(self.repeats(cell)):
                self._run_began = asyncio.get_running_loop().time()
                outcome.runs.append(await self._run_once(cell))
            outcome.state = CellState.DONE
        except NotMeasuredError as error:
            absent = isinstance(error, MissingError)
            outcome.state, outcome.reason = CellState.SKIPPED if absent else CellState.FAILED, str(error)

    async def _run_once(self, cell: Cell) -> Result:
        try:
            self.lab = lab = self._make_lab([] if cell.program else [cell.worker()], cell.settings)
        except ValueError as error:  # the Python, or what the lab itself needs, is not here
            raise MissingError(str(error)) from None
        why_not = cell.why_not(lab)
        if why_not is not None:
            await lab.close()
            raise MissingError(why_not)
        return await (run_program if cell.program else run_once)(lab, cell)

    def figures(self) -> list[TableFigure]:
        """Return every line of the result as it stands."""
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
        )

    # How far it is.

    @property
    def seconds(self) -> float:
        """Seconds since it began; until it ended, once it has."""
        if self._began is None:
            return 0.0
        return (self._ended or asyncio.get_running_loop().time()) - self._began

    @property
    def seconds_left(self) -> float:
        """Forecast the seconds that are left, by what the cells so far took against their own forecast."""
        took = expected = PACE_PRIOR
        for cell, outcome in self.outcomes.items():
            took += sum(run.seconds for run in outcome.runs)
            expected += cell.expected_seconds() * len(outcome.runs)
        pace = took / expected
        left = 0.0
        for cell, outcome in self.outcomes.items():
            if outcome.state.open:
                left += cell.expected_seconds() * max(0, self.repeats(cell) - len(outcome.runs))
        left *= pace
        if self.current is not None:  # of the present run a part is over, as far as anybody can tell
            ran = asyncio.get_running_loop().time() - self._run_began
            left -= min(ran, self.current.expected_seconds() * pace)
        return max(0.0, left)

    @property
    def share(self) -> float:
        """Share of the whole that is done, by time: 0 to 1."""
        if self.over and not self.partial:
            return 1.0
        left = self.seconds_left
        return self.seconds / (self.seconds + left) if self.seconds + left > 0 else 0.0
