"""The experiments of a session: those available, their results, and the current run."""

import asyncio
import traceback
from collections import deque
from collections.abc import Sequence

from concwatch.measure.experiments.experiment import Experiment
from concwatch.measure.experiments.loading import decode, shipped
from concwatch.measure.experiments.runner import MakeLab, Runner, Selection
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.verdicts.events import EventSink
from concwatch.monitor.workers.catalog import Engine
from concwatch.monitor.workers.worker_log import LONGEST_DETAIL

LABS_KEPT = 60
"""Number of labs of past runs kept for the live chart."""


class ExperimentRuns:
    """Runs experiments in the background, one at a time, and keeps their results."""

    def __init__(self, make_lab: MakeLab, log: EventSink) -> None:
        """Load the experiments that come with concwatch.

        Args:
            make_lab: returns the lab for one run of one cell.
            log: adds an event to the event log.
        """
        self.experiments: dict[str, Experiment] = {}
        """The experiments by name, in the order of the list."""
        self.broken: list[str] = []
        """One error message for each file that could not be read."""
        self.quick = False
        """Whether the next run is a quick one, with fewer sizes."""
        self.running: str | None = None
        """Name of the experiment that is running."""
        self.last: str | None = None
        """Name of the experiment that was started last."""
        self.stopping = False
        """Whether the run is being stopped."""
        self.problems: dict[str, str] = {}
        """Why a run failed, by name."""
        self._labs: deque[Lab] = deque(maxlen=LABS_KEPT)
        """The lane of each run of a cell, newest last."""
        self._make_lab, self._log = make_lab, log
        self._task: asyncio.Task[None] | None = None
        self._runners: dict[str, Runner] = {}
        self._prepared: dict[tuple[str, bool], Runner] = {}
        for path in shipped():
            try:
                experiment = decode(path.read_bytes(), path.name)
            except (OSError, ValueError) as error:
                self.broken.append(str(error))
            else:
                self.experiments[experiment.name] = experiment

    def _keep_lane(self, engines: Sequence[Engine], settings: Settings, **options: float) -> Lab:
        lab = self._make_lab(engines, settings, **options)
        self._labs.append(lab)
        return lab

    def prepared(self, name: str, quick: bool) -> Runner:
        """Return the runner that would be started."""
        if (name, quick) not in self._prepared:
            self._prepared[name, quick] = Runner(
                self.experiments[name], Selection(quick=quick), self._keep_lane
            )
        return self._prepared[name, quick]

    def shown(self, name: str) -> Runner:
        """Return the last runner of ``name``, or the one that would be started."""
        return self._runners.get(name) or self.prepared(name, self.quick)

    def has_run(self, name: str) -> bool:
        """Return whether ``name`` has been run in this session."""
        return name in self._runners

    def snapshots(self) -> list[Snapshot]:
        """Return the current snapshot of each lab of the last run, the newest last."""
        return [lab.snapshot() for lab in self._labs]

    @property
    def status(self) -> str:
        """The progress of the run, for the status bar; empty if none is running."""
        return f"experiment {self._runners[self.running].share * 100:.0f} %" if self.running else ""

    def start(self, name: str) -> bool:
        """Start ``name`` in the background; return False if an experiment is running already."""
        if self.running is not None:
            return False
        runner = self.prepared(name, self.quick)
        del self._prepared[name, self.quick]
        self._runners[name], self.running, self.last, self.stopping = runner, name, name, False
        self.problems.pop(name, None)
        self._labs.clear()
        self._task = asyncio.get_running_loop().create_task(self._run_guarded(name, runner))
        return True

    async def _run_guarded(self, name: str, runner: Runner) -> None:
        """Run; record and log an error, so that it does not end the monitor with its lanes."""
        try:
            await runner.run()
        except Exception as error:
            self.problems[name] = " ".join(str(error).split()) or type(error).__name__
            detail = traceback.format_exc()[-LONGEST_DETAIL:].rstrip()
            self._log(f"experiment {name} failed: {self.problems[name]}\n{detail}", "error")
        finally:
            self.running = None

    def toggle_quick(self) -> None:
        """Switch between quick and full run for the next start."""
        self.quick = not self.quick

    def stop(self) -> None:
        """Stop the run and keep what has been measured."""
        if self._task is not None and self.running is not None and not self.stopping:
            self.stopping = True
            self._task.cancel()

    async def close(self) -> None:
        """Stop the run and wait until its worker has exited."""
        self.stop()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    def kill(self) -> None:
        """Kill every worker immediately."""
        for lab in self._labs:
            lab.kill()
