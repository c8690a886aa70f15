"""The experiments of one session: which there are, what has been run, and what runs now."""

import asyncio
from collections import deque
from collections.abc import Sequence

from concwatch.experiments.experiment import Experiment
from concwatch.experiments.loading import decode, shipped
from concwatch.experiments.runner import MakeLab, Runner, Selection
from concwatch.lab.catalog import Engine
from concwatch.lab.lab import Lab
from concwatch.lab.lane import Lane
from concwatch.lab.settings import Settings

LANES_KEPT = 60
"""Lanes of past runs that the live chart can still show."""


class ExperimentRuns:
    """Runs experiments in the background, one at a time, and keeps what came of each."""

    def __init__(self, make_lab: MakeLab) -> None:
        """Read the experiments that come with concwatch.

        Args:
            make_lab: makes the lab for one run of one cell.
        """
        self.experiments: dict[str, Experiment] = {}
        """By name, in the order of the list."""
        self.broken: list[str] = []
        """One line for each file that could not be read."""
        self.quick = False
        """Whether what is started next is the quick choice of sizes."""
        self.running: str | None = None
        """The name of the one that runs."""
        self.last: str | None = None
        """The name of the one that was started last, also when it has ended."""
        self.stopping = False
        """Whether that has been told to stop."""
        self.problems: dict[str, str] = {}
        """Why a run broke off by itself, by name."""
        self.lanes: deque[Lane] = deque(maxlen=LANES_KEPT)
        """The lane of each run of a cell, the newest last."""
        self._make_lab = make_lab
        self._task: asyncio.Task[None] | None = None
        self._run: dict[str, Runner] = {}
        self._prepared: dict[tuple[str, bool], Runner] = {}
        for path in shipped():
            try:
                experiment = decode(path.read_bytes(), path.name)
            except (OSError, ValueError) as error:
                self.broken.append(str(error))
            else:
                self.experiments[experiment.name] = experiment

    def _keep_lane(self, engines: Sequence[Engine], settings: Settings) -> Lab:
        lab = self._make_lab(engines, settings)
        self.lanes.extend(lab.lanes)
        return lab

    # What there is to see.

    def prepared(self, name: str, quick: bool) -> Runner:
        """Return what would run if ``name`` were started so."""
        if (name, quick) not in self._prepared:
            self._prepared[name, quick] = Runner(
                self.experiments[name], Selection(quick=quick), self._keep_lane
            )
        return self._prepared[name, quick]

    def shown(self, name: str) -> Runner:
        """Return the last run of ``name``, or what would run."""
        return self._run.get(name) or self.prepared(name, self.quick)

    def has_run(self, name: str) -> bool:
        """Return whether ``name`` has been started in this session."""
        return name in self._run

    @property
    def told(self) -> str:
        """Return what runs, in a few words; nothing when nothing does."""
        return f"experiment {self._run[self.running].share * 100:.0f} %" if self.running else ""

    # What a person does.

    def start(self, name: str) -> bool:
        """Run ``name`` in the background; False while one runs already."""
        if self.running is not None:
            return False
        runner = self.prepared(name, self.quick)
        del self._prepared[name, self.quick]
        self._run[name], self.running, self.last, self.stopping = runner, name, name, False
        self.problems.pop(name, None)
        self.lanes.clear()
        self._task = asyncio.get_running_loop().create_task(self._guard(name, runner))
        return True

    async def _guard(self, name: str, runner: Runner) -> None:
        """Run, and keep what goes wrong for who looks: the monitor's own lanes shall not go down with it."""
        try:
            await runner.run()
        except Exception as error:
            self.problems[name] = " ".join(str(error).split()) or type(error).__name__
        finally:
            self.running = None

    def stop(self) -> None:
        """End what runs; what has been measured stays."""
        if self._task is not None and self.running is not None and not self.stopping:
            self.stopping = True
            self._task.cancel()

    async def close(self) -> None:
        """End what runs, and wait until its worker has ended."""
        self.stop()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    def kill(self) -> None:
        """End every worker by force, at once."""
        for lane in self.lanes:
            lane.worker.kill()
