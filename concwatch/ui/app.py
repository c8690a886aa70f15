"""The program on the terminal: one lab, one screen, and a clean end."""

import asyncio
import signal
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from concwatch.lab.catalog import Engine
from concwatch.lab.lab import Lab
from concwatch.lab.settings import Settings
from concwatch.ui.lanes_app import LanesApp
from concwatch.ui.screens.monitor import MonitorScreen
from concwatch.ui.session_recording import SessionRecording

if TYPE_CHECKING:
    from concwatch.recordings.recorder import Recordable
    from concwatch.ui.experiment_runs import ExperimentRuns


class Begin(Struct, frozen=True):
    """What a screen begins with."""

    theme: str = ""
    """One of Textual's or ours; the default if empty."""
    window: float | None = None
    """Seconds that the charts grow to show; None for a minute."""
    tasks: Mapping[str, int] = {}
    """Tasks asked for at once, by engine."""


BROKEN = 1
"""Exit status after something that nobody foresaw, as Textual has it."""


def plain_lab(engines: Sequence[Engine], settings: Settings) -> Lab:
    """Make the lab for one run of one cell of an experiment."""
    return Lab(engines, settings=settings)


def _why(status: int) -> str:
    """Return why the program ends, by its exit status."""
    if status > 128:
        return f"ended by {signal.Signals(status - 128).name}"
    return "broke off" if status else "quit"


class ConcwatchApp(LanesApp):
    """Runs a lab and shows it."""

    def __init__(
        self,
        make_lab: Callable[[], Lab],
        pictures: Path = Path("screenshots"),
        make_run_lab: Callable[[Sequence[Engine], Settings], Lab] = plain_lab,
        recording: SessionRecording | None = None,
        begin: Begin | None = None,
    ) -> None:
        """Make the app.

        Args:
            make_lab: makes the lab, once the app's event loop runs.
            pictures: the folder for screenshots, made when it is needed.
            make_run_lab: makes the lab for one run of one cell of an experiment.
            recording: keeps the session in files; None for one that begins when it is asked for.
            begin: what the screen begins with.
        """
        self._begin = begin or Begin()
        super().__init__(pictures, self._begin.theme)
        self._make_lab = make_lab
        self._make_run_lab = make_run_lab
        self.runs: ExperimentRuns | None = None
        """The experiments of this session, once somebody has looked at them."""
        self.lab: Lab | None = None
        """The lab, once the app runs."""
        self.recording = recording or self.recording

    def make_screen(self) -> MonitorScreen:
        """Make the lab and the screen that shows it."""
        self.lab = self._make_lab()
        self.recording.follow(self.lab)
        screen = MonitorScreen(self.lab, self.size, self._aside)
        if self._begin.window:
            screen.charts.chosen = self._begin.window
        return screen

    def _aside(self) -> str:
        """Return what else runs, in a few words."""
        return "  ".join(filter(None, (self.recording.told, self.runs.told if self.runs else "")))

    def on_mount(self) -> None:
        """Start the lab."""
        assert self.lab is not None
        self.run_worker(self.lab.run(), name="lab", exit_on_error=True)
        if self._begin.tasks:
            self.call_after_refresh(self._hold, self._begin.tasks)

    def _hold(self, tasks: Mapping[str, int]) -> None:
        """Ask lanes for so many tasks, by engine."""
        assert self.lab is not None
        assert self._lanes is not None
        assert isinstance(self._lanes, MonitorScreen)
        self._lanes.hold(tasks)

    def conditions(self) -> Sequence[str]:
        """Return what is measured, and on what."""
        from concwatch.charts.slide import conditions  # only here: few pictures are taken
        from concwatch.system.machine import describe_machine

        settings = self.lab.settings if self.lab else Settings()
        return conditions(settings, describe_machine(), f"{datetime.now():%d %b %Y}".lstrip("0"))

    def followed(self) -> "tuple[Recordable, Sequence[Engine]]":
        """Return what is recorded, and the engines of its lanes."""
        assert self.lab is not None
        return self.lab, [lane.engine for lane in self.lab.lanes]

    def tell(self, text: str) -> None:
        """Have the event log say what a person did."""
        if self.lab is not None:
            self.lab.tell(text)

    @property
    def window(self) -> float | None:
        """Seconds that somebody has the charts show; None where nobody chose."""
        charts = self._lanes.charts if self._lanes else None
        return charts.chosen if charts and not charts.grows else None

    async def on_unmount(self) -> None:
        """End every worker before the program ends."""
        try:
            await self._close()
        except Exception as error:
            self._kill()
            # Raised from here, it would have Textual go without giving the terminal back. What broke the
            # program in the first place is told already.
            if self.return_code != BROKEN:
                from rich.traceback import Traceback  # only here: the first frame has no use for it

                told = Traceback.from_exception(type(error), error, error.__traceback__)
                self.exit(return_code=BROKEN, message=told)

    async def _close(self) -> None:
        # Before all else: where the terminal is gone there may be no time left.
        self.recording.end(_why(self.return_code or 0))
        # All at the same time: no worker waits for the end of another.
        closing = [part.close() for part in self._parts]
        for error in filter(None, await asyncio.gather(*closing, return_exceptions=True)):
            raise error

    def bell(self) -> None:
        """Sound the terminal's bell, as Textual does first of all when something unforeseen has broken it.

        It then takes a second and more to write down why, in which no worker shall run on.
        """
        if self.return_code:
            self._kill()
        super().bell()

    def _kill(self) -> None:
        for part in self._parts:
            part.kill()

    @property
    def _parts(self) -> "Sequence[Lab | ExperimentRuns]":
        """What has workers."""
        return [part for part in (self.runs, self.lab) if part is not None]

    def action_experiments(self) -> None:
        """Show the experiments."""
        # Only here: the first frame has no use for them.
        from concwatch.ui.experiment_runs import ExperimentRuns
        from concwatch.ui.screens.experiments import ExperimentsScreen

        assert self.lab is not None
        if self.runs is None:
            self.runs = ExperimentRuns(self._make_run_lab)
        self.push_screen(ExperimentsScreen(self.runs, self.lab))
