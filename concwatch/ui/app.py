"""The program on the terminal: one lab, one screen, and a clean end."""

import asyncio
import gc
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.reactive import Reactive
from textual.screen import Screen
from textual.theme import BUILTIN_THEMES, Theme

from concwatch.lab.catalog import Engine
from concwatch.lab.lab import Lab
from concwatch.lab.settings import Settings
from concwatch.saving import write_whole
from concwatch.ui.palette import THEMES
from concwatch.ui.screens.monitor import MonitorScreen

if TYPE_CHECKING:
    from concwatch.ui.experiment_runs import ExperimentRuns
    from concwatch.ui.screens.experiments import ExperimentsScreen

ALL_THEMES = {**BUILTIN_THEMES, **{theme.name: theme for theme in THEMES}}


def picture_path(folder: Path, now: datetime) -> Path:
    """Give a name that carries the time, and that no file in ``folder`` has."""
    stem = f"concwatch-{now:%Y-%m-%d-%H%M%S}"
    names = (f"{stem}{suffix}.svg" for suffix in ("", *(f"-{number}" for number in range(2, 1000))))
    return next(folder / name for name in names if not (folder / name).exists())


def plain_lab(engines: Sequence[Engine], settings: Settings) -> Lab:
    """Make the lab for one run of one cell of an experiment."""
    return Lab(engines, settings=settings)


class ConcwatchApp(App[None]):
    """Runs a lab and shows it."""

    TITLE = "concwatch"
    CSS_PATH = "screens/lanes.tcss"  # of the app, since Textual does not load that of a default screen
    BINDINGS = [Binding("ctrl+c", "quit", "Quit", show=False, priority=True)]

    theme: Reactive[str] = Reactive(THEMES[0].name)  # a theme set later has every style sheet parsed again

    def __init__(
        self,
        make_lab: Callable[[], Lab],
        pictures: Path = Path("screenshots"),
        make_run_lab: Callable[[Sequence[Engine], Settings], Lab] = plain_lab,
    ) -> None:
        """Make the app.

        Args:
            make_lab: makes the lab, once the app's event loop runs.
            pictures: the folder for screenshots, made when it is needed.
            make_run_lab: makes the lab for one run of one cell of an experiment.
        """
        super().__init__()
        self._make_lab = make_lab
        self._pictures = pictures
        self._ticking: asyncio.Task[None] | None = None
        self._monitor: MonitorScreen | None = None
        self._make_run_lab = make_run_lab
        self.runs: ExperimentRuns | None = None
        """The experiments of this session, once somebody has looked at them."""
        self._experiments: ExperimentsScreen | None = None
        self.lab: Lab | None = None
        """The lab, once the app runs."""

    @property
    def available_themes(self) -> dict[str, Theme]:
        """Textual's themes and the program's own."""
        return ALL_THEMES

    def get_default_screen(self) -> Screen[None]:
        """Make the lab and the screen that shows it."""
        self.lab = self._make_lab()
        self._monitor = MonitorScreen(self.lab, self.size, lambda: self.runs.told if self.runs else "")
        return self._monitor

    def on_mount(self) -> None:
        """Start the lab."""
        assert self.lab is not None
        self.run_worker(self.lab.run(), name="lab", exit_on_error=True)
        self.theme_changed_signal.subscribe(self, lambda _: self._follow_theme())
        if sys.platform != "win32":
            for number in (signal.SIGTERM, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(number, self._end, 128 + number)

    def on_ready(self) -> None:
        """Collect garbage from now on, but not what was made at the start: it lives as long as the program.

        A full collection that walks Textual's classes and styles was seen to take 80 to 200 ms, in which no
        key is answered.
        """
        gc.freeze()
        gc.enable()

    def _follow_theme(self) -> None:
        if self._monitor is not None and self._monitor.is_mounted:
            self._monitor.follow_theme()

    def _end(self, status: int) -> None:
        self.exit(return_code=status)

    async def on_unmount(self) -> None:
        """End every worker before the program ends."""
        if self.runs is not None:
            await self.runs.close()
        if self.lab is not None:
            await self.lab.close()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Offer in the palette what the screen can do, besides Textual's own."""
        yield from super().get_system_commands(screen)
        for own in (self._monitor, self._experiments):
            if own is not None and screen is own:
                yield from own.commands()
        if screen is self._monitor:
            yield SystemCommand(
                "Experiments", "Published measurements, repeated on this machine", self.action_experiments
            )

    def action_experiments(self) -> None:
        """Show the experiments."""
        # Only here: the first frame has no use for them.
        from concwatch.ui.experiment_runs import ExperimentRuns
        from concwatch.ui.screens.experiments import ExperimentsScreen

        assert self.lab is not None
        if self.runs is None:
            self.runs = ExperimentRuns(self._make_run_lab)
        self._experiments = ExperimentsScreen(self.runs, self.lab)
        self.push_screen(self._experiments)

    def action_save_picture(self) -> None:
        """Save what is on screen as SVG, whole or not at all, and say where."""
        svg = self.export_screenshot(title="concwatch")
        try:
            self._pictures.mkdir(parents=True, exist_ok=True)
            path = picture_path(self._pictures, datetime.now())
            write_whole(path, svg)
        except OSError as error:
            where = error.filename or self._pictures
            expected = "expected a folder with room to write in"
            self.notify(f"not saved: {where}: {error.strerror}: {expected}", severity="error")
        else:
            self.notify(f"saved {path}", title="screenshot")
