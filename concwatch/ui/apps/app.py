"""The app that shows the live lanes of a lab."""

import asyncio
import signal
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.workers.catalog import Engine
from concwatch.ui.apps.lanes_app import LanesApp
from concwatch.ui.apps.measurements import Measurements
from concwatch.ui.base.keyboard import Keyboard
from concwatch.ui.keys import keys
from concwatch.ui.keys.host_commands import HostCommands
from concwatch.ui.keys.key_targets import LabKeys
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

if TYPE_CHECKING:
    from concwatch.monitor.metrics.observable import Observable
    from concwatch.ui.sources.alone import MeasuredAlone
    from concwatch.ui.sources.experiment_runs import ExperimentRuns


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
        self.measurements: Measurements | None = None
        """The experiments, the race and the sweep; None until the app runs."""
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
        self.measurements = Measurements(self, self.lab, screen, self._make_run_lab)
        lanes.controls = self.commands = LaneCommands(self.lab, source, screen, lanes)
        hosts = HostCommands(source, screen, lanes, self.commands.set_target, self.lab.log)
        if self.lab.fleet.is_cluster:
            feed.rearrange = hosts.update_rows
        settings = SettingCommands(self.lab, screen)
        targets = LabKeys(
            self, screen, charts, lanes, costs, self.commands, settings, hosts, self.measurements
        )
        screen.keyboard = Keyboard(keys.MONITOR, targets)
        if self._initial.window:
            charts.selected_window = self._initial.window
        return screen

    def _status_text(self) -> str:
        """Return what else is running, for the status bar."""
        return "  ".join(
            filter(None, (self.recording.status, self.measurements.status if self.measurements else ""))
        )

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
        """Return the commands that changed settings within the time window of the charts, and after the first
        target: before, there was nothing to measure.
        """
        if self.lab is None or self._lanes is None:
            return set()
        shown = self._lanes.snapshot
        since = shown.elapsed - self._lanes.charts.window(shown.elapsed)
        marks = dropwhile(lambda mark: mark.kind != "target", self.lab.marks.since(0))
        return {mark.kind for mark in marks if mark.time >= since}

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
        if self.lab is None or self.measurements is None:
            return ()
        return (*self.measurements.started, self.lab)
