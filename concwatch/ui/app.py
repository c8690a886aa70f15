"""The program on the terminal: one lab, one screen, and a clean end."""

import asyncio
import contextlib
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.screen import Screen

from concwatch.lab.lab import Lab
from concwatch.ui.palette import THEMES
from concwatch.ui.screens.monitor import MonitorScreen


def picture_path(folder: Path, now: datetime) -> Path:
    """Give a name that carries the time, and that no file in ``folder`` has."""
    stem = f"concwatch-{now:%Y-%m-%d-%H%M%S}"
    names = (f"{stem}{suffix}.svg" for suffix in ("", *(f"-{number}" for number in range(2, 1000))))
    return next(folder / name for name in names if not (folder / name).exists())


class ConcwatchApp(App[None]):
    """Runs a lab and shows it."""

    TITLE = "concwatch"
    CSS_PATH = "screens/monitor.tcss"  # of the app, since Textual does not load that of a default screen
    BINDINGS = [Binding("ctrl+c", "quit", "Quit", show=False, priority=True)]

    def __init__(self, make_lab: Callable[[], Lab], pictures: Path = Path("screenshots")) -> None:
        """Make the app.

        Args:
            make_lab: makes the lab, once the app's event loop runs.
            pictures: the folder for screenshots, made when it is needed.
        """
        super().__init__()
        self._make_lab = make_lab
        self._pictures = pictures
        self._ticking: asyncio.Task[None] | None = None
        self._monitor: MonitorScreen | None = None
        self.lab: Lab | None = None
        """The lab, once the app runs."""
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = THEMES[0].name

    def get_default_screen(self) -> Screen[None]:
        """Make the lab and the screen that shows it."""
        self.lab = self._make_lab()
        self._monitor = MonitorScreen(self.lab, self.size)
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
        if self.lab is not None:
            await self.lab.close()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Offer in the palette what the screen can do, besides Textual's own."""
        yield from super().get_system_commands(screen)
        if isinstance(screen, MonitorScreen):
            yield from screen.commands()

    def action_save_picture(self) -> None:
        """Save what is on screen as SVG, whole or not at all, and say where."""
        svg = self.export_screenshot(title="concwatch")
        try:
            self._pictures.mkdir(parents=True, exist_ok=True)
            path = picture_path(self._pictures, datetime.now())
            part = path.with_suffix(".part")
            try:
                part.write_text(svg, encoding="utf-8")
                os.replace(part, path)
            finally:
                with contextlib.suppress(OSError):
                    part.unlink(missing_ok=True)
        except OSError as error:
            where = error.filename or self._pictures
            expected = "expected a folder with room to write in"
            self.notify(f"not saved: {where}: {error.strerror}: {expected}", severity="error")
        else:
            self.notify(f"saved {path}", title="screenshot")
