"""The app that shows the live lanes of a lab."""

import asyncio
import signal
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from concwatch.monitor.lanes.forecast import why_too_many
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import LARGEST_TARGET, Settings
from concwatch.monitor.workers.catalog import Engine
from concwatch.portable.protocol.units import parse_count
from concwatch.ui.apps.lanes_app import LanesApp
from concwatch.ui.base.keyboard import Keyboard
from concwatch.ui.keys import keys
from concwatch.ui.keys.host_commands import HostCommands
from concwatch.ui.keys.key_targets import ExperimentKeys, LabKeys
from concwatch.ui.keys.lane_commands import LaneCommands
from concwatch.ui.keys.setting_commands import SettingCommands
from concwatch.ui.panels.charts import ChartPanel
from concwatch.ui.panels.costs import CostPanel
from concwatch.ui.panels.events import EventPanel
from concwatch.ui.panels.feed import LiveFeed
from concwatch.ui.panels.lanes import LanePanel
from concwatch.ui.screens.monitor import Help, MonitorScreen, Parts
from concwatch.ui.sources.session_recording import SessionRecording
from concwatch.ui.sources.source import LabSource
from concwatch.ui.widgets.bars.status_bar import StatusBar
from concwatch.ui.widgets.lanes.lane_card import STEP

if TYPE_CHECKING:
    from concwatch.monitor.metrics.observable import Observable
    from concwatch.ui.sources.alone import MeasuredAlone
    from concwatch.ui.sources.experiment_runs import ExperimentRuns
    from concwatch.ui.sources.race import Race
    from concwatch.ui.sources.sweep import Sweep


class InitialState(Struct, frozen=True):
    """The initial state of the screen."""

    theme: str = ""
    """Name of a theme; the default theme if empty."""
    window: float | None = None
    """Time window in seconds that the charts grow to; None for a minute."""
    tasks: Mapping[str, int] = {}
    """Targets set at the start, by engine."""


HELP = Help(
    "what does one more task cost?",
    "Drag a slider, or click a lane's switch (○ off), its number, or a setting to change it.",
)

UNEXPECTED_ERROR = 1
"""Exit status after an unexpected error, the same as Textual's."""


def _exit_reason(status: int) -> str:
    if status < 0:
        return f"ended by {signal.Signals(-status).name}"
    return "failed" if status else "quit"


