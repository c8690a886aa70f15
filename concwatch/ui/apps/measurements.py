"""The measurements of a session that run beside its lanes: experiments, a race, and a sweep."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from concwatch.monitor.lanes.forecast import why_too_many
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import LARGEST_TARGET
from concwatch.monitor.workers.catalog import Engine
from concwatch.portable.protocol.units import parse_count
from concwatch.ui.apps.lanes_app import LanesApp
from concwatch.ui.base.keyboard import Keyboard
from concwatch.ui.keys import keys
from concwatch.ui.keys.key_targets import ExperimentKeys
from concwatch.ui.screens.monitor import MonitorScreen
from concwatch.ui.widgets.lanes.lane_card import STEP

if TYPE_CHECKING:  # what the first frame does not need is imported where it is used
    from concwatch.ui.sources.alone import MeasuredAlone
    from concwatch.ui.sources.experiment_runs import ExperimentRuns
    from concwatch.ui.sources.race import Race
    from concwatch.ui.sources.sweep import Sweep


class Measurements:
    """Starts and shows the experiments, races and sweeps of a session; the last of each is kept."""

    def __init__(
        self, app: LanesApp, lab: Lab, screen: MonitorScreen, make_run_lab: Callable[..., Lab]
    ) -> None:
        """Create the measurements.

        Args:
            app: the app of the session.
            lab: the monitor's lab, whose engines race.
            screen: the monitor, over which they are shown.
            make_run_lab: returns the lab for one measurement, given what `Lab` takes.
        """
        self._app, self._lab, self._screen, self._make_run_lab = app, lab, screen, make_run_lab
        self.runs: ExperimentRuns | None = None
        """The experiments; None until their screen is opened."""
        self.race: Race | None = None
        """The last race; None before the first."""
        self.sweep: Sweep | None = None
        """The last sweep; None before the first."""

    @property
    def started(self) -> "Sequence[ExperimentRuns | MeasuredAlone]":
        """Those that may have workers."""
        return [each for each in (self.runs, self.race, self.sweep) if each is not None]

    @property
    def status(self) -> str:
        """The progress of a running experiment, for the status bar; empty if none is running."""
        return self.runs.status if self.runs else ""

    def show_experiments(self) -> None:
        """Show the experiments."""
        from concwatch.ui.screens.experiments import ExperimentsScreen
        from concwatch.ui.sources.experiment_runs import ExperimentRuns

        if self.runs is None:
            self.runs = ExperimentRuns(self._make_run_lab, partial(self._lab.log, ""))
        screen = ExperimentsScreen(self.runs, self._lab)
        screen.keyboard = Keyboard(
            keys.EXPERIMENTS, ExperimentKeys(self._app, screen, screen.chosen, self.runs, self._lab)
        )
        self._app.push_screen(screen)

    def show_race(self, another: bool = False) -> None:
        """Show the last race, or ask for the number of tasks of ``another`` and start it."""
        from concwatch.ui.screens.race import RaceScreen
        from concwatch.ui.sources.race import Race

        def start(engines: Sequence[Engine], tasks: int) -> None:
            self.race = Race(self._make_run_lab, engines, self._lab.settings.current, tasks)
            self.race.start(self._lab)
            self._app.call_later(self.show_race)

        if self.race is None or another:
            self._ask(start, "race: number of tasks of each engine", "a race to 0 tasks has no winner")
        else:
            screen = RaceScreen(self.race, self._colors(), partial(self.show_race, True))
            self._app.push_screen(screen)

    def show_sweep(self, another: bool = False) -> None:
        """Show the last sweep, or ask for the most tasks of ``another`` and start it."""
        from concwatch.measure.sweep.engine_sweep import HZ
        from concwatch.ui.screens.sweep import SweepScreen
        from concwatch.ui.sources.sweep import Sweep

        def start(engines: Sequence[Engine], tasks: int) -> None:
            self.sweep = Sweep(partial(self._make_run_lab, hz=HZ), engines, self._lab.settings.current, tasks)
            self.sweep.start(self._lab)
            self._app.call_later(self.show_sweep)

        if self.sweep is None or another:
            question = "how many tasks at once are enough: try up to"
            self._ask(start, question, "a sweep to 0 tasks measures nothing")
        else:
            screen = SweepScreen(self.sweep, self._colors(), partial(self.show_sweep, True))
            self._app.push_screen(screen)

    def _colors(self) -> dict[str, str]:
        return self._screen.colors_of(self._screen.snapshot)

    def _ask(self, start: Callable[[Sequence[Engine], int], None], question: str, none: str) -> None:
        """Ask for a number of tasks, and call ``start`` with the engines that can run here and that number.

        Args:
            start: measures them.
            question: what the number is.
            none: what is wrong with 0.
        """
        engines = [
            engine
            for engine in dict.fromkeys(lane.engine for lane in self._lab.lanes)
            if engine.host is None and engine.missing() is None
        ]
        if not engines:
            self._screen.notify("no engine of this machine can run", severity="warning")
            return

        def parse(text: str) -> int:
            tasks = parse_count(text, LARGEST_TARGET)
            untraced = replace(self._lab.settings.current, trace=False)
            if not tasks:
                raise ValueError(f"{none}; expected a number from 1")
            if problem := why_too_many(engines, untraced, tasks, together=False, budget=None):
                raise ValueError(problem)
            return tasks

        most = max((lane.status.target for lane in self._lab.snapshot().lanes), default=0) or STEP
        names = ", ".join(engine.name for engine in engines)
        self._screen.ask(
            lambda tasks: start(engines, tasks),
            question,
            str(most),
            parse,
            lambda tasks: f"enter stops all lanes; then {names} run alone, one after another",
        )
