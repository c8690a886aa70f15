"""The base class of apps that show lanes: their screen, its palette, and a clean exit."""

import asyncio
import gc
import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SystemCommand
from textual.binding import Binding
from textual.events import Resize
from textual.geometry import Size
from textual.screen import Screen

from concwatch.portable.worker.collector import trim_heap
from concwatch.ui.apps.chart_symbols import ChartSymbols
from concwatch.ui.apps.pictures import Pictures
from concwatch.ui.apps.recording_toggle import toggle_recording
from concwatch.ui.apps.themed_app import ThemedApp
from concwatch.ui.base.base_screen import BaseScreen
from concwatch.ui.base.keyboard import Keyboard, palette
from concwatch.ui.keys import keys
from concwatch.ui.keys.key_targets import AppKeys
from concwatch.ui.look.layout import is_large_enough
from concwatch.ui.screens.monitor import MonitorScreen
from concwatch.ui.sources.session_recording import SessionRecording

if TYPE_CHECKING:
    from concwatch.monitor.metrics.observable import Observable
    from concwatch.monitor.workers.catalog import Engine

TRIM_INTERVAL = 60.0
"""Seconds between two times that free memory is returned to the system."""

USUAL_INTERVAL, SWITCH_INTERVAL = sys.getswitchinterval(), 0.0001
"""Seconds after which another thread may run, and until the first frame.

Textual writes frames in a thread, which would wait until what follows the first frame is done.
"""

REPLACED = ("Screenshot", "Keys", "Maximize", "Minimize")
"""Entries of Textual's palette that our own commands replace."""


class LanesApp(ThemedApp):
    """Shows a screen of lanes, which subclasses create."""

    TITLE = "concwatch"
    CSS_PATH = "../screens/monitor.tcss"  # here because Textual does not load that of a default screen
    BINDINGS = [Binding("ctrl+c", "quit", "Quit", show=False, priority=True)]

    def __init__(self, pictures: Path = Path("screenshots"), theme: str = "") -> None:
        """Create the app.

        Args:
            pictures: the folder for screenshots, created when needed.
            theme: name of the initial theme; the default theme if empty.
        """
        sys.setswitchinterval(SWITCH_INTERVAL)
        super().__init__(theme)
        self.symbols = ChartSymbols(lambda: self.screen_stack, self.notify)
        """The symbols that charts are drawn with."""
        self.pictures = Pictures(self, pictures, self.log_event, self.update_now, self.conditions)
        """The pictures saved in this session."""
        self.recording = SessionRecording(Path("recordings"))
        """The recording of this session."""
        self._lanes: MonitorScreen | None = None

    def make_screen(self) -> MonitorScreen:
        """Create the first screen."""
        raise NotImplementedError

    def get_default_screen(self) -> Screen[None]:
        """Create the screen."""
        self._lanes = self.make_screen()
        return self._lanes

    def on_mount(self) -> None:
        """Handle changes of the theme, and signals that ask the program to exit."""
        self.theme_changed_signal.subscribe(self, lambda _: self._apply_theme())
        if sys.platform != "win32":
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(number, self._exit_with, -number)

    def on_ready(self) -> None:
        """Enable garbage collection, except of the objects created so far, which live until the exit.

        A full collection that includes Textual's classes and styles takes 80 to 200 ms, in which no key is
        handled.
        """
        self.call_after_refresh(sys.setswitchinterval, USUAL_INTERVAL)
        gc.freeze()
        gc.enable()
        # Drawing fragments the heap: by 2.5 MiB in ten minutes.
        self.set_interval(TRIM_INTERVAL, trim_heap)
        self._update_size_notice(self.size)

    def on_resize(self, event: Resize) -> None:
        """Handle a new size of the terminal."""
        if self._lanes is not None and self._lanes.is_mounted:
            self._update_size_notice(event.size)

    def _update_size_notice(self, size: Size) -> None:
        """Cover every screen with a notice while the terminal is too small."""
        for screen in self.screen_stack:
            screen.query_children("SizeNotice").remove()
            if not is_large_enough(size.width, size.height):
                from concwatch.ui.widgets.bars.size_notice import SizeNotice  # on few terminals

                screen.mount(SizeNotice(size))

    def conditions(self) -> Sequence[str]:
        """Return the conditions of the measurement, for a slide."""
        return ()

    def recorded(self) -> "tuple[Observable, Sequence[Engine]]":
        """Return what to record, and the engines of its lanes."""
        raise NotImplementedError

    def log_event(self, text: str) -> None:
        """Log what the user did, if there is an event log."""

    def _apply_theme(self) -> None:
        self.log_event(f"theme {self.theme}")
        if self._lanes is not None and self._lanes.is_mounted:
            self._lanes.apply_theme()

    async def action_quit(self) -> None:
        """Quit after all pictures have been saved."""
        await self.pictures.finish()
        self.exit()

    def on_exit_app(self) -> None:
        """Call `exit` to set ``return_code``: a closed browser page only sends this message."""
        if self.return_code is None:
            self.exit()

    def _exit_with(self, status: int) -> None:
        self.exit(return_code=status)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Yield the commands of the palette: Textual's own and those of the screen's keys."""
        own = super().get_system_commands(screen)
        yield from (row for row in own if row.title not in REPLACED)
        keyboard = screen.keyboard if isinstance(screen, BaseScreen) else None
        pictures = Keyboard(keys.PICTURES, AppKeys(self))
        yield from palette(pictures.rows, pictures.press)
        if keyboard is not None and isinstance(screen, BaseScreen):
            rows = (row for row in keyboard.rows if row not in keys.PICTURES)
            yield from palette(rows, screen.action_press)

    def action_command_palette(self) -> None:
        """Open the palette."""
        from concwatch.ui.screens.command_palette import SafeCommandPalette  # not needed for the first frame

        if not isinstance(self.screen, SafeCommandPalette):
            self.push_screen(SafeCommandPalette())

    def update_now(self) -> None:
        """Update every screen now."""
        for screen in self.screen_stack:
            if isinstance(screen, BaseScreen):
                screen.update_now()

    def action_save_picture(self) -> None:
        """Save a picture of the screen."""
        self.pictures.save_screen()

    def action_save_chart(self) -> None:
        """Save a picture of a chart; dialogs do."""
        self.pictures.save_chart()

    def action_record(self) -> None:
        """Start or stop recording, and show the path."""
        toggle_recording(self, self.recording, self.recorded, self.log_event)
