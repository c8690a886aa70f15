"""The experiment and the table that the screen of experiments shows."""

from concwatch.measure.experiments.experiment import Experiment, ExperimentTable
from concwatch.measure.experiments.runner import Runner
from concwatch.ui.sources.experiment_runs import ExperimentRuns


class ChosenExperiment:
    """One of the experiments of a session, and one of its tables: at first the running one, or the first."""

    def __init__(self, runs: ExperimentRuns) -> None:
        """Choose one of the experiments of ``runs``."""
        self.runs = runs
        self.names = list(runs.experiments)
        """The names of all experiments."""
        self.index = 0 if runs.running is None else self.names.index(runs.running)
        """Index of the experiment (0-based)."""
        self.table_index = 0
        """Index of its table (0-based)."""

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return self.names[self.index]

    @property
    def experiment(self) -> Experiment:
        """The experiment."""
        return self.runs.experiments[self.name]

    @property
    def table(self) -> ExperimentTable:
        """Its table."""
        return self.experiment.table[self.table_index]

    @property
    def runner(self) -> Runner:
        """The last run of the experiment, or the one that would be started."""
        return self.runs.shown(self.name)

    def select(self, index: int) -> None:
        """Choose experiment ``index`` and its first table, unless it is chosen already."""
        if index != self.index:
            self.index, self.table_index = index, 0

    def select_next(self, by: int) -> None:
        """Choose the next (1) or previous (-1) experiment."""
        self.select((self.index + by) % len(self.names))

    def next_table(self, by: int) -> None:
        """Choose the next (1) or previous (-1) table."""
        self.table_index = (self.table_index + by) % len(self.experiment.table)

    def run(self) -> None:
        """Run the experiment; if one is running already, choose that one."""
        if self.runs.running is not None:
            self.select(self.names.index(self.runs.running))
        else:
            self.runs.start(self.name)