class ConcwatchApp(LanesApp):
    """Runs a lab and shows its lanes."""

    def __init__(
        self,
        make_lab: Callable[[], Lab],
        make_run_lab: Callable[..., Lab],
        pictures: Path = Path("screenshots"),
        recording: SessionRecording | None = None,
        initial: InitialState | None = None,
    ) -> None:
        """Create the app.

        Args:
            make_lab: returns the lab; called once the event loop runs.
            make_run_lab: returns the lab for one measurement, given what `Lab` takes.
            pictures: the folder for screenshots, created when needed.
            recording: records the session from the start; None to record only on request.
            initial: the initial state of the screen.
        """
        self._initial = initial or InitialState()
        super().__init__(pictures, self._initial.theme)
        self._make_lab = make_lab
        self._make_run_lab = make_run_lab
        self.runs: ExperimentRuns | None = None
        """The experiments of this session; None until their screen is opened."""
        self.race: Race | None = None
        """The last race; None before the first."""
        self.sweep: Sweep | None = None
        """The last sweep; None before the first."""
        self.lab: Lab | None = None
        """The lab; None until the app runs."""
        self.commands: LaneCommands | None = None
        """The commands for its lanes; None until the app runs."""
        self.recording = recording or self.recording

    def make_screen(self) -> MonitorScreen:
        """Create the lab and its screen."""
        self.lab = self._make_lab()
        self.recording.attach(self.lab)
        source, log_event = LabSource(self.lab), partial(self.lab.log, "")
        lanes = LanePanel(hosts_join=self.lab.fleet.is_cluster)
        charts = ChartPanel(lanes, log_event)
        costs = CostPanel(lanes, log_event)
        feed = LiveFeed(self.lab)
        parts = Parts(StatusBar(), lanes, charts, [costs], EventPanel(), feed)
        screen = MonitorScreen(source.snapshot, parts, self.size, HELP, self._status_text)
        lanes.controls = self.commands = LaneCommands(self.lab, source, screen, lanes)
        hosts = HostCommands(source, screen, lanes, self.commands.set_target, self.lab.log)
        if self.lab.fleet.is_cluster:
            feed.rearrange = hosts.update_rows
        settings = SettingCommands(self.lab, screen)
        targets = LabKeys(self, screen, charts, lanes, costs, self.commands, settings, hosts)
        screen.keyboard = Keyboard(keys.MONITOR, targets)
        if self._initial.window:
            charts.selected_window = self._initial.window
        return screen

    def _status_text(self) -> str:
        """Return what else is running, for the status bar."""
        return "  ".join(filter(None, (self.recording.status, self.runs.status if self.runs else "")))

    def on_mount(self) -> None:
        """Start the lab after the first frame."""
        self.call_after_refresh(self._start)

    def _start(self) -> None:
        """Start the lab, and set the initial targets."""
        assert self.lab is not None
        assert self.commands is not None
        self.run_worker(self.lab.run(), name="lab", exit_on_error=True)
        self.commands.set_targets(self._initial.tasks)

    def conditions(self) -> Sequence[str]:
        """Return what is measured, and on which machine."""
        from concwatch.charts.painters.slide import conditions  # needed only for pictures
        from concwatch.system.machine import describe_machine
        from concwatch.ui.screens.measured import MeasuredDialog

        when = f"{datetime.now():%d %b %Y}".lstrip("0")
        if isinstance(self.screen, MeasuredDialog):
            return [*self.screen.said(), *conditions(self.screen.settings, describe_machine(), when)]
        settings = self.lab.settings.current if self.lab else Settings()
        return conditions(settings, describe_machine(), when, self._changed())

    def _changed(self) -> set[str]:
        """Return the commands that changed settings within the time window of the charts."""
        if self.lab is None or self._lanes is None:
            return set()
        shown = self._lanes.snapshot
        since = shown.elapsed - self._lanes.charts.window(shown.elapsed)
        return {mark.kind for mark in self.lab.marks.since(0) if mark.time >= since}

    def recorded(self) -> "tuple[Observable, Sequence[Engine]]":
        """Return the lab and the engines of its lanes, for a recording."""
        assert self.lab is not None
        return self.lab, [lane.engine for lane in self.lab.lanes]

    def log_event(self, text: str) -> None:
        """Log what the user did."""
        if self.lab is not None:
            self.lab.log("", text)

    @property
    def window(self) -> float | None:
        """The time window selected by the user in seconds; None if the user has not selected one."""
        charts = self._lanes.charts if self._lanes else None
        return charts.selected_window if charts and not charts.growing else None

    async def on_unmount(self) -> None:
        """Stop all workers before the program exits."""
        try:
            await self._close()
        except Exception as error:
            self._kill()
            # If it were raised here, Textual would exit without restoring the terminal. An earlier error has
            # been printed already.
            if self.return_code != UNEXPECTED_ERROR:
                from rich.traceback import Traceback  # not needed for the first frame

                traceback = Traceback.from_exception(type(error), error, error.__traceback__)
                self.exit(return_code=UNEXPECTED_ERROR, message=traceback)

    async def _close(self) -> None:
        # First, because there may be little time if the terminal is gone.
        self.recording.stop(_exit_reason(self.return_code or 0))
        # Concurrently, so that no worker waits for another one to exit.
        closing = [part.close() for part in self._parts]
        for error in filter(None, await asyncio.gather(*closing, return_exceptions=True)):
            raise error

    def bell(self) -> None:
        """Ring the terminal's bell; after an unexpected error, kill all workers first.

        Textual rings the bell before it formats the traceback, which can take more than a second.
        """
        if self.return_code:
            self._kill()
        super().bell()

    def _kill(self) -> None:
        for part in self._parts:
            part.kill()

    @property
    def _parts(self) -> "Sequence[Lab | ExperimentRuns | MeasuredAlone]":
        """The parts that have workers."""
        parts = (self.runs, self.race, self.sweep, self.lab)
        return [part for part in parts if part is not None]

    def action_race(self, another: bool = False) -> None:
        """Show the last race, or ask for the number of tasks of ``another`` and start it."""
        if self.race is not None and not another:
            self._show_race()
            return

        def start(engines: Sequence[Engine], tasks: int) -> None:
            from concwatch.ui.sources.race import Race  # not needed for the first frame

            assert self.lab is not None
            self.race = Race(self._make_run_lab, engines, self.lab.settings.current, tasks)
            self.race.start(self.lab)
            self.call_later(self._show_race)

        self._ask_to_measure(start, "race: number of tasks of each engine", "a race to 0 tasks has no winner")

    def action_sweep(self, another: bool = False) -> None:
        """Show the last sweep, or ask for the most tasks of ``another`` and start it."""
        if self.sweep is not None and not another:
            self._show_sweep()
            return

        def start(engines: Sequence[Engine], tasks: int) -> None:
            from concwatch.measure.sweep.engine_sweep import HZ  # not needed for the first frame
            from concwatch.ui.sources.sweep import Sweep

            assert self.lab is not None
            self.sweep = Sweep(partial(self._make_run_lab, hz=HZ), engines, self.lab.settings.current, tasks)
            self.sweep.start(self.lab)
            self.call_later(self._show_sweep)

        self._ask_to_measure(
            start, "how many tasks at once are enough: try up to", "a sweep to 0 tasks measures nothing"
        )

    def _ask_to_measure(
        self, start: Callable[[Sequence[Engine], int], None], question: str, none: str
    ) -> None:
        """Ask for a number of tasks, and call ``start`` with the engines that can run here and that number.

        Args:
            start: measures them.
            question: what the number is.
            none: what is wrong with 0.
        """
        assert self.lab is not None
        assert self._lanes is not None
        lab = self.lab
        engines = [
            engine
            for engine in dict.fromkeys(lane.engine for lane in lab.lanes)
            if engine.host is None and engine.missing() is None
        ]
        if not engines:
            self.notify("no engine of this machine can run", severity="warning")
            return

        def parse(text: str) -> int:
            tasks = parse_count(text, LARGEST_TARGET)
            untraced = replace(lab.settings.current, trace=False)
            if not tasks:
                raise ValueError(f"{none}; expected a number from 1")
            if problem := why_too_many(engines, untraced, tasks, together=False, budget=None):
                raise ValueError(problem.partition(", or --force")[0])
            return tasks

        most = max((lane.status.target for lane in lab.snapshot().lanes), default=0) or STEP
        names = ", ".join(engine.name for engine in engines)
        self._lanes.ask(
            lambda tasks: start(engines, tasks),
            question,
            str(most),
            parse,
            lambda tasks: f"enter stops all lanes; then {names} run alone, one after another",
        )

    def _show_race(self) -> None:
        from concwatch.ui.screens.race import RaceScreen  # not needed for the first frame

        assert self.race is not None
        assert self._lanes is not None
        colors = self._lanes.colors_of(self._lanes.snapshot)
        self.push_screen(RaceScreen(self.race, colors, partial(self.action_race, True)))

    def _show_sweep(self) -> None:
        from concwatch.ui.screens.sweep import SweepScreen  # not needed for the first frame

        assert self.sweep is not None
        assert self._lanes is not None
        colors = self._lanes.colors_of(self._lanes.snapshot)
        self.push_screen(SweepScreen(self.sweep, colors, partial(self.action_sweep, True)))

    def action_experiments(self) -> None:
        """Show the experiments."""
        # Not needed for the first frame.
        from concwatch.ui.screens.experiments import ExperimentsScreen
        from concwatch.ui.sources.experiment_runs import ExperimentRuns

        assert self.lab is not None
        if self.runs is None:
            self.runs = ExperimentRuns(self._make_run_lab, partial(self.lab.log, ""))
        screen = ExperimentsScreen(self.runs, self.lab)
        screen.keyboard = Keyboard(keys.EXPERIMENTS, ExperimentKeys(self, screen))
        self.push_screen(screen)
